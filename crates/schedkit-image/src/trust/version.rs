//! A version as semantic versioning 2.0 defines it, for `minimumVersion`. A leading `v` is allowed.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

const MAX_BYTES: usize = 128;

/// Compares by precedence; what is behind a `+` does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: [u64; 3],
    /// What is behind the `-`; empty for a release.
    pre_release: Vec<Identifier>,
}

/// A number comes before any text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

/// Why a text is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a version such as 1.2.3 or 1.2.3-rc.1 (semantic versioning)")]
pub struct VersionError;

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.len() > MAX_BYTES {
            return Err(VersionError);
        }
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = split(text, '+');
        let (core, pre_release) = split(text, '-');
        if build.is_some_and(|build| !build.split('.').all(is_identifier)) {
            return Err(VersionError);
        }
        let parts: Vec<u64> = core.split('.').map(number).collect::<Result<_, _>>()?;
        let numbers = parts.try_into().map_err(|_| VersionError)?;
        let pre_release = pre_release.map(|text| text.split('.').map(identifier).collect());
        Ok(Self {
            numbers,
            pre_release: pre_release.transpose()?.unwrap_or_default(),
        })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let early = |version: &Self| !version.pre_release.is_empty();
        let releases_last = || early(other).cmp(&early(self));
        self.numbers
            .cmp(&other.numbers)
            .then_with(releases_last)
            .then_with(|| self.pre_release.cmp(&other.pre_release))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (position, identifier) in self.pre_release.iter().enumerate() {
            f.write_str(if position == 0 { "-" } else { "." })?;
            match identifier {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Text(text) => f.write_str(text)?,
            }
        }
        Ok(())
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}

/// Without leading zeros.
fn number(text: &str) -> Result<u64, VersionError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match digits && (text == "0" || !text.starts_with('0')) {
        true => text.parse().map_err(|_| VersionError),
        false => Err(VersionError),
    }
}

fn is_identifier(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

fn identifier(text: &str) -> Result<Identifier, VersionError> {
    if !is_identifier(text) {
        return Err(VersionError);
    }
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => number(text).map(Identifier::Number),
        false => Ok(Identifier::Text(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_ordered_by_precedence() {
        let ascending = [
            "0.9.9",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
            "v1.0.1",
            "1.2.0",
            "1.10.0",
            "2.0.0-0",
        ];
        for pair in ascending.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("1.0.0+one"), version("1.0.0+two"));
    }

    #[test]
    fn anything_else_is_no_version() {
        let long = format!("1.0.0-{}", "a".repeat(MAX_BYTES));
        for text in [
            "",
            "1",
            "1.0",
            "1.0.0.0",
            "01.0.0",
            "1.0.x",
            "1.0.0-",
            "1.0.0-01",
            "1.0.0+",
            " 1.0.0",
            "1.0.0-é",
            "latest",
            "99999999999999999999.0.0",
            &long,
        ] {
            assert_eq!(text.parse::<Version>(), Err(VersionError), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = text.parse::<Version>();
        }

        #[test]
        fn what_is_printed_means_the_same(
            text in "[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}(-[a-z0-9]{1,3}(\\.[0-9]{1,2})?)?",
        ) {
            if let Ok(version) = text.parse::<Version>() {
                prop_assert_eq!(version.to_string().parse(), Ok(version));
            }
        }
    }
}
