//! The name under which the kernel knows the scheduler.
//!
//! Checked here, before anything is loaded, because the kernel answers a bad one with nothing
//! more than "invalid argument".

use std::str::FromStr;

use thiserror::Error;

/// Size of the kernel's field, its closing zero included.
pub(crate) const FIELD_LEN: usize = 128;

/// A name that the kernel accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpsName(String);

/// Why a name is no name for the kernel.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum InvalidOpsName {
    #[error("the ops name is empty: give --name at least one letter, digit, '_' or '.'")]
    Empty,
    #[error("the ops name has {0} bytes, but the kernel has room for at most {max}", max = FIELD_LEN - 1)]
    TooLong(usize),
    #[error("the ops name contains {0:?}: only letters, digits, '_' and '.' are allowed")]
    Character(char),
}

impl OpsName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for OpsName {
    type Err = InvalidOpsName;

    fn from_str(text: &str) -> Result<Self, InvalidOpsName> {
        if text.is_empty() {
            return Err(InvalidOpsName::Empty);
        }
        if let Some(stranger) = text.chars().find(|character| !is_allowed(*character)) {
            return Err(InvalidOpsName::Character(stranger));
        }
        if text.len() >= FIELD_LEN {
            return Err(InvalidOpsName::TooLong(text.len()));
        }
        Ok(Self(text.to_owned()))
    }
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn real_names_pass() {
        for text in [
            "lab",
            "bpfland_1.1.4_x86_64_unknown_linux_gnu",
            ".",
            &"x".repeat(127),
        ] {
            assert_eq!(text.parse::<OpsName>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn bad_names_say_what_is_bad() {
        for (text, expected) in [
            ("", InvalidOpsName::Empty),
            ("a b", InvalidOpsName::Character(' ')),
            ("a-b", InvalidOpsName::Character('-')),
            ("lab\n", InvalidOpsName::Character('\n')),
            ("l\0b", InvalidOpsName::Character('\0')),
            ("läb", InvalidOpsName::Character('ä')),
            (&"x".repeat(128), InvalidOpsName::TooLong(128)),
        ] {
            assert_eq!(text.parse::<OpsName>(), Err(expected), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_passes_fits_the_field_and_is_plain(text in ".*") {
            if let Ok(name) = text.parse::<OpsName>() {
                prop_assert!(!name.as_str().is_empty() && name.as_str().len() < FIELD_LEN);
                prop_assert!(name.as_str().chars().all(is_allowed));
            }
        }
    }
}
