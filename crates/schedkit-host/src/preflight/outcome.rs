//! The outcome of a check, with a text about what was observed.

use crate::fact::Fact;

pub(super) enum Outcome {
    Pass(String),
    Fail { detail: String, remedy: String },
    Skip(String),
}

impl Outcome {
    pub(super) fn pass(detail: impl Into<String>) -> Self {
        Self::Pass(detail.into())
    }

    pub(super) fn fail(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Fail {
            detail: detail.into(),
            remedy: remedy.into(),
        }
    }

    pub(super) fn skip(detail: impl Into<String>) -> Self {
        Self::Skip(detail.into())
    }

    /// Skips a check because this file could not be read or parsed.
    pub(super) fn skip_unknown<T>(name: &str, fact: &Fact<T>) -> Self {
        Self::Skip(describe(name, fact))
    }
}

/// The file's name and why there is no value.
pub(super) fn describe<T>(name: &str, fact: &Fact<T>) -> String {
    format!("{name} {}", fact.problem().unwrap_or_default())
}
