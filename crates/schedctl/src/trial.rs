//! A scheduler that is stopped after some time unless somebody confirms it.
//!
//! A trial is a file: deleting the file ends it. It is written before the scheduler starts, so that
//! the guard ([`crate::guard`]) can undo the start even if schedctl is killed. If the guard is gone,
//! too, the next command that changes something undoes it.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_runtime::ContainerId;
use schedkit_runtime::driver::Runtime;
use serde::{Deserialize, Serialize};

use crate::state_dir::{GuardProcess, StateDir, StateError};

const FILE: &str = "trial.json";
/// A guard checks twice a second; after this much delay it will not act any more.
const GUARD_DELAY: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trial {
    pub(crate) scheduler: String,
    pub(crate) runtime: Runtime,
    /// The container on trial; identifies the trial.
    pub(crate) candidate: ContainerId,
    /// The old container, kept to be restored.
    pub(crate) before: Option<ContainerId>,
    /// Counted from the attach.
    pub(crate) length: Duration,
    pub(crate) until: Timestamp,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// A schedctl process starts it and holds the lock.
    Starting,
    /// It was attached.
    Begun { enable_seq: Option<u64> },
}

impl Trial {
    pub(crate) fn read(state: &StateDir) -> Result<Option<Self>, StateError> {
        state.load(FILE)
    }

    pub(crate) fn save(&self, state: &StateDir) -> Result<(), StateError> {
        state.save(FILE, self)
    }

    pub(crate) fn delete(state: &StateDir) -> Result<(), StateError> {
        state.delete(FILE)
    }

    /// Whether its guard will not end it.
    pub(crate) fn is_abandoned(&self, now: Timestamp, guard: GuardProcess) -> bool {
        guard == GuardProcess::Gone || now > self.until + GUARD_DELAY
    }

    /// The warning of `schedctl status`.
    pub(crate) fn warning(&self, now: Timestamp, guard: GuardProcess) -> String {
        let Self {
            scheduler, until, ..
        } = self;
        if !self.is_abandoned(now, guard) {
            return format!(
                "{scheduler} is on trial until {until:.0}: keep it with `schedctl confirm`, or end \
                 the trial with `schedctl stop {scheduler}`"
            );
        }
        let why = match guard {
            GuardProcess::Gone => "its guard process is gone",
            GuardProcess::Running => "it should be over",
        };
        format!(
            "{scheduler} is on trial until {until:.0}, and {why}: keep it with `schedctl confirm`; \
             otherwise the next `schedctl run`, `switch` or `stop` ends the trial"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_without_a_guard_or_long_past_its_end_is_abandoned() {
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
        let late = until + 2 * GUARD_DELAY;
        for (now, guard, abandoned, part) in [
            (until - second, GuardProcess::Running, false, "or end"),
            (until + second, GuardProcess::Running, false, "or end"),
            (late, GuardProcess::Running, true, "should be over"),
            (
                until - second,
                GuardProcess::Gone,
                true,
                "guard process is gone",
            ),
        ] {
            assert_eq!(trial.is_abandoned(now, guard), abandoned, "{now} {guard:?}");
            let warning = trial.warning(now, guard);
            assert!(warning.contains(part), "{warning}");
            assert!(warning.contains("until 2026-01-02T03:04:05Z"), "{warning}");
        }
    }
}
