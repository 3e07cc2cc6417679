//! Checks that this machine can run a sched_ext scheduler, before libbpf is used.
//!
//! `run.rs` calls [`check`] first, and [`attached`] when an attach was refused.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use thiserror::Error;

const SCHED_EXT: &str = "sys/kernel/sched_ext";
pub(crate) const BTF: &str = "sys/kernel/btf/vmlinux";
const STATUS: &str = "proc/self/status";

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

#[derive(Debug, Error)]
pub(crate) enum PreflightError {
    #[error(
        "this kernel has no sched_ext: boot one with CONFIG_SCHED_CLASS_EXT=y, and make sure \
         that /sys is mounted"
    )]
    NoSchedExt,
    #[error(
        "this kernel shows no BTF in /sys/kernel/btf/vmlinux: boot one with \
         CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf,
    #[error(
        "loading a scheduler needs the capabilities CAP_BPF and CAP_PERFMON: run as root or in a \
         privileged container"
    )]
    NoCapabilities,
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Fails with the first thing that is missing under this root.
pub(crate) fn check(root: &Path) -> Result<(), PreflightError> {
    if !root.join(SCHED_EXT).is_dir() {
        return Err(PreflightError::NoSchedExt);
    }
    if !root.join(BTF).is_file() {
        return Err(PreflightError::NoBtf);
    }
    let path = root.join(STATUS);
    match fs::read_to_string(&path) {
        Ok(status) if may_load(&status) => Ok(()),
        Ok(_) => Err(PreflightError::NoCapabilities),
        Err(source) => Err(PreflightError::Read { path, source }),
    }
}

/// The name of the attached scheduler, if there is one.
pub(crate) fn attached(root: &Path) -> Option<String> {
    let ops = fs::read_to_string(root.join(SCHED_EXT).join("root/ops")).ok()?;
    Some(ops.trim().to_owned())
}

/// Whether the process of this `/proc/self/status` may load a scheduler.
fn may_load(status: &str) -> bool {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    let has = |capability| effective & (capability | CAP_SYS_ADMIN) != 0;
    has(CAP_BPF) && has(CAP_PERFMON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(mask: &str) -> String {
        format!("Name:\tscx_lab\nCapPrm:\t000001ffffffffff\nCapEff:\t{mask}\nCapBnd:\t0\n")
    }

    #[test]
    fn root_or_both_capabilities_may_load() {
        assert!(may_load(&status("000001ffffffffff")));
        assert!(may_load(&status("0000000000200000")));
        assert!(may_load(&status("000000c000000000")));
    }

    #[test]
    fn one_capability_none_or_rubbish_may_not() {
        assert!(!may_load(&status("0000008000000000")));
        assert!(!may_load(&status("0000000000000000")));
        assert!(!may_load(&status("rubbish")));
        assert!(!may_load(""));
    }
}
