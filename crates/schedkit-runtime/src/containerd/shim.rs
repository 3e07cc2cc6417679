//! Ends shims (the process that containerd starts for each container) that containerd does not know:
//! those whose client disconnected before the shim had reported its socket.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::session::NAMESPACE;
use crate::container::ContainerId;

/// As much of its name as the kernel has in `comm`.
const PROGRAM: &[u8] = b"containerd-shim";
/// Commands of the same program that are not a running shim; `delete` cleans up after a dead one.
const COMMANDS: [&[u8]; 2] = [b"start", b"delete"];

/// Kills the shim of a container for which containerd has no task. A shim that cannot be read or
/// killed stays: it only waits.
pub(super) fn kill_orphaned(id: &ContainerId) {
    let Ok(processes) = fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        // Reading a command line blocks while its process changes its memory map.
        let is_shim = || {
            let name = fs::read(process.path().join("comm"));
            name.is_ok_and(|name| name.trim_ascii_end() == PROGRAM)
                && fs::read(process.path().join("cmdline")).is_ok_and(|line| serves(&line, id))
        };
        // Checked again through a pidfd: the pid may belong to another process now.
        if is_shim()
            && let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty())
            && is_shim()
        {
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
        }
    }
}

/// Whether this is the command line of the container's shim.
fn serves(line: &[u8], id: &ContainerId) -> bool {
    let args: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let has_flag = |name: &str, value: &str| {
        let pair = [name.as_bytes(), value.as_bytes()];
        args.windows(2).any(|args| args == pair)
    };
    let is_command = args.iter().any(|arg| COMMANDS.contains(arg));
    has_flag("-namespace", NAMESPACE) && has_flag("-id", id.as_str()) && !is_command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shim_of_this_container_serves_it() {
        let id = ContainerId::new("a-1");
        let line = "/usr/bin/containerd-shim-runc-v2 -namespace schedkit -id a-1 -address /x ";
        for (line, expected) in [
            (line.to_owned(), true),
            (line.replace("a-1", "a-12"), false),
            (line.replace("-id a-1", "-id b a-1"), false),
            (line.replace("schedkit", "k8s.io"), false),
            (format!("{line}-bundle /y delete"), false),
            (String::new(), false),
        ] {
            let args = line.replace(' ', "\0");
            assert_eq!(serves(args.as_bytes(), &id), expected, "{line}");
        }
    }
}
