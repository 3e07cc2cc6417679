//! The results of `stop`, `detach` and `confirm`.

use schedkit_core::sanitize;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::document::Document;
use crate::container::RuntimeContainer;
use crate::trial::Trial;

#[derive(Debug, Serialize)]
pub(crate) struct StopResult {
    result: StopOutcome,
    /// `None` if no name was given and none runs.
    scheduler: Option<String>,
    driver: Runtime,
    container_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum StopOutcome {
    Planned,
    NotThere,
    Stopped,
    /// The process has exited, but the kernel has a scheduler attached.
    StoppedKernelBusy,
}

#[derive(Debug, Serialize)]
pub(crate) struct DetachResult {
    result: &'static str,
    ops: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ConfirmResult {
    result: &'static str,
    scheduler: String,
    container_id: String,
}

impl StopResult {
    pub(crate) fn planned(found: &RuntimeContainer) -> Self {
        Self::new(StopOutcome::Planned, found)
    }

    pub(crate) fn stopped(found: &RuntimeContainer) -> Self {
        Self::new(StopOutcome::Stopped, found)
    }

    pub(crate) fn still_attached(found: &RuntimeContainer) -> Self {
        Self::new(StopOutcome::StoppedKernelBusy, found)
    }

    pub(crate) fn not_found(target: Option<&str>, driver: Runtime) -> Self {
        Self {
            result: StopOutcome::NotThere,
            scheduler: target.map(sanitize::brief),
            driver,
            container_id: None,
        }
    }

    /// Its container was gone already, and its trial went on.
    pub(crate) fn trial_ended(trial: &Trial) -> Self {
        Self {
            result: StopOutcome::Stopped,
            scheduler: Some(trial.scheduler.clone()),
            driver: trial.runtime,
            container_id: Some(trial.candidate.to_string()),
        }
    }

    fn new(result: StopOutcome, found: &RuntimeContainer) -> Self {
        Self {
            result,
            scheduler: Some(found.scheduler()),
            driver: found.runtime,
            container_id: Some(found.container.id.to_string()),
        }
    }
}

impl DetachResult {
    pub(crate) fn nothing_attached() -> Self {
        let (result, ops) = ("nothing-attached", None);
        Self { result, ops }
    }

    pub(crate) fn detached(ops: &str) -> Self {
        let (result, ops) = ("detached", Some(ops.to_owned()));
        Self { result, ops }
    }
}

impl From<&Trial> for ConfirmResult {
    fn from(trial: &Trial) -> Self {
        Self {
            result: "confirmed",
            scheduler: trial.scheduler.clone(),
            container_id: trial.candidate.to_string(),
        }
    }
}

impl Document for StopResult {
    fn text(&self) -> String {
        let scheduler = self
            .scheduler
            .as_deref()
            .unwrap_or("A scheduler of schedctl");
        match self.result {
            StopOutcome::Planned => format!(
                "Plan: stop {scheduler} (SIGTERM, then SIGKILL) and remove its container {}\n",
                self.container_id.as_deref().unwrap_or_default()
            ),
            StopOutcome::NotThere => format!("{scheduler} does not run\n"),
            StopOutcome::Stopped => format!("{scheduler} was stopped\n"),
            StopOutcome::StoppedKernelBusy => {
                format!(
                    "The process of {scheduler} has exited; the kernel has a scheduler attached\n"
                )
            }
        }
    }
}

impl Document for DetachResult {
    fn text(&self) -> String {
        match &self.ops {
            Some(ops) => format!("The kernel detached {ops}\n"),
            None => "No scheduler is attached\n".to_owned(),
        }
    }
}

impl Document for ConfirmResult {
    fn text(&self) -> String {
        format!("{} is confirmed\n", self.scheduler)
    }
}
