//! What a run's exit code means. Scripts rely on these numbers: they are added to, never changed.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done; for `verify`, the trust policy accepts the image.
    Ok = 0,
    /// Not done: bad usage, bad settings, or something did not work. Asking again may help.
    Trouble = 1,
    // 2 is kept for `status`: our view and the kernel's differ.
    /// Refused: the trust policy does not accept the image.
    Refused = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
