//! Prints lines. A line that cannot be written is dropped: the scheduler must not end because its log
//! is closed.

use std::{
    error::Error,
    fmt::Display,
    io::{self, Write},
};

/// Progress, on standard output.
pub(crate) fn print(line: impl Display) {
    writeln!(io::stdout(), "{line}").ok();
}

/// Warnings, on standard error.
pub(crate) fn warn(line: impl Display) {
    writeln!(io::stderr(), "{line}").ok();
}

/// An error and its causes in one line, on standard error.
pub(crate) fn fail(error: &dyn Error) {
    let mut line = format!("Error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    warn(line);
}
