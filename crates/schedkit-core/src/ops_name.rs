//! The name under which the kernel shows a scheduler, and the scheduler that it belongs to.
//!
//! ```text
//! kernel   bpfland_1.1.4_x86_64_unknown_linux_gnu ─┐
//!                                                  ├─▶ SchedulerName "bpfland"
//! catalog  scx_bpfland ────────────────────────────┘
//! ```
//!
//! A scheduler of the scx project drops `scx_` from its name and adds its version, its commit and
//! its target; others use just their name. Names of both kinds are compared as [`SchedulerName`]s.
//! The rules, in this order:
//! 1. upper case counts as lower case, `-` as `_`: image paths have no upper case, and ops names
//!    have no `-`;
//! 2. one leading `scx_` is dropped, unless nothing else is left;
//! 3. a version, and all that follows it, is dropped: the first part after a `_` that begins with
//!    two numbers separated by a dot (`_1.1.4`, `_1.0`). A number without a dot (`_2`, `p2dq`)
//!    belongs to the name, and so does the first part.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The size of the kernel's buffer without the terminating zero.
const MAX_LENGTH: usize = 127;
const PREFIX: &str = "scx_";

/// A name as the kernel shows it in `root/ops`: letters, digits, `_` and `.`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpsName(String);

/// The identity of a scheduler, whatever its version. Use it to compare; print the name as the
/// catalog or the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchedulerName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a scheduler's name is empty")]
    Empty,
    #[error("a scheduler's name has at most {MAX_LENGTH} characters")]
    TooLong,
    #[error("a scheduler's name has no {0:?} in it")]
    Character(char),
}

impl OpsName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn scheduler(&self) -> SchedulerName {
        SchedulerName::of(&self.0)
    }

    /// The version in the name, such as `1.1.4`.
    pub fn version(&self) -> Option<&str> {
        let (_, version) = split_version(&self.0)?;
        version.split('_').next()
    }
}

impl SchedulerName {
    /// The name without `scx_` and without a version.
    pub fn stem(&self) -> &str {
        &self.0
    }

    /// The text's characters must have been checked.
    fn of(text: &str) -> Self {
        let text = text.to_ascii_lowercase().replace('-', "_");
        let name = match text.strip_prefix(PREFIX) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &text,
        };
        let stem = split_version(name).map_or(name, |(stem, _)| stem);
        Self(stem.to_owned())
    }
}

impl FromStr for OpsName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check_characters(text, |character| matches!(character, '_' | '.'))?;
        Ok(Self(text.to_owned()))
    }
}

/// From a name in the catalog or the last part of an image's path.
impl FromStr for SchedulerName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check_characters(text, |character| matches!(character, '_' | '.' | '-'))?;
        Ok(Self::of(text))
    }
}

impl fmt::Display for OpsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As the scx project writes it: `scx_bpfland`.
impl fmt::Display for SchedulerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl Serialize for OpsName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

fn check_characters(text: &str, is_separator: impl Fn(char) -> bool) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > MAX_LENGTH {
        return Err(NameError::TooLong);
    }
    match text
        .chars()
        .find(|&character| !character.is_ascii_alphanumeric() && !is_separator(character))
    {
        Some(other) => Err(NameError::Character(other)),
        None => Ok(()),
    }
}

/// The part before the first version, and the version with all that follows it.
fn split_version(name: &str) -> Option<(&str, &str)> {
    name.match_indices('_')
        .map(|(at, _)| (&name[..at], &name[at + 1..]))
        .find(|(stem, rest)| !stem.is_empty() && begins_with_version(rest))
}

