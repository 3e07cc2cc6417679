//! An error as it is printed: the message, the scheduler's last output, what to do, and the state
//! after the rollback.

use schedkit_host::HostRoot;
use schedkit_runtime::DriverError;
use serde::Serialize;

use crate::decide::Refusal;
use crate::error_text;
use crate::execute::{FailureCause, PlanFailure, Rollback};
use crate::exit::Exit;
use crate::interrupt::Interrupted;
use crate::request::RequestError;
use crate::undriven;
use crate::unit_failure::UnitFailure;
use crate::untrusted_image::UntrustedImage;

#[derive(Debug, Serialize)]
pub(super) struct ErrorDocument {
    message: String,
    exit_code: u8,
    /// `LoadFailedVerifier`, `Stall`, `Timeout`, …; absent if the scheduler was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    last_lines: Vec<String>,
    /// The state after the rollback.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    now: Vec<String>,
}

impl ErrorDocument {
    pub(super) fn of(error: &anyhow::Error) -> (Self, Exit) {
        if let Some(failure) = error.downcast_ref::<PlanFailure>() {
            return Self::of_plan(failure);
        }
        if let Some(signal) = error.downcast_ref::<Interrupted>() {
            let exit = Exit::Signal(*signal);
            let mut document = Self::plain(signal.to_string(), exit);
            // What it leaves, if the command says so.
            let state = error.to_string();
            document
                .now
                .extend((state != document.message).then_some(state));
            return (document, exit);
        }
        let exit = match error.downcast_ref::<Refusal>() {
            None if error.is::<UntrustedImage>() || is_forbidden(error) => Exit::Refused,
            Some(Refusal::Unverified { .. } | Refusal::UnknownTrust { .. }) => Exit::Refused,
            None if error.is::<UnitFailure>() => {
                let unit = error.downcast_ref::<UnitFailure>();
                unit.map_or(Exit::Failure, |failure| failure.exit)
            }
            None | Some(Refusal::UnknownKernelState(_)) => Exit::Failure,
            Some(_) => Exit::Busy,
        };
        let mut document = Self::plain(error_text::one_line(error.as_ref()), exit);
        let driver = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<DriverError>());
        let remedy = |error: &DriverError| {
            undriven::remedy(error, &HostRoot::system()).or_else(|| error.remedy())
        };
        document.remedy = driver.and_then(remedy);
        (document, exit)
    }

    pub(super) fn plain(message: String, exit: Exit) -> Self {
        Self {
            message,
            exit_code: exit.code(),
            reason: None,
            remedy: None,
            last_lines: Vec::new(),
            now: Vec::new(),
        }
    }

    fn of_plan(failure: &PlanFailure) -> (Self, Exit) {
        let PlanFailure { cause, rollback } = failure;
        let exit = match cause {
            FailureCause::NotAttached(_) => Exit::NotAttached,
            FailureCause::Interrupted(signal) => Exit::Signal(*signal),
            _ => Exit::Failure,
        };
        let mut document = Self::plain(error_text::one_line(cause), exit);
        document.now = rollback.iter().map(Rollback::to_string).collect();
        match cause {
            FailureCause::NotAttached(not_attached) => {
                document.reason = Some(not_attached.code());
                document.remedy = not_attached.remedy();
                document.last_lines = not_attached.last_lines.clone();
            }
            FailureCause::Driver(error) => document.remedy = error.remedy(),
            FailureCause::NotDetached
            | FailureCause::Guard(_)
            | FailureCause::State(_)
            | FailureCause::Interrupted(_)
            | FailureCause::NothingStarted => {}
        }
        (document, exit)
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.message.clone();
        if !self.last_lines.is_empty() {
            text += "\n  Last output:";
            for line in &self.last_lines {
                text += &format!("\n    {line}");
            }
        }
        if let Some(remedy) = &self.remedy {
            text += &format!("\n  What to do: {remedy}");
        }
        for now in &self.now {
            text += &format!("\n  Now: {now}");
        }
        text
    }
}

/// The machine's settings forbid what this run asks for.
fn is_forbidden(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<RequestError>();
    matches!(error, Some(RequestError::Forbidden { .. }))
}
