//! A name that a registry may move to other content at any time.

use std::fmt;
use std::str::FromStr;

use super::ImageRefError;

const LONGEST: usize = 128;

/// A tag of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

impl Tag {
    /// What is meant when nothing is said.
    pub fn latest() -> Self {
        Self("latest".to_owned())
    }

    /// The tag as it was written.
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
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let later = |byte: u8| word(byte) || byte == b'.' || byte == b'-';
        let good = text.len() <= LONGEST
            && text.bytes().next().is_some_and(word)
            && text.bytes().all(later);
        good.then(|| Self(text.to_owned()))
            .ok_or_else(|| ImageRefError::Tag(text.to_owned()))
    }
}