/// Whether the part up to the next `_` begins with two numbers and a dot between them.
fn begins_with_version(text: &str) -> bool {
    let part = text.split('_').next().unwrap_or(text);
    let mut numbers = part.split('.');
    let mut is_number = || {
        numbers
            .next()
            .is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    is_number() && is_number()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stem(ops: &str) -> String {
        ops.parse::<OpsName>()
            .unwrap()
            .scheduler()
            .stem()
            .to_owned()
    }

    #[test]
    fn an_ops_name_gives_the_scheduler() {
        for (ops, scheduler) in [
            ("bpfland_1.1.4_x86_64_unknown_linux_gnu", "bpfland"),
            (
                "bpfland_1.1.4_g1a2b3c4_dirty_aarch64_unknown_linux_musl_debug",
                "bpfland",
            ),
            ("p2dq_1.1.4_x86_64_unknown_linux_gnu", "p2dq"),
            ("lab_1.1.0", "lab"),
            ("lab_1.1.0_rc.1", "lab"),
            ("lab_1.1.0rc1_x86_64", "lab"),
            ("lab_matrix", "lab_matrix"),
            ("lab_matrix_0.9", "lab_matrix"),
            ("lab_2", "lab_2"),
            ("lab_v2_3.0.1", "lab_v2"),
            ("jack_3.5mm", "jack_3.5mm"),
            ("lab_1.", "lab_1."),
            ("rusty", "rusty"),
            ("simple", "simple"),
            ("scx_simple", "simple"),
            ("scx_simple_1.0.2", "simple"),
            ("Gthulhu", "gthulhu"),
            ("scx_", "scx_"),
            ("scx_1.0", "1.0"),
            ("1.0", "1.0"),
            ("_1.0", "_1.0"),
            ("scx_scx_lab", "scx_lab"),
            (".", "."),
        ] {
            assert_eq!(stem(ops), scheduler, "{ops}");
        }
    }

    #[test]
    fn catalog_and_kernel_agree() {
        for (catalog, ops, same) in [
            (
                "scx_bpfland",
                "bpfland_1.1.4_x86_64_unknown_linux_gnu",
                true,
            ),
            ("gthulhu", "gthulhu", true),
            ("scx_p2dq", "p2dq_1.0", true),
            ("scx-mine", "mine", true),
            ("my-own", "my_own_0.1.0", true),
            ("scx_rusty", "rustland_1.1.4", false),
            ("scx_flow", "flow2", false),
        ] {
            let name: SchedulerName = catalog.parse().unwrap();
            let ops: OpsName = ops.parse().unwrap();
            assert_eq!(name == ops.scheduler(), same, "{catalog} {ops}");
        }
    }

    #[test]
    fn the_version_is_found_in_the_name() {
        for (ops, version) in [
            ("bpfland_1.1.4_x86_64_unknown_linux_gnu", Some("1.1.4")),
            ("scx_lab_1.0", Some("1.0")),
            ("lab", None),
            ("lab_2", None),
        ] {
            assert_eq!(ops.parse::<OpsName>().unwrap().version(), version, "{ops}");
        }
    }

    #[test]
    fn an_invalid_name_is_refused() {
        for (text, error) in [
            ("", NameError::Empty),
            ("a b", NameError::Character(' ')),
            ("a-b", NameError::Character('-')),
            ("lab\n", NameError::Character('\n')),
            ("läb", NameError::Character('ä')),
            ("(efault)", NameError::Character('(')),
            (&"x".repeat(128), NameError::TooLong),
        ] {
            assert_eq!(text.parse::<OpsName>(), Err(error), "{text:?}");
        }
        assert!("x".repeat(127).parse::<OpsName>().is_ok());
        assert_eq!(
            "a/b".parse::<SchedulerName>(),
            Err(NameError::Character('/'))
        );
    }

    proptest! {
        #[test]
        fn text_after_the_version_changes_nothing(
            name in "[a-z][a-z0-9]{0,8}(_[a-z][a-z0-9]{0,5}){0,2}",
            version in "[0-9]{1,2}\\.[0-9]{1,2}(\\.[0-9]{1,2})?",
            tail in "(_[a-z0-9._]{0,20})?",
        ) {
            prop_assume!(!name.starts_with("scx_"));
            let catalog: SchedulerName = format!("scx_{name}").parse().unwrap();
            let ops: OpsName = format!("{name}_{version}{tail}").parse().unwrap();
            prop_assert_eq!(ops.scheduler(), catalog.clone());
            prop_assert_eq!(ops.version(), Some(version.as_str()));
            prop_assert_eq!(name.parse::<OpsName>().unwrap().scheduler(), catalog);
        }

        #[test]
        fn display_and_parse_round_trip(text in "[A-Za-z0-9_.-]{1,40}|scx_[0-9._]{1,10}") {
            let name: SchedulerName = text.parse().unwrap();
            prop_assert!(!name.stem().is_empty());
            prop_assert_eq!(name.to_string().parse(), Ok(name));
        }

        #[test]
        fn parsing_never_panics(text: String) {
            if let Ok(name) = text.parse::<OpsName>() {
                prop_assert_eq!(name.as_str(), &text);
                let _ = (name.scheduler(), name.version());
            }
            let _ = text.parse::<SchedulerName>();
        }
    }
}
