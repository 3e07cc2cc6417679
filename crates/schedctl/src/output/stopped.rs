//! What `stop`, `detach` and `confirm` print.

use schedkit_core::sanitize;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::Document;
use crate::runtimes::name_of;
use crate::status::{Held, scheduler_of};
use crate::trial::Trial;

/// What `stop` did, or would do.
#[derive(Debug, Serialize)]
pub(crate) struct Stopped {
    result: &'static str,
    scheduler: String,
    driver: &'static str,
    container_id: Option<String>,
}

/// What `detach` did.
#[derive(Debug, Serialize)]
pub(crate) struct Detached {
    result: &'static str,
    ops: Option<String>,
}

/// What `confirm` did.
#[derive(Debug, Serialize)]
pub(crate) struct Confirmed {
    result: &'static str,
    scheduler: String,
    container_id: String,
}

impl Stopped {
    pub(crate) fn of(held: &Held, dry_run: bool) -> Self {
        Self {
            result: if dry_run { "planned" } else { "stopped" },
            scheduler: scheduler_of(&held.container),
            driver: name_of(held.runtime),
            container_id: Some(held.container.id.to_string()),
        }
    }

    /// There was nothing of that name.
    pub(crate) fn nothing(word: &str, chosen: Runtime) -> Self {
        Self {
            result: "not-there",
            scheduler: sanitize::brief(word),
            driver: name_of(chosen),
            container_id: None,
        }
    }

    /// The process is gone, and the kernel holds a scheduler all the same.
    pub(crate) fn kernel_holds(&mut self) {
        self.result = "stopped-kernel-busy";
    }
}

impl Detached {
    pub(crate) fn nothing() -> Self {
        let (result, ops) = ("nothing-attached", None);
        Self { result, ops }
    }

    pub(crate) fn from_kernel(ops: &str) -> Self {
        let (result, ops) = ("detached", Some(ops.to_owned()));
        Self { result, ops }
    }
}

impl Confirmed {
    pub(crate) fn of(trial: &Trial) -> Self {
        Self {
            result: "confirmed",
            scheduler: trial.scheduler.clone(),
            container_id: trial.candidate.to_string(),
        }
    }
}

impl Document for Stopped {
    fn text(&self) -> String {
        let Self { scheduler, .. } = self;
        match self.result {
            "planned" => format!(
                "Would end {scheduler} (SIGTERM, then SIGKILL) and remove its container {}\n",
                self.container_id.as_deref().unwrap_or_default()
            ),
            "not-there" => format!("{scheduler} does not run\n"),
            "stopped" => format!("{scheduler} has ended\n"),
            _ => format!("The process of {scheduler} has ended; the kernel holds a scheduler\n"),
        }
    }
}

impl Document for Detached {
    fn text(&self) -> String {
        match &self.ops {
            Some(ops) => format!("The kernel let go of {ops}\n"),
            None => "No scheduler is attached\n".to_owned(),
        }
    }
}

impl Document for Confirmed {
    fn text(&self) -> String {
        format!("{} stays\n", self.scheduler)
    }
}
