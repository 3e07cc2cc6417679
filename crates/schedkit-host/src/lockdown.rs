//! How far the kernel is locked down against its own root: `none [integrity] confidentiality`.

use schedkit_core::foreign;
use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

const FILE: &str = "/sys/kernel/security/lockdown";
const LIMIT: usize = 4096;

/// The mode in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lockdown {
    /// Off.
    None,
    /// Root may not change the kernel; schedulers still load.
    Integrity,
    /// Root may not even read it: BPF programs may not look at the kernel's memory.
    Confidentiality,
    /// A mode that we do not know.
    Unknown(String),
}

impl Lockdown {
    /// That of the running kernel; absent where it has no lockdown or securityfs is not mounted.
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::text(&root.path(FILE), LIMIT).parsed(Self::parse)
    }

    /// The word in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once('[')?;
        let (word, _) = rest.split_once(']')?;
        Some(match word {
            "none" => Self::None,
            "integrity" => Self::Integrity,
            "confidentiality" => Self::Confidentiality,
            other => Self::Unknown(foreign::brief(other)),
        })
    }

    /// The kernel's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
            Self::Unknown(word) => word,
        }
    }
}

impl Serialize for Lockdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_word_in_brackets_counts() {
        for (text, mode) in [
            ("[none] integrity confidentiality\n", Some(Lockdown::None)),
            (
                "none [integrity] confidentiality\n",
                Some(Lockdown::Integrity),
            ),
            (
                "none integrity [confidentiality]\n",
                Some(Lockdown::Confidentiality),
            ),
            (
                "none [sealed]\n",
                Some(Lockdown::Unknown("sealed".to_owned())),
            ),
            ("none integrity\n", None),
            ("] [", None),
        ] {
            assert_eq!(Lockdown::parse(text), mode, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text: String) {
            let _ = Lockdown::parse(&text);
        }
    }
}
