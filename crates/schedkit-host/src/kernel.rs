//! Which kernel runs, since when, and how it treats real-time tasks and BPF programs.

use schedkit_core::{KernelRelease, foreign};
use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

const SMALL: usize = 4096;

/// The running kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// What `uname -r` prints.
    pub release: Fact<KernelRelease>,
    /// Another one after each start of the machine.
    pub boot_id: Fact<String>,
    /// Whether it is a PREEMPT_RT kernel.
    pub realtime: Fact<bool>,
    /// Whether BPF programs are compiled; absent where the kernel always does.
    pub bpf_jit: Fact<BpfJit>,
}

/// What `bpf_jit_enable` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BpfJit {
    /// Programs are interpreted.
    Off,
    /// Programs are compiled.
    On,
    /// Programs are compiled and written to the log.
    Debug,
    /// Something that we do not know.
    Unknown(String),
}

impl Kernel {
    /// Asks the running one.
    pub fn read(root: &HostRoot) -> Self {
        let text = |path| small_file::text(&root.path(path), SMALL);
        Self {
            release: text("/proc/sys/kernel/osrelease").parsed(|text| text.parse().ok()),
            boot_id: text("/proc/sys/kernel/random/boot_id").parsed(boot_id),
            realtime: realtime(
                text("/sys/kernel/realtime"),
                text("/proc/sys/kernel/version"),
            ),
            bpf_jit: text("/proc/sys/net/core/bpf_jit_enable").map(|text| BpfJit::parse(&text)),
        }
    }
}

impl BpfJit {
    /// Whatever the file holds.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "0" => Self::Off,
            "1" => Self::On,
            "2" => Self::Debug,
            other => Self::Unknown(foreign::brief(other)),
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Off => "0",
            Self::On => "1",
            Self::Debug => "2",
            Self::Unknown(text) => text,
        }
    }
}

impl Serialize for BpfJit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Only a PREEMPT_RT kernel has the flag; where it is missing the version line tells.
fn realtime(flag: Fact<String>, version: Fact<String>) -> Fact<bool> {
    match flag {
        Fact::Known(flag) => Fact::Known(flag.trim() == "1"),
        _ => version.map(|version| says_realtime(&version)),
    }
}

/// Whether a version such as `#1 SMP PREEMPT_RT Debian 6.18.15-1` is of such a kernel.
pub fn says_realtime(version: &str) -> bool {
    version
        .split_whitespace()
        .any(|word| word == "PREEMPT_RT" || word == "PREEMPT_{RT}")
}

fn boot_id(text: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (text.len() == 36 && text.bytes().all(plain)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(text: &str) -> Fact<String> {
        Fact::Known(text.to_owned())
    }

    #[test]
    fn real_time_is_told_by_the_flag_or_by_the_version() {
        let plain = || known("#1 SMP PREEMPT_DYNAMIC Debian 6.18.15-1 (2026-02-03)\n");
        let rt = || known("#1 SMP PREEMPT_RT Debian 6.18.15-1 (2026-02-03)\n");
        assert_eq!(realtime(Fact::Absent, plain()), Fact::Known(false));
        assert_eq!(realtime(Fact::Absent, rt()), Fact::Known(true));
        assert_eq!(realtime(known("1\n"), plain()), Fact::Known(true));
        assert_eq!(realtime(Fact::Absent, Fact::Absent), Fact::Absent);
    }

    #[test]
    fn a_boot_id_looks_like_one() {
        let id = "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11";
        assert_eq!(boot_id(id).as_deref(), Some(id));
        for text in ["", "0fe6b9e5", &id.replace('f', "\u{1b}"), &id.repeat(2)] {
            assert_eq!(boot_id(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text: String) {
            let _ = (boot_id(&text), says_realtime(&text), BpfJit::parse(&text));
        }
    }
}
