//! An error and its causes in one printable line.

use std::error::Error;

use schedkit_core::sanitize;

/// Enough for a refusal that lists several signatures.
const MAX_CAUSE: usize = 4000;

/// Each cause is shortened: some quote text from outside, which can be megabytes.
pub(crate) fn one_line(error: &dyn Error) -> String {
    let cut = |error: &dyn Error| sanitize::shortened(&error.to_string(), MAX_CAUSE);
    let mut text = cut(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = cut(error);
        // A transparent wrapper has the same text as what it wraps.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    sanitize::printable(&text)
}
