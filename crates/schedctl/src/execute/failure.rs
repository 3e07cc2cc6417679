//! Why a plan was not done, and what became of what was there before.

use std::fmt;
use std::io;
use std::time::Duration;

use schedkit_core::{OpsName, SchedulerExit};
use schedkit_runtime::{DriverError, ExitCode};

use crate::output::sentence;
use crate::state_dir::StateError;

/// What went wrong, and how things are now.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct Failure {
    /// What went wrong.
    #[source]
    pub(crate) cause: Cause,
    /// What was done about it, in this order.
    pub(crate) aftermath: Vec<Aftermath>,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    /// The runtime did not do it.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The kernel does not run it.
    #[error(transparent)]
    NotAttached(Box<NotAttached>),
    /// The old one's process has ended and the kernel still holds it.
    #[error("the kernel does not let go of the scheduler that was ended")]
    NotReleased,
    /// Nobody can stand by.
    #[error("nobody can stand by to go back after the trial")]
    Guard(#[source] io::Error),
    /// Something cannot be written down.
    #[error(transparent)]
    State(#[from] StateError),
    /// Somebody pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// A plan that starts nothing.
    #[error("the plan starts nothing")]
    NothingStarted,
}

/// The kernel does not run it.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub(crate) struct NotAttached {
    /// What was seen.
    pub(crate) why: Why,
    /// What the scheduler said about it.
    pub(crate) words: Option<SchedulerExit>,
    /// Who is attached in its place.
    pub(crate) holder: Option<OpsName>,
    /// Its last lines, safe to print.
    pub(crate) lines: Vec<String>,
}

/// What was seen of a scheduler that the kernel does not run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its process ended before the kernel had it.
    Exited(Option<ExitCode>),
    /// The kernel took it and let go of it again.
    Ejected {
        /// The kernel's name for it; none when it went before anybody looked.
        ops: Option<OpsName>,
        /// How its process ended.
        code: Option<ExitCode>,
    },
    /// Its process runs, and the kernel did not have it in time.
    TooSlow(Duration),
}

/// How things are after a failure.
#[derive(Debug)]
pub(crate) enum Aftermath {
    /// What ran before runs again.
    WentBack {
        /// What that is.
        to: String,
        /// The kernel's name for it.
        ops: OpsName,
    },
    /// It does not.
    NotBack {
        /// What should run.
        to: String,
        /// Why it does not.
        cause: Cause,
    },
    /// Something is left that should be gone; the next command tries again.
    Left(Cause),
}

/// One sentence.
impl fmt::Display for Aftermath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WentBack { to, ops } => {
                write!(f, "{to} runs again: the kernel has {ops} attached")
            }
            Self::NotBack { to, cause } => {
                write!(f, "{to} does not run again: {}", sentence(cause))
            }
            Self::Left(cause) => write!(
                f,
                "something is left over, see `schedctl status`: {}",
                sentence(cause)
            ),
        }
    }
}

impl NotAttached {
    /// One word for programs, such as `Verifier`, `Stall` or `Timeout`.
    pub(crate) fn word(&self) -> &'static str {
        match (&self.why, &self.words) {
            (Why::TooSlow(_), _) => "Timeout",
            (Why::Exited(_) | Why::Ejected { .. }, Some(words)) => words.reason.as_str(),
            (Why::Exited(_) | Why::Ejected { .. }, None) => "Unknown",
        }
    }

    /// What to do about it, where something can be done.
    pub(crate) fn remedy(&self) -> Option<String> {
        if let Some(holder) = &self.holder {
            return Some(format!(
                "end {holder} where it was started, or force it out with `schedctl detach --force`"
            ));
        }
        if let Why::TooSlow(_) = self.why {
            let remedy = "look at what it says, or give it more time with --timeout";
            return Some(remedy.to_owned());
        }
        let words = self.words.as_ref()?;
        words.reason.remedy().map(str::to_owned)
    }

    fn sentence(&self) -> String {
        let what = match &self.why {
            Why::Exited(Some(ExitCode(code))) => {
                format!("the scheduler ended with code {code} before the kernel had it")
            }
            Why::Exited(None) => "the scheduler ended before the kernel had it".to_owned(),
            Why::Ejected { ops, .. } => {
                let ops = ops.as_ref().map_or("it", OpsName::as_str);
                format!("the kernel took {ops} and let go of it again")
            }
            Why::TooSlow(limit) => {
                return format!("the kernel did not have the scheduler within {limit:?}");
            }
        };
        let words = self.words.as_ref();
        let said = words.map_or_else(String::new, |words| format!(": {}", words.reason));
        let held = self.holder.as_ref();
        let held = held.map_or_else(String::new, |holder| format!(" ({holder} is attached)"));
        what + &said + &held
    }
}
