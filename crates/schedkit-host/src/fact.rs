//! What is known about one thing of a machine: it itself, or why it is not known.
//!
//! Readers return it instead of an error, so that one file that is missing or broken takes nothing
//! away from the rest of a snapshot.

use schedkit_core::foreign;
use serde::Serialize;

/// A value of the machine, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fact<T> {
    /// The machine has no such thing.
    Absent,
    /// It is there and cannot be read; in the system's words.
    Unreadable(String),
    /// It was read and is not what such a thing looks like; brief and printable.
    Strange(String),
    /// As it should be.
    Known(T),
}

impl<T> Fact<T> {
    /// Text from outside that made no sense.
    pub(crate) fn strange(text: &str) -> Self {
        Self::Strange(foreign::brief(text))
    }

    /// The value, when there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Absent | Self::Unreadable(_) | Self::Strange(_) => None,
        }
    }

    /// Why there is no value, as the end of a sentence that began with its name.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Known(_) => None,
            Self::Absent => Some("is not there".to_owned()),
            Self::Unreadable(why) => Some(format!("cannot be read: {why}")),
            Self::Strange(text) => Some(format!("makes no sense: {text:?}")),
        }
    }

    /// The same fact about a part of the value.
    pub fn map<U>(self, part: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(part(value)))
    }

    /// What the value leads to.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Known(value) => next(value),
            Self::Absent => Fact::Absent,
            Self::Unreadable(why) => Fact::Unreadable(why),
            Self::Strange(text) => Fact::Strange(text),
        }
    }
}

impl Fact<String> {
    /// What a parser makes of the trimmed text; `None` is strange.
    pub(crate) fn parsed<U>(self, parse: impl FnOnce(&str) -> Option<U>) -> Fact<U> {
        self.and_then(|text| parse(text.trim()).map_or_else(|| Fact::strange(&text), Fact::Known))
    }
}
