//! The names of all capabilities in the bounding set of this process. The OCI runtime refuses to give
//! more; on a host that is not confined these are all that the kernel has.

use std::path::Path;

/// In the kernel's order. Those of newer kernels are left out: no runtime supports them yet.
const NAMES: [&str; 41] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
];

/// Reads a process's `status`. All capabilities when it cannot be read.
pub(super) fn read(status: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    parse(&text)
}

fn parse(status: &str) -> Vec<String> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapBnd:"));
    let set = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    let set = set.unwrap_or(u64::MAX);
    let has = |(bit, name): (usize, &&str)| (set >> bit & 1 == 1).then(|| (*name).to_owned());
    NAMES.iter().enumerate().filter_map(has).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounding_set_decides() {
        let all = parse("CapEff:\t0\nCapBnd:\t000001ffffffffff\n");
        assert_eq!(all, NAMES);
        // Without bit 24, as in many a sandbox.
        let less = parse("CapBnd:\t000001fffeffffff\n");
        assert_eq!(less.len(), 40);
        assert!(!less.contains(&"CAP_SYS_RESOURCE".to_owned()));
        assert!(less.contains(&"CAP_BPF".to_owned()));
        assert_eq!(parse("nonsense").len(), 41);
    }
}
