//! A scheduler that goes by itself unless somebody confirms it.
//!
//! The file is the trial: whoever removes it ends it. It is written before the scheduler starts, so
//! that a schedctl that is killed leaves a guard behind that knows what to do ([`crate::guard`]).
//! When the guard is gone, too, the next command that changes something goes back.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_runtime::ContainerId;
use schedkit_runtime::driver::Runtime;
use serde::{Deserialize, Serialize};

use crate::state_dir::{Presence, StateDir, StateError};

const FILE: &str = "trial.json";
/// A guard looks twice a second; one that has not moved by then will not.
const SLACK: Duration = Duration::from_secs(5);

/// What is tried, until when, and what comes back after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// What people call it.
    pub(crate) scheduler: String,
    /// Through whom it runs.
    pub(crate) runtime: Runtime,
    /// Its container; tells one trial from the next.
    pub(crate) candidate: ContainerId,
    /// What ran before, kept to be started again.
    pub(crate) before: Option<ContainerId>,
    /// How long it lasts once the kernel has it.
    pub(crate) length: Duration,
    /// When it ends.
    pub(crate) until: Timestamp,
    /// How far it is.
    pub(crate) stage: Stage,
}

/// How far a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// Somebody starts it, and holds the lock until the kernel has it.
    Starting,
    /// The kernel has it.
    Begun {
        /// The number of its attach, where the kernel counts them.
        enable_seq: Option<u64>,
    },
}

impl Trial {
    /// The one that goes on, if any.
    pub(crate) fn read(state: &StateDir) -> Result<Option<Self>, StateError> {
        state.load(FILE)
    }

    /// Begins or changes it.
    pub(crate) fn keep(&self, state: &StateDir) -> Result<(), StateError> {
        state.keep(FILE, self)
    }

    /// Ends it, one way or the other.
    pub(crate) fn forget(state: &StateDir) -> Result<(), StateError> {
        state.forget(FILE)
    }

    /// Whether nobody will go back unless we do.
    pub(crate) fn is_forsaken(&self, now: Timestamp, guard: Presence) -> bool {
        guard == Presence::Gone || now > self.until + SLACK
    }

    /// What a person who asks what runs should know of it.
    pub(crate) fn remark(&self, now: Timestamp, guard: Presence) -> String {
        let Self {
            scheduler, until, ..
        } = self;
        if !self.is_forsaken(now, guard) {
            return format!(
                "{scheduler} is on trial until {until:.0}: keep it with `schedctl confirm`, or end \
                 the trial with `schedctl stop {scheduler}`"
            );
        }
        let why = match guard {
            Presence::Gone => "nobody stands by to end it",
            Presence::There => "it should be over",
        };
        format!(
            "{scheduler} is on trial until {until:.0}, and {why}: keep it with `schedctl confirm`; \
             else the next `schedctl run`, `switch` or `stop` goes back to what ran before"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_without_a_guard_or_long_past_its_end_is_forsaken() {
        let until: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let trial = Trial {
            scheduler: "scx_a".to_owned(),
            runtime: Runtime::Podman,
            candidate: ContainerId::new("a"),
            before: None,
            length: Duration::from_secs(60),
            until,
            stage: Stage::Starting,
        };
        let second = Duration::from_secs(1);
        for (now, guard, forsaken, words) in [
            (until - second, Presence::There, false, "confirm`, or end"),
            (until + second, Presence::There, false, "confirm`, or end"),
            (until + 2 * SLACK, Presence::There, true, "should be over"),
            (until - second, Presence::Gone, true, "nobody stands by"),
        ] {
            assert_eq!(trial.is_forsaken(now, guard), forsaken, "{now} {guard:?}");
            let said = trial.remark(now, guard);
            assert!(said.contains(words), "{said}");
            assert!(said.contains("until 2026-01-02T03:04:05Z"), "{said}");
        }
    }
}
