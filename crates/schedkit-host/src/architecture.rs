//! The machine's architecture. The kernel calls it `x86_64`, images `amd64`; both are one value here.

use std::fmt;

use schedkit_core::sanitize;
use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FILE: &str = "/proc/sys/kernel/arch";
const LIMIT: usize = 4096;

/// A machine architecture, printed as images name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    Amd64,
    Arm64,
    Riscv64,
    Ppc64le,
    S390x,
    Loong64,
    /// An architecture that is not in this list.
    Unknown(String),
}

impl Architecture {
    /// Reads that of the running kernel; absent before kernel 6.1.
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::text(&root.path(FILE), LIMIT).map(|text| Self::parse(&text))
    }

    /// Parses the kernel's name or an image's.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "x86_64" | "amd64" => Self::Amd64,
            "aarch64" | "arm64" => Self::Arm64,
            "riscv64" => Self::Riscv64,
            "ppc64le" => Self::Ppc64le,
            "s390x" => Self::S390x,
            "loongarch64" | "loong64" => Self::Loong64,
            other => Self::Unknown(sanitize::brief(other)),
        }
    }

    /// As images name it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Riscv64 => "riscv64",
            Self::Ppc64le => "ppc64le",
            Self::S390x => "s390x",
            Self::Loong64 => "loong64",
            Self::Unknown(text) => text,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Architecture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kernel_and_image_names_are_equal() {
        for (kernel, image) in [
            ("x86_64\n", "amd64"),
            ("aarch64\n", "arm64"),
            ("loongarch64\n", "loong64"),
            ("riscv64\n", "riscv64"),
            ("ppc64le\n", "ppc64le"),
            ("s390x\n", "s390x"),
            ("vax\n", "vax"),
        ] {
            assert_eq!(Architecture::parse(kernel), Architecture::parse(image));
            assert_eq!(Architecture::parse(kernel).to_string(), image);
        }
    }

    proptest! {
        #[test]
        fn display_and_parse_round_trip(text in "\\PC{0,40}") {
            let architecture = Architecture::parse(&text);
            prop_assert_eq!(Architecture::parse(architecture.as_str()), architecture.clone());
        }
    }
}
