//! The running kernel: release, boot id, PREEMPT_RT and the BPF JIT.

use schedkit_core::{KernelRelease, sanitize};
use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const SMALL: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelInfo {
    /// What `uname -r` prints.
    pub release: Fact<KernelRelease>,
    /// Changes with each boot.
    pub boot_id: Fact<String>,
    /// Whether it is a PREEMPT_RT kernel.
    pub realtime: Fact<bool>,
    /// Absent where the kernel always compiles BPF programs.
    pub bpf_jit: Fact<BpfJit>,
}

/// The value of `bpf_jit_enable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BpfJit {
    /// Programs are interpreted.
    Off,
    /// Programs are compiled.
    On,
    /// Programs are compiled and written to the log.
    Debug,
    Unknown(String),
}

impl KernelInfo {
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
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "0" => Self::Off,
            "1" => Self::On,
            "2" => Self::Debug,
            other => Self::Unknown(sanitize::brief(other)),
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

/// Only a PREEMPT_RT kernel has the flag; without it the version line is used.
fn realtime(flag: Fact<String>, version: Fact<String>) -> Fact<bool> {
    match flag {
        Fact::Known(flag) => Fact::Known(flag.trim() == "1"),
        _ => version.map(|version| is_realtime_version(&version)),
    }
}

/// Whether a version line such as `#1 SMP PREEMPT_RT Debian 6.18.15-1` has PREEMPT_RT.
pub fn is_realtime_version(version: &str) -> bool {
    version
        .split_whitespace()
        .any(|part| part == "PREEMPT_RT" || part == "PREEMPT_{RT}")
}

fn boot_id(text: &str) -> Option<String> {
    let is_valid = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (text.len() == 36 && text.bytes().all(is_valid)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(text: &str) -> Fact<String> {
        Fact::Known(text.to_owned())
    }

    #[test]
    fn realtime_is_read_from_the_flag_or_the_version() {
        let plain = || known("#1 SMP PREEMPT_DYNAMIC Debian 6.18.15-1 (2026-02-03)\n");
        let rt = || known("#1 SMP PREEMPT_RT Debian 6.18.15-1 (2026-02-03)\n");
        assert_eq!(realtime(Fact::Absent, plain()), Fact::Known(false));
        assert_eq!(realtime(Fact::Absent, rt()), Fact::Known(true));
        assert_eq!(realtime(known("1\n"), plain()), Fact::Known(true));
        assert_eq!(realtime(Fact::Absent, Fact::Absent), Fact::Absent);
    }

    #[test]
    fn a_boot_id_has_the_form_of_a_uuid() {
        let id = "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11";
        assert_eq!(boot_id(id).as_deref(), Some(id));
        for text in ["", "0fe6b9e5", &id.replace('f', "\u{1b}"), &id.repeat(2)] {
            assert_eq!(boot_id(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text: String) {
            let _ = (boot_id(&text), is_realtime_version(&text), BpfJit::parse(&text));
        }
    }
}
