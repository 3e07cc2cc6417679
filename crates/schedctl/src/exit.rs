//! Exit codes. Scripts rely on them: codes may be added, never changed.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// For `verify`, the trust policy accepts the image.
    Ok,
    /// Bad usage, bad settings, or something failed. Trying again may help.
    Failure,
    /// schedctl's containers and the kernel's state differ.
    Discrepancy,
    /// The trust policy refuses the image.
    Refused,
    /// The kernel did not attach the scheduler, or ejected it, also later with `run --attach`.
    NotAttached,
    /// Another scheduler is running.
    Busy,
    /// The scheduler's own exit code, for `run --attach`.
    Scheduler(u8),
}

/// Whose exit code `run --attach` ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCodes {
    Scheduler,
    /// schedctl's, for the systemd unit: a scheduler that ended unasked is [`Exit::NotAttached`],
    /// one that was stopped is [`Exit::Ok`].
    Unit,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Discrepancy => 2,
            Self::Refused => 3,
            Self::NotAttached => 4,
            Self::Busy => 5,
            Self::Scheduler(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
