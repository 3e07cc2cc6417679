//! A trial, as `status` shows it.

use jiff::Timestamp;
use schedkit_core::sanitize::brief;
use schedkit_runtime::ContainerId;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use crate::state_dir::GuardProcess;
use crate::trial::{FailedReturn, Trial};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TrialDocument {
    scheduler: String,
    driver: Runtime,
    container_id: String,
    /// The container that is started again when the trial ends.
    restores: Option<String>,
    /// By the clock of the machine when the trial began.
    until: Timestamp,
    guard: GuardProcess,
    /// Attempts to go back that failed.
    failed_attempts: u32,
    last_error: Option<String>,
}

impl TrialDocument {
    pub(crate) fn new(trial: &Trial, guard: GuardProcess) -> Self {
        let failed = trial.failed.as_ref();
        Self {
            scheduler: trial.scheduler.clone(),
            driver: trial.runtime,
            container_id: trial.candidate.to_string(),
            restores: trial.before.as_ref().map(ContainerId::to_string),
            until: trial.until,
            guard,
            failed_attempts: failed.map_or(0, |failed| failed.attempts),
            last_error: failed.map(|FailedReturn { error, .. }| error.clone()),
        }
    }

    pub(super) fn line(&self) -> String {
        let (scheduler, until) = (brief(&self.scheduler), self.until);
        match self.failed_attempts {
            0 => format!("{scheduler}, until {until:.0}"),
            1 => format!("{scheduler} is over; going back has failed once"),
            attempts => format!("{scheduler} is over; going back has failed {attempts} times"),
        }
    }
}
