//! What a run's exit code means. Scripts rely on these numbers: they are added to, never changed.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; for `verify`, the trust policy accepts the image.
    Ok,
    /// Not done: bad usage, bad settings, or something did not work. Asking again may help.
    Trouble,
    /// Our view and the kernel's differ.
    Discrepancy,
    /// Refused: the trust policy does not accept the image.
    Refused,
    /// The kernel did not take the scheduler, or let go of it again.
    NotAttached,
    /// Another scheduler is there.
    Busy,
    /// The scheduler's own code, for whoever stayed with it.
    Scheduler(u8),
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Trouble => 1,
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
