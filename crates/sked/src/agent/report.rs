//! Builds a report from a reading of the kernel, the previous report and the time; no I/O.
//! [`crate::agent::report_sync`] calls it for each reading.
//!
//! A value that cannot be read is missing, and `trouble` says why. `since` is kept while boot,
//! attach, state and scheduler are the same.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schedkit_core::sanitize;
use schedkit_host::kernel::KernelInfo;
use schedkit_host::{Fact, KernelSchedExt, SchedExtState};
use sked_api::node::SchedExtNodeStatus;

/// Below the limit of the CRD.
const LONGEST_TROUBLE: usize = 1000;
/// A release has at most 64 characters in the kernel.
const LONGEST_RELEASE: usize = 127;

pub(super) fn report(
    reading: &Fact<KernelSchedExt>,
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
        Fact::Known(sched_ext) => add_state(sched_ext, &mut status, &mut troubles),
        Fact::Absent => status.supported = Some(false),
        Fact::Unreadable(_) | Fact::Malformed(_) => {
            troubles.known("/sys/kernel/sched_ext", reading);
        }
    }
    status.trouble = troubles.text();
    status.since = Some(micro_time(now));
    if let Some(previous) = previous {
        keep_since(&mut status, previous);
    }
    status
}

/// Takes `since` over from an older report if nothing that it is about has changed.
pub(super) fn keep_since(status: &mut SchedExtNodeStatus, older: &SchedExtNodeStatus) {
    let same = status.boot_id == older.boot_id
        && status.enable_seq == older.enable_seq
        && status.state == older.state
        && status.ops == older.ops;
    if same && older.since.is_some() {
        status.since = older.since.clone();
    }
}

fn add_state(read: &KernelSchedExt, status: &mut SchedExtNodeStatus, troubles: &mut Troubles) {
    let KernelSchedExt {
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
            troubles.add("state is empty".to_owned());
            None
        }
        state => state.map(str::to_owned),
    };
    // `root/` exists only while a scheduler is attached.
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

/// Why values are missing.
#[derive(Default)]
struct Troubles(Vec<String>);

impl Troubles {
    fn add(&mut self, message: String) {
        self.0.push(message);
    }

    /// The value; if there is none, adds why.
    fn known<'a, T>(&mut self, name: &str, fact: &'a Fact<T>) -> Option<&'a T> {
        if let Some(trouble) = fact.problem() {
            self.add(format!("{name} {trouble}"));
        }
        fact.known()
    }

    /// The same for a number, which must fit into the API's type.
    fn number(&mut self, name: &str, fact: &Fact<u64>) -> Option<i64> {
        let number = *self.known(name, fact)?;
        let fits = i64::try_from(number).ok();
        if fits.is_none() {
            self.add(format!("{name} is too large: {number}"));
        }
        fits
    }

    fn text(self) -> Option<String> {
        let all = self.0.join("; ");
        (!all.is_empty()).then(|| sanitize::shortened(&all, LONGEST_TROUBLE))
    }
}

/// As precise as the API stores it, so that a report that is read back equals the one written.
fn micro_time(now: Timestamp) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now))
}

#[cfg(test)]
mod tests;
