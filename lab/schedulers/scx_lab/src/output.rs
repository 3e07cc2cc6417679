//! The few lines that the scheduler says.
//!
//! A line that cannot be written is dropped: a scheduler must not fall because its log did.

use std::{
    error::Error,
    fmt::Display,
    io::{self, Write},
};

/// Says how it is going, on standard output.
pub(crate) fn say(line: impl Display) {
    writeln!(io::stdout(), "{line}").ok();
}

/// Says what somebody should look at, on standard error.
pub(crate) fn warn(line: impl Display) {
    writeln!(io::stderr(), "{line}").ok();
}

/// Says an error and everything that led to it in one line, on standard error.
pub(crate) fn fail(error: &dyn Error) {
    let mut line = format!("Error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    warn(line);
}
