//! Kernel releases as `uname -r` prints them, ordered by version.
//!
//! Used to compare a minimum kernel with a kernel. A release says nothing about features: mainline
//! has sched_ext from 6.12 on, and a build has it only when its configuration says so.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A kernel release such as `6.18.15+deb13-cloud-amd64`.
///
/// Ordered by its numbers first and by the rest of its text only to break ties, so that
/// `6.9` comes before `6.12`. Printing gives back the text that was parsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelRelease {
    text: String,
    numbers: [u32; 3],
}

/// Why a text is not a kernel release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseKernelReleaseError {
    /// The text does not start with `MAJOR.MINOR`.
    #[error("a kernel release starts with MAJOR.MINOR, such as 6.12; got {0:?}")]
    NoNumbers(String),
    /// The kernel allows 64 bytes, without blanks and control characters.
    #[error("a kernel release has at most 64 printable characters without blanks; got {0:?}")]
    NotARelease(String),
}

impl KernelRelease {
    /// Major, minor and patch; a release without a patch number has patch 0.
    pub fn numbers(&self) -> [u32; 3] {
        self.numbers
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this release belongs to the series that `MAJOR.MINOR[.PATCH]` names: `6.18` covers
    /// `6.18` and `6.18.15`, never `6.1`.
    pub fn is_in_series(&self, series: &str) -> bool {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        let wanted: Vec<&str> = series.split('.').collect();
        wanted.len() <= numbers.len()
            && wanted.iter().zip(&numbers).all(|(one, other)| one == other)
    }
}

impl FromStr for KernelRelease {
    type Err = ParseKernelReleaseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > 64 || !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(ParseKernelReleaseError::NotARelease(text.to_owned()));
        }
        let mut rest = text;
        let mut numbers = [0; 3];
        for (position, number) in numbers.iter_mut().enumerate() {
            match leading_number(rest) {
                Some((value, tail)) => {
                    *number = value;
                    rest = tail;
                }
                None if position < 2 => {
                    return Err(ParseKernelReleaseError::NoNumbers(text.to_owned()));
                }
                None => break,
            }
            match rest.strip_prefix('.') {
                Some(tail) if position < 2 => rest = tail,
                _ if position == 0 => {
                    return Err(ParseKernelReleaseError::NoNumbers(text.to_owned()));
                }
                _ => break,
            }
        }
        Ok(Self {
            text: text.to_owned(),
            numbers,
        })
    }
}

/// The decimal number that `text` starts with and what follows it.
fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

impl fmt::Display for KernelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for KernelRelease {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl Ord for KernelRelease {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.numbers, &self.text).cmp(&(other.numbers, &other.text))
    }
}

impl PartialOrd for KernelRelease {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn release(text: &str) -> KernelRelease {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_parsed_from_real_releases() {
        for (text, numbers) in [
            ("6.18.15+deb13-cloud-amd64", [6, 18, 15]),
            ("7.0-rc3", [7, 0, 0]),
            ("6.12", [6, 12, 0]),
            ("6.8.0-41-generic", [6, 8, 0]),
            ("6.6.87.2-microsoft-standard-WSL2", [6, 6, 87]),
        ] {
            assert_eq!(release(text).numbers(), numbers, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_release_is_refused() {
        for text in [
            "",
            "6",
            "linux",
            "6-18",
            ".6.18",
            "6.x",
            "6.18 .1",
            "6.18\n",
            "99999999999.1",
        ] {
            assert!(text.parse::<KernelRelease>().is_err(), "{text:?}");
        }
        assert!("6.1".repeat(30).parse::<KernelRelease>().is_err());
    }

    #[test]
    fn order_is_numeric() {
        assert!(release("6.9.1") < release("6.12.0"));
        assert!(release("6.18.9+deb13") < release("6.18.15+deb13"));
        assert!(release("6.18.15-a") < release("6.18.15-b"));
    }

    #[test]
    fn a_series_covers_its_point_releases_only() {
        assert!(release("6.18.15+deb13").is_in_series("6.18"));
        assert!(release("6.18.15+deb13").is_in_series("6.18.15"));
        assert!(!release("6.18.15+deb13").is_in_series("6.1"));
        assert!(!release("6.18.15+deb13").is_in_series("6.18.1"));
        assert!(!release("6.18.15+deb13").is_in_series(""));
    }

    proptest! {
        #[test]
        fn an_accepted_text_is_printed_unchanged(text in "\\PC*") {
            if let Ok(release) = text.parse::<KernelRelease>() {
                prop_assert_eq!(release.to_string(), text);
            }
        }

        #[test]
        fn order_agrees_with_equality(a in "[0-9]{1,2}\\.[0-9]{1,2}(\\.[0-9])?", b in "[0-9]{1,2}\\.[0-9]{1,2}(\\.[0-9])?") {
            let (a, b) = (release(&a), release(&b));
            prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        }
    }
}
