//! What becomes of an error: whether and when to try again, and how it reads in full.

use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use crate::leadership::WriteError;

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Not by ourselves.
    Never,
    /// After this long, however often it happened.
    After(Duration),
    /// Later each time.
    Backoff,
}

impl WriteError {
    /// When to try again.
    pub(crate) fn retry(&self) -> Retry {
        match (self, self.status()) {
            (Self::NotLeader, _) => Retry::Never,
            // What was observed is out of date: the watch brings the news any moment.
            (_, Some(409)) => Retry::After(Duration::from_millis(100)),
            _ => Retry::Backoff,
        }
    }

    /// In a word, for metrics and logs.
    pub(crate) fn reason(&self) -> &'static str {
        match (self, self.status()) {
            (Self::NotLeader, _) => "NotLeader",
            (Self::Slow, _) => "Timeout",
            (_, Some(403)) => "Forbidden",
            (_, Some(404)) => "NotFound",
            (_, Some(409)) => "Conflict",
            (_, Some(422)) => "Invalid",
            (_, Some(429)) => "TooManyRequests",
            (_, Some(_)) => "Refused",
            (_, None) => "Unreachable",
        }
    }
}

/// An error with everything behind it, each sentence once.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let sentence = source.to_string();
        if !text.contains(&sentence) {
            // Writing to a String cannot fail.
            let _ = write!(text, ": {sentence}");
        }
        next = source.source();
    }
    text
}
