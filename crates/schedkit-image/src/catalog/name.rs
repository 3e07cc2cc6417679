//! The name of a scheduler in a catalog and on the command line.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

const MAX_BYTES: usize = 63;

/// Such as `scx_lavd`. Never has a `/` or a `:`, so it cannot be confused with a reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchedulerName(String);

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a scheduler's name has 1 to {MAX_BYTES} letters, digits, '_', '-' and '.', and starts with a letter or a digit"
)]
pub struct NameError;

impl SchedulerName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SchedulerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Allows a lookup by any text in a map with names as keys.
impl Borrow<str> for SchedulerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for SchedulerName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let good = text.len() <= MAX_BYTES
            && text
                .bytes()
                .next()
                .is_some_and(|first| first.is_ascii_alphanumeric())
            && text.bytes().all(inner);
        good.then(|| Self(text.to_owned())).ok_or(NameError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_have_no_special_characters() {
        for good in ["gthulhu", "scx_p2dq", "Scx-1.0", &"a".repeat(63)] {
            assert_eq!(good.parse::<SchedulerName>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "_a",
            "-o",
            ".",
            "a/b",
            "a:b",
            "a b",
            "é",
            &"a".repeat(64),
        ] {
            assert_eq!(bad.parse::<SchedulerName>(), Err(NameError), "{bad:?}");
        }
    }
}
