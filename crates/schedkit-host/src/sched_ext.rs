//! The state of sched_ext: every file under `/sys/kernel/sched_ext`.
//!
//! ```text
//! sched_ext/state switch_all nr_rejected hotplug_seq enable_seq
//! sched_ext/root/ops events        only while a scheduler is attached
//! ```
//!
//! This is the only source for whether a scheduler is attached. All files are read-only. A file that
//! a kernel lacks is [`Fact::Absent`], a new value is kept as text.

mod events;
mod state;

use std::path::Path;

use schedkit_core::OpsName;
use serde::Serialize;

pub use events::Events;
pub use state::SchedExtState;

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FOLDER: &str = "/sys/kernel/sched_ext";
/// The longest of the small files has a name of 127 characters.
const MAX_FILE: usize = 4096;
/// One line for each counter.
const MAX_EVENTS: usize = 64 * 1024;
/// How often all files are read when the state changes meanwhile.
const ATTEMPTS: usize = 5;

/// sched_ext at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelSchedExt {
    pub state: Fact<SchedExtState>,
    /// The name of the scheduler; absent while none is attached.
    pub ops: Fact<OpsName>,
    /// Whether the scheduler has all normal tasks, or only those with SCHED_EXT.
    pub switch_all: Fact<bool>,
    /// Tasks that the scheduler rejected.
    pub nr_rejected: Fact<u64>,
    /// Increases with every CPU hotplug.
    pub hotplug_seq: Fact<u64>,
    /// Increases with every attach since boot.
    pub enable_seq: Fact<u64>,
    /// Counters of the attached scheduler.
    pub events: Fact<Events>,
}

impl KernelSchedExt {
    /// Absent when the kernel has no sched_ext.
    pub fn read(root: &HostRoot) -> Fact<Self> {
        let folder = root.path(FOLDER);
        small_file::folder(&folder).map(|()| {
            read_consistently(
                || (state(&folder), number(&folder, "enable_seq")),
                || read_files(&folder),
            )
        })
    }

    /// The attached scheduler; `None` while one is being enabled or disabled.
    pub fn attached(&self) -> Option<&OpsName> {
        match self.state {
            Fact::Known(SchedExtState::Enabled) => self.ops.known(),
            _ => None,
        }
    }

    /// Whether a scheduler is being enabled or disabled.
    pub fn is_transitional(&self) -> bool {
        self.state
            .known()
            .is_some_and(SchedExtState::is_transitional)
    }

    /// Ignores the counters, which change all the time.
    pub fn equals_except_counters(&self, other: &Self) -> bool {
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

/// Reads until the marker is the same before and after, so that the name of one scheduler is never
/// combined with the state of another. Gives up after a few attempts: the caller reads again.
fn read_consistently<M: PartialEq, T>(
    mut marker: impl FnMut() -> M,
    mut read: impl FnMut() -> T,
) -> T {
    let mut before = marker();
    let mut value = read();
    for _ in 1..ATTEMPTS {
        let after = marker();
        if after == before {
            break;
        }
        before = after;
        value = read();
    }
    value
}

fn read_files(folder: &Path) -> KernelSchedExt {
    KernelSchedExt {
        state: state(folder),
        ops: text(folder, "root/ops").parsed(|text| text.parse().ok()),
        switch_all: text(folder, "switch_all").parsed(flag),
        nr_rejected: number(folder, "nr_rejected"),
        hotplug_seq: number(folder, "hotplug_seq"),
        enable_seq: number(folder, "enable_seq"),
        events: small_file::text(&folder.join("root/events"), MAX_EVENTS)
            .map(|text| Events::parse(&text)),
    }
}

fn state(folder: &Path) -> Fact<SchedExtState> {
    text(folder, "state").map(|text| SchedExtState::parse(&text))
}

fn number(folder: &Path, name: &str) -> Fact<u64> {
    text(folder, name).parsed(|text| text.parse().ok())
}

fn text(folder: &Path, name: &str) -> Fact<String> {
    small_file::text(&folder.join(name), MAX_FILE)
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
    fn files_are_read_again_when_the_state_changed() {
        let mut markers = [1, 2, 2].into_iter();
        let mut reads = 0;
        let value = read_consistently(
            || markers.next().unwrap(),
            || {
                reads += 1;
                reads
            },
        );
        assert_eq!(value, 2);
    }

    #[test]
    fn reading_stops_after_the_last_attempt() {
        let mut marker = 0;
        let mut reads = 0;
        read_consistently(
            || {
                marker += 1;
                marker
            },
            || reads += 1,
        );
        assert_eq!(reads, ATTEMPTS);
    }
}
