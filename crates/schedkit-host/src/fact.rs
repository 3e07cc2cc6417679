//! A value that was read from a machine, or why there is none.
//!
//! Readers return a [`Fact`] instead of an error, so that one missing or malformed file does not
//! affect the rest of a snapshot.

use schedkit_core::sanitize;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fact<T> {
    /// The machine has no such file.
    Absent,
    /// The file cannot be read; with the system's error.
    Unreadable(String),
    /// The content could not be parsed; shortened and printable.
    Malformed(String),
    Known(T),
}

impl<T> Fact<T> {
    pub(crate) fn malformed(text: &str) -> Self {
        Self::Malformed(sanitize::brief(text))
    }

    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Absent | Self::Unreadable(_) | Self::Malformed(_) => None,
        }
    }

    /// Why there is no value, as the predicate of a sentence whose subject is the file.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Known(_) => None,
            Self::Absent => Some("is not there".to_owned()),
            Self::Unreadable(why) => Some(format!("cannot be read: {why}")),
            Self::Malformed(text) => Some(format!("is malformed: {text:?}")),
        }
    }

    pub fn map<U>(self, part: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(part(value)))
    }

    pub fn and_then<U>(self, next: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Known(value) => next(value),
            Self::Absent => Fact::Absent,
            Self::Unreadable(why) => Fact::Unreadable(why),
            Self::Malformed(text) => Fact::Malformed(text),
        }
    }
}

impl Fact<String> {
    /// Parses the trimmed text; `None` means malformed.
    pub(crate) fn parsed<U>(self, parse: impl FnOnce(&str) -> Option<U>) -> Fact<U> {
        self.and_then(|text| parse(text.trim()).map_or_else(|| Fact::malformed(&text), Fact::Known))
    }
}
