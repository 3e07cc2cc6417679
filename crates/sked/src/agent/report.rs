//! What an agent reports, from what it read: the pure heart of the agent. No clock, no files, no
//! cluster; [`crate::agent::ledger`] calls it with each reading.
//!
//! ```text
//! sched_ext, kernel, the report before, now ──▶ the report
//! ```
//!
//! What cannot be read is absent, and a sentence says why. `since` is carried over for as long as
//! it is the same attach of the same boot in the same state.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schedkit_core::sanitize;
use schedkit_host::kernel::KernelInfo;
use schedkit_host::{Fact, SchedExt, SchedExtState};
use sked_api::node::SchedExtNodeStatus;

/// Fewer than the API server takes.
const LONGEST_TROUBLE: usize = 1000;
/// A release has at most 64 characters in the kernel.
const LONGEST_RELEASE: usize = 127;

/// What was read, as it is reported.
pub(super) fn report(
    reading: &Fact<SchedExt>,
    kernel: &KernelInfo,
    previous: Option<&SchedExtNodeStatus>,
    now: Timestamp,
) -> SchedExtNodeStatus {
    let mut troubles = Troubles::default();
    let release = troubles.known("the kernel's release", &kernel.release);
    let kernel_release = release.map(|text| sanitize::shortened(text.as_str(), LONGEST_RELEASE));
    let boot_id = troubles.known("the boot id", &kernel.boot_id).cloned();
    let mut status = SchedExtNodeStatus {
        kernel_release,
        boot_id,
        ..SchedExtNodeStatus::default()
    };
    match reading {
        Fact::Known(sched_ext) => kernels_word(sched_ext, &mut status, &mut troubles),
        Fact::Absent => status.supported = Some(false),
        Fact::Unreadable(_) | Fact::Malformed(_) => {
            troubles.known("/sys/kernel/sched_ext", reading);
        }
    }
    status.trouble = troubles.sentence();
    status.since = Some(moment(now));
    if let Some(previous) = previous {
        recall(&mut status, previous);
    }
    status
}

/// Takes `since` over from an older report when nothing that it is about has changed.
pub(super) fn recall(status: &mut SchedExtNodeStatus, older: &SchedExtNodeStatus) {
    let same = status.boot_id == older.boot_id
        && status.enable_seq == older.enable_seq
        && status.state == older.state
        && status.ops == older.ops;
    if same && older.since.is_some() {
        status.since = older.since.clone();
    }
}

fn kernels_word(read: &SchedExt, status: &mut SchedExtNodeStatus, troubles: &mut Troubles) {
    let SchedExt {
        state,
        ops,
        switch_all,
        nr_rejected,
        hotplug_seq: _,
        enable_seq,
        events: _,
    } = read;
    status.supported = Some(true);
    status.state = match troubles.known("state", state).map(SchedExtState::as_str) {
        Some("") => {
            troubles.say("state is empty".to_owned());
            None
        }
        word => word.map(str::to_owned),
    };
    // Its folder comes and goes with the scheduler.
    status.ops = match (ops, state) {
        (Fact::Absent, Fact::Known(SchedExtState::Enabled))
        | (Fact::Unreadable(_) | Fact::Malformed(_), _) => {
            troubles.known("root/ops", ops);
            None
        }
        (Fact::Absent, _) => None,
        (Fact::Known(name), _) => Some(name.as_str().to_owned()),
    };
    status.enable_seq = troubles.number("enable_seq", enable_seq);
    status.switch_all = troubles.known("switch_all", switch_all).copied();
    status.nr_rejected = troubles.number("nr_rejected", nr_rejected);
}

/// Why something is absent.
#[derive(Default)]
struct Troubles(Vec<String>);

impl Troubles {
    fn say(&mut self, sentence: String) {
        self.0.push(sentence);
    }

    /// The value, or a sentence more.
    fn known<'a, T>(&mut self, name: &str, fact: &'a Fact<T>) -> Option<&'a T> {
        if let Some(trouble) = fact.problem() {
            self.say(format!("{name} {trouble}"));
        }
        fact.known()
    }

    /// A count, as far as the API has numbers for it.
    fn number(&mut self, name: &str, fact: &Fact<u64>) -> Option<i64> {
        let number = *self.known(name, fact)?;
        let fits = i64::try_from(number).ok();
        if fits.is_none() {
            self.say(format!("{name} is too large: {number}"));
        }
        fits
    }

    fn sentence(self) -> Option<String> {
        let all = self.0.join("; ");
        (!all.is_empty()).then(|| sanitize::shortened(&all, LONGEST_TROUBLE))
    }
}

/// As precise as the API keeps it: what is read back is what was written.
fn moment(now: Timestamp) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now))
}

#[cfg(test)]
mod tests;
