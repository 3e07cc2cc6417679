//! The effective capabilities of this process, from `/proc/self/status`.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FILE: &str = "/proc/self/status";
/// The file lists the groups of the process, which may be 65536.
const LIMIT: usize = 1 << 20;

/// The effective set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Capabilities(u64);

/// A capability that is needed to run schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Loading BPF programs.
    Bpf,
    SysAdmin,
    /// Tracing BPF programs.
    Perfmon,
}

impl Capability {
    /// The name in `capabilities(7)`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpf => "CAP_BPF",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::Perfmon => "CAP_PERFMON",
        }
    }

    fn bit(self) -> u64 {
        match self {
            Self::SysAdmin => 1 << 21,
            Self::Perfmon => 1 << 38,
            Self::Bpf => 1 << 39,
        }
    }
}

impl Capabilities {
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::text(&root.path(FILE), LIMIT).parsed(Self::parse)
    }

    /// Parses the text of a process's `status`.
    pub fn parse(status: &str) -> Option<Self> {
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))?;
        Some(Self(u64::from_str_radix(mask.trim(), 16).ok()?))
    }

    pub fn has(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }
}

/// Sixteen hexadecimal digits, as the kernel prints it.
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Capabilities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(mask: &str) -> Option<Capabilities> {
        Capabilities::parse(&format!(
            "Name:\tschedctl\nCapPrm:\t000001ffffffffff\nCapEff:\t{mask}\nCapBnd:\t0\n"
        ))
    }

    #[test]
    fn each_capability_has_its_bit() {
        use Capability::{Bpf, Perfmon, SysAdmin};
        for (mask, held) in [
            ("000001ffffffffff", &[Bpf, SysAdmin, Perfmon][..]),
            ("0000000000200000", &[SysAdmin]),
            ("0000004000000000", &[Perfmon]),
            ("0000008000000000", &[Bpf]),
            ("0000000000000000", &[]),
        ] {
            let set = set(mask).unwrap();
            for capability in [Bpf, SysAdmin, Perfmon] {
                assert_eq!(
                    set.has(capability),
                    held.contains(&capability),
                    "{mask} {capability:?}"
                );
            }
            assert_eq!(set.to_string(), mask);
        }
        assert_eq!(set("rubbish"), None);
        assert_eq!(Capabilities::parse("Name:\tx\n"), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text: String) {
            let _ = Capabilities::parse(&text);
        }
    }
}
