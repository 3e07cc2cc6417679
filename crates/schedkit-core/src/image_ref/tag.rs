//! A tag: a name that a registry may move to other content at any time.

use std::fmt;
use std::str::FromStr;

use super::error::ImageRefError;

const MAX_LENGTH: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

impl Tag {
    /// The tag of a reference that has neither a tag nor a digest.
    pub fn latest() -> Self {
        Self("latest".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Tag {
    type Err = ImageRefError;

    fn from_str(text: &str) -> Result<Self, ImageRefError> {
        let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let later = |byte: u8| first(byte) || byte == b'.' || byte == b'-';
        let is_valid = text.len() <= MAX_LENGTH
            && text.bytes().next().is_some_and(first)
            && text.bytes().all(later);
        is_valid
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| ImageRefError::Tag(text.to_owned()))
    }
}
