//! The kernel's lockdown mode, from a file such as `none [integrity] confidentiality`.

use schedkit_core::sanitize;
use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FILE: &str = "/sys/kernel/security/lockdown";
const LIMIT: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lockdown {
    None,
    /// Root may not change the kernel; schedulers can be loaded.
    Integrity,
    /// Root may not read the kernel's memory, and neither may BPF programs.
    Confidentiality,
    /// A mode that is not in this list.
    Unknown(String),
}

impl Lockdown {
    /// Absent where the kernel has no lockdown or securityfs is not mounted.
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::text(&root.path(FILE), LIMIT).parsed(Self::parse)
    }

    /// Parses the mode in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once('[')?;
        let (mode, _) = rest.split_once(']')?;
        Some(match mode {
            "none" => Self::None,
            "integrity" => Self::Integrity,
            "confidentiality" => Self::Confidentiality,
            other => Self::Unknown(sanitize::brief(other)),
        })
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
            Self::Unknown(mode) => mode,
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
    fn the_mode_in_brackets_counts() {
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
        fn parsing_never_panics(text: String) {
            let _ = Lockdown::parse(&text);
        }
    }
}
