//! A scheduler that is stopped after some time unless somebody confirms it.
//!
//! A trial is a file: deleting the file ends it. It is written before the scheduler starts, so that
//! the guard ([`crate::guard`]) can undo the start even if schedctl is killed. If the guard is gone,
//! too, the next command that changes something undoes it.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;
use schedkit_runtime::ContainerId;
use schedkit_runtime::driver::Runtime;
use serde::{Deserialize, Serialize};

use crate::error_text;
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
    /// Only to be shown: the clock of the machine may be set.
    pub(crate) until: Timestamp,
    /// When its time is up, in time since the boot.
    pub(crate) deadline: Duration,
    /// The boot that it belongs to, if that is known.
    pub(crate) boot_id: Option<String>,
    pub(crate) stage: Stage,
    /// Its time is up, and going back has failed so far.
    pub(crate) failed: Option<FailedReturn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailedReturn {
    pub(crate) attempts: u32,
    /// Of the last attempt; printable.
    pub(crate) error: String,
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
    /// A trial of another boot is over: nothing of it runs any more. So is one that another version
    /// of schedctl wrote and this one cannot read, if no guard runs: see [`Self::unreadable`].
    pub(crate) fn read(state: &StateDir) -> Result<Option<Self>, StateError> {
        let trial: Option<Self> = match state.load(FILE) {
            Err(StateError::Invalid { path, source }) => match state.guard()? {
                GuardProcess::Gone => None,
                GuardProcess::Running => return Err(StateError::OtherTrial { path, source }),
            },
            loaded => loaded?,
        };
        let now = state.boot_id();
        Ok(trial.filter(|trial| match (&trial.boot_id, now) {
            (Some(then), Some(now)) => then == now,
            _ => true,
        }))
    }

    /// What a person is told about a trial that cannot be read and is taken to be over.
    pub(crate) fn unreadable(state: &StateDir) -> Option<String> {
        let Err(StateError::Invalid { path, source }) = state.load::<Self>(FILE) else {
            return None;
        };
        (state.guard().ok()? == GuardProcess::Gone).then(|| {
            format!(
                "{} is of a trial of another version of schedctl and cannot be read ({source}): no \
                 guard runs it, so it counts as over",
                path.display()
            )
        })
    }

    pub(crate) fn save(&self, state: &StateDir) -> Result<(), StateError> {
        state.save(FILE, self)
    }

    pub(crate) fn delete(state: &StateDir) -> Result<(), StateError> {
        state.delete(FILE)
    }

    /// Records that an attempt to go back has failed.
    pub(crate) fn with_failure(&self, cause: &dyn Error) -> Self {
        let attempts = self.failed.as_ref().map_or(0, |failed| failed.attempts);
        let failed = FailedReturn {
            attempts: attempts.saturating_add(1),
            error: error_text::one_line(cause),
        };
        Self {
            failed: Some(failed),
            ..self.clone()
        }
    }

    /// Whether a command may end it: its guard will not, or has tried in vain.
    pub(crate) fn is_abandoned(&self, now: Duration, guard: GuardProcess) -> bool {
        let late = now > self.deadline.saturating_add(GUARD_DELAY);
        guard == GuardProcess::Gone || late || self.failed.is_some()
    }

    /// The warning of `schedctl status`.
    pub(crate) fn warning(&self, now: Duration, guard: GuardProcess) -> String {
        let Self {
            scheduler, until, ..
        } = self;
        if let Some(failed) = &self.failed {
            return failed.warning(scheduler, guard);
        }
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

impl FailedReturn {
    fn warning(&self, scheduler: &str, guard: GuardProcess) -> String {
        let Self { attempts, error } = self;
        let times = match attempts {
            1 => "once".to_owned(),
            several => format!("{several} times, the last time"),
        };
        let next = match guard {
            GuardProcess::Running => "its guard process tries again",
            GuardProcess::Gone => {
                "its guard process is gone, and the next `schedctl run`, `switch` or `stop` tries \
                 again"
            }
        };
        format!(
            "the trial of {scheduler} is over, and going back has failed {times}: {error}; {next}; \
             `schedctl stop {scheduler}` gives up"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::trial;

    fn of_a_minute() -> Trial {
        Trial {
            deadline: Duration::from_secs(1000),
            until: "2026-01-02T03:04:05Z".parse().unwrap(),
            ..trial("a")
        }
    }

    #[test]
    fn a_trial_without_a_guard_or_long_past_its_end_is_abandoned() {
        let trial = of_a_minute();
        let second = Duration::from_secs(1);
        let early = trial.deadline - second;
        for (now, guard, abandoned, part) in [
            (early, GuardProcess::Running, false, "or end"),
            (
                trial.deadline + second,
                GuardProcess::Running,
                false,
                "or end",
            ),
            (
                trial.deadline + 2 * GUARD_DELAY,
                GuardProcess::Running,
                true,
                "should be over",
            ),
            (early, GuardProcess::Gone, true, "guard process is gone"),
        ] {
            assert_eq!(
                trial.is_abandoned(now, guard),
                abandoned,
                "{now:?} {guard:?}"
            );
            let warning = trial.warning(now, guard);
            assert!(warning.contains(part), "{warning}");
            assert!(warning.contains("until 2026-01-02T03:04:05Z"), "{warning}");
        }
    }

    #[test]
    fn failed_attempts_are_counted_and_told() {
        let now = Duration::from_secs(2000);
        let error = |text: &str| std::io::Error::other(text.to_owned());
        let once = of_a_minute().with_failure(&error("first"));
        let warning = once.warning(now, GuardProcess::Running);
        assert!(warning.contains("has failed once: first;"), "{warning}");
        assert!(warning.contains("tries again; `schedctl stop"), "{warning}");
        assert!(once.is_abandoned(Duration::ZERO, GuardProcess::Running));
        let twice = once.with_failure(&error("second\u{1b}[2J"));
        let warning = twice.warning(now, GuardProcess::Gone);
        assert!(
            warning.contains("2 times, the last time: second"),
            "{warning}"
        );
        assert!(warning.contains("the next `schedctl run`"), "{warning}");
        assert!(!warning.contains('\u{1b}'), "{warning}");
    }

    #[test]
    fn a_trial_of_another_boot_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let state = |boot: &str| StateDir::at(folder.path()).of_boot(boot);
        let trial = Trial {
            boot_id: Some("one".to_owned()),
            ..of_a_minute()
        };
        trial.save(&state("one")).unwrap();
        assert_eq!(Trial::read(&state("one")).unwrap(), Some(trial.clone()));
        assert_eq!(Trial::read(&state("two")).unwrap(), None);
        let unknown = StateDir::at(folder.path());
        assert_eq!(Trial::read(&unknown).unwrap(), Some(trial));
    }

    /// As an older schedctl wrote it.
    #[test]
    fn a_trial_that_cannot_be_read_is_over_unless_its_guard_runs() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        let mut old = serde_json::to_value(of_a_minute()).unwrap();
        old.as_object_mut().unwrap().remove("deadline");
        state.save(FILE, &old).unwrap();
        assert_eq!(Trial::read(&state).unwrap(), None);
        let guard = state.guard_lock().unwrap();
        let error = Trial::read(&state).unwrap_err().to_string();
        assert!(error.contains("trial.json"), "{error}");
        drop(guard);
        assert_eq!(Trial::read(&state).unwrap(), None);
    }
}
