//! What the kernel says about sched_ext: every file under `/sys/kernel/sched_ext`.
//!
//! ```text
//! sched_ext/state switch_all nr_rejected hotplug_seq enable_seq
//! sched_ext/root/ops events        only while a scheduler is attached
//! ```
//!
//! This is the truth that all else is held against. All files are read-only; a file that a kernel
//! does not have, or fills with something new, is a value like any other.

mod events;
mod state;

use std::path::Path;

use schedkit_core::OpsName;
use serde::Serialize;

pub use events::Events;
pub use state::State;

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

const FOLDER: &str = "/sys/kernel/sched_ext";
/// The longest of the small files holds a name of 127 characters.
const SMALL: usize = 4096;
/// Counters have a line each.
const EVENTS: usize = 64 * 1024;
/// How often files are read again when the kernel changed between the first and the last.
const ATTEMPTS: usize = 5;

/// sched_ext as one kernel shows it at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchedExt {
    /// Where between off and on it is.
    pub state: Fact<State>,
    /// The scheduler's name; absent while none is attached.
    pub ops: Fact<OpsName>,
    /// Whether all ordinary tasks are scheduled by it, or only those that ask.
    pub switch_all: Fact<bool>,
    /// Tasks that were refused.
    pub nr_rejected: Fact<u64>,
    /// Rises when a processor comes or goes.
    pub hotplug_seq: Fact<u64>,
    /// Rises with every attach since the machine started.
    pub enable_seq: Fact<u64>,
    /// Counters of the attached scheduler.
    pub events: Fact<Events>,
}

impl SchedExt {
    /// Asks the kernel; absent when it has no sched_ext.
    pub fn read(root: &HostRoot) -> Fact<Self> {
        let folder = root.path(FOLDER);
        small_file::folder(&folder).map(|()| {
            steady(
                || (state(&folder), number(&folder, "enable_seq")),
                || read_files(&folder),
            )
        })
    }

    /// The scheduler that schedules now. Neither one that is still coming nor one that is going.
    pub fn attached(&self) -> Option<&OpsName> {
        match self.state {
            Fact::Known(State::Enabled) => self.ops.known(),
            _ => None,
        }
    }

    /// Whether the state is one that passes by itself.
    pub fn is_in_motion(&self) -> bool {
        self.state.known().is_some_and(State::is_in_motion)
    }

    /// Whether all is as it was, but for counters, which never stand still.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let Self {
            state,
            ops,
            switch_all,
            nr_rejected,
            hotplug_seq,
            enable_seq,
            events: _,
        } = self;
        *state == other.state
            && *ops == other.ops
            && *switch_all == other.switch_all
            && *nr_rejected == other.nr_rejected
            && *hotplug_seq == other.hotplug_seq
            && *enable_seq == other.enable_seq
    }
}

/// Reads until the moment before and the moment after are the same, so that the name of one
/// scheduler never stands beside the state of another. Gives up after a few times: a kernel that
/// changes that fast is read again soon.
fn steady<M: PartialEq, T>(mut moment: impl FnMut() -> M, mut read: impl FnMut() -> T) -> T {
    let mut before = moment();
    let mut value = read();
    for _ in 1..ATTEMPTS {
        let after = moment();
        if after == before {
            break;
        }
        before = after;
        value = read();
    }
    value
}

fn read_files(folder: &Path) -> SchedExt {
    SchedExt {
        state: state(folder),
        ops: text(folder, "root/ops").parsed(|text| text.parse().ok()),
        switch_all: text(folder, "switch_all").parsed(flag),
        nr_rejected: number(folder, "nr_rejected"),
        hotplug_seq: number(folder, "hotplug_seq"),
        enable_seq: number(folder, "enable_seq"),
        events: small_file::text(&folder.join("root/events"), EVENTS)
            .map(|text| Events::parse(&text)),
    }
}

fn state(folder: &Path) -> Fact<State> {
    text(folder, "state").map(|text| State::parse(&text))
}

fn number(folder: &Path, name: &str) -> Fact<u64> {
    text(folder, name).parsed(|text| text.parse().ok())
}

fn text(folder: &Path, name: &str) -> Fact<String> {
    small_file::text(&folder.join(name), SMALL)
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_changes_meanwhile_is_read_again() {
        let mut moments = [1, 2, 2].into_iter();
        let mut reads = 0;
        let value = steady(
            || moments.next().unwrap(),
            || {
                reads += 1;
                reads
            },
        );
        assert_eq!(value, 2);
    }

    #[test]
    fn a_kernel_that_never_rests_is_not_read_forever() {
        let mut moment = 0;
        let mut reads = 0;
        steady(
            || {
                moment += 1;
                moment
            },
            || reads += 1,
        );
        assert_eq!(reads, ATTEMPTS);
    }
}
