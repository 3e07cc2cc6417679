//! The scheduler's name in the kernel, checked before anything is loaded: the kernel's error for an
//! invalid one is just "invalid argument".

use std::str::FromStr;

use thiserror::Error;

/// Size of the kernel's field, including the terminating zero.
pub(crate) const FIELD_LEN: usize = 128;

/// A name that the kernel accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpsName(String);

#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum InvalidOpsName {
    #[error("the ops name is empty: give --name at least one letter, digit, '_' or '.'")]
    Empty,
    #[error("the ops name has {0} bytes, but the kernel allows at most {max}", max = FIELD_LEN - 1)]
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
        if let Some(invalid) = text.chars().find(|character| !is_allowed(*character)) {
            return Err(InvalidOpsName::Character(invalid));
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
    fn real_names_are_valid() {
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
    fn errors_name_what_is_invalid() {
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
        fn a_valid_name_fits_the_field(text in ".*") {
            if let Ok(name) = text.parse::<OpsName>() {
                prop_assert!(!name.as_str().is_empty() && name.as_str().len() < FIELD_LEN);
                prop_assert!(name.as_str().chars().all(is_allowed));
            }
        }
    }
}
