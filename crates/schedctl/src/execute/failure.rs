//! Why a plan failed, and the result of undoing it.

use std::fmt;
use std::io;
use std::time::Duration;

use schedkit_core::{OpsName, SchedulerExit};
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_runtime::{DriverError, ExitCode};

use crate::error_text;
use crate::interrupt::Interrupted;
use crate::state_dir::StateError;

#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct PlanFailure {
    #[source]
    pub(crate) cause: FailureCause,
    /// In the order in which it was done.
    pub(crate) rollback: Vec<Rollback>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FailureCause {
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error(transparent)]
    NotAttached(Box<NotAttached>),
    #[error("the kernel still has the scheduler attached whose process was stopped")]
    NotDetached,
    #[error("cannot start the guard process of the trial")]
    Guard(#[source] io::Error),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("the plan starts nothing")]
    NothingStarted,
}

#[derive(Debug, thiserror::Error)]
#[error("{}", self.message())]
pub(crate) struct NotAttached {
    pub(crate) reason: NotAttachedReason,
    /// The scheduler's own report of why it exited.
    pub(crate) exit_report: Option<SchedulerExit>,
    /// The scheduler that is attached instead.
    pub(crate) holder: Option<OpsName>,
    /// The end of its output, printable.
    pub(crate) last_lines: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotAttachedReason {
    /// Its process exited before it was attached.
    Exited(Option<ExitCode>),
    /// It was attached, and then detached again.
    Ejected {
        /// `None` if it was ejected before its name was read.
        ops: Option<OpsName>,
        code: Option<ExitCode>,
    },
    /// It was not attached within the limit.
    Timeout(Box<AttachProgress>),
}

/// How far a scheduler got that was not attached in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AttachProgress {
    pub(crate) limit: Duration,
    /// `None` if the runtime does not say.
    pub(crate) has_process: Option<bool>,
    pub(crate) kernel: Fact<KernelSchedExt>,
}

#[derive(Debug)]
pub(crate) enum Rollback {
    /// The old scheduler runs again.
    Restored { scheduler: String, ops: OpsName },
    NotRestored {
        scheduler: String,
        cause: FailureCause,
    },
    /// Something could not be removed; the next command tries again.
    Leftover(FailureCause),
}

impl fmt::Display for Rollback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restored { scheduler, ops } => {
                write!(f, "{scheduler} runs again: the kernel has {ops} attached")
            }
            Self::NotRestored { scheduler, cause } => {
                let cause = error_text::one_line(cause);
                write!(f, "{scheduler} could not be started again: {cause}")
            }
            Self::Leftover(cause) => {
                let cause = error_text::one_line(cause);
                write!(
                    f,
                    "a container is left over, see `schedctl status`: {cause}"
                )
            }
        }
    }
}

impl NotAttachedReason {
    pub(crate) fn exit_code(&self) -> Option<ExitCode> {
        match self {
            Self::Exited(code) | Self::Ejected { code, .. } => *code,
            Self::Timeout(_) => None,
        }
    }
}

/// Two clauses.
impl fmt::Display for AttachProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.has_process {
            Some(true) => "its process runs",
            Some(false) => "its process has ended",
            None => "the runtime does not say whether its process runs",
        })?;
        let state = self.kernel.known().map(|kernel| &kernel.state);
        let ops = self.kernel.known().and_then(KernelSchedExt::attached);
        match (ops, state.and_then(Fact::known)) {
            (Some(ops), _) => write!(f, ", the kernel has {ops} attached"),
            (None, Some(state)) => write!(f, ", the kernel's state is {}", state.as_str()),
            (None, None) => f.write_str(", the kernel's state is unknown"),
        }
    }
}

impl NotAttached {
    /// `reason` in JSON documents, such as `LoadFailedVerifier`, `Stall` or `Timeout`.
    pub(crate) fn code(&self) -> &'static str {
        match (&self.reason, &self.exit_report) {
            (NotAttachedReason::Timeout(_), _) => "Timeout",
            (_, Some(report)) => report.reason.as_str(),
            (_, None) => "Unknown",
        }
    }

    pub(crate) fn remedy(&self) -> Option<String> {
        if let Some(holder) = &self.holder {
            return Some(format!(
                "stop {holder} where it was started, or detach it with `schedctl detach --force`"
            ));
        }
        if let NotAttachedReason::Timeout(progress) = &self.reason {
            let limit = progress.limit;
            let more = humantime::format_duration(limit.saturating_mul(2));
            return Some(format!(
                "read its output; if it is only slow, allow more time with `--timeout {more}`"
            ));
        }
        let report = self.exit_report.as_ref()?;
        report.reason.remedy().map(str::to_owned)
    }

    fn message(&self) -> String {
        let what = match &self.reason {
            NotAttachedReason::Exited(Some(ExitCode(code))) => {
                format!("the scheduler exited with code {code} before the kernel attached it")
            }
            NotAttachedReason::Exited(None) => {
                "the scheduler exited before the kernel attached it".to_owned()
            }
            NotAttachedReason::Ejected { ops, .. } => {
                let ops = ops.as_ref().map_or("the scheduler", OpsName::as_str);
                format!("the kernel attached {ops}, then ejected it")
            }
            NotAttachedReason::Timeout(progress) => {
                let limit = humantime::format_duration(progress.limit);
                let last_line = self.last_lines.last();
                let last_line = last_line.map_or_else(
                    || "it has printed nothing".to_owned(),
                    |line| format!("its last output is: {line}"),
                );
                return format!(
                    "the kernel did not attach the scheduler within {limit}: {progress}, {last_line}"
                );
            }
        };
        let reported = self.exit_report.as_ref();
        let reported = reported.map_or_else(String::new, |report| format!(": {}", report.reason));
        let holder = self.holder.as_ref();
        let holder = holder.map_or_else(String::new, |ops| format!(" ({ops} is attached)"));
        what + &reported + &holder
    }
}
