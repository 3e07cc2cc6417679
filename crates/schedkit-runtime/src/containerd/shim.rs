//! The process that containerd starts for each container. It forgets one whose maker is cut off
//! before that process has told where it listens, and then nobody but us ends it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::NAMESPACE;
use crate::container::ContainerId;

const PROGRAM: &[u8] = b"containerd-shim";

/// Ends what was started for a container of which containerd knows no process. What cannot be seen
/// or ended stays: it does nothing but wait.
pub(super) fn end_forgotten(id: &ContainerId) {
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
        let is_it = || fs::read(process.path().join("cmdline")).is_ok_and(|line| serves(&line, id));
        // Held before it is looked at a second time: a number may have passed to another process.
        if is_it()
            && let Ok(held) = pidfd_open(pid, PidfdFlags::empty())
            && is_it()
        {
            let _ = pidfd_send_signal(held, Signal::KILL);
        }
    }
}

/// Whether a command line is that of a container's shim.
fn serves(line: &[u8], id: &ContainerId) -> bool {
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let program = words.first().map(|word| Path::new(OsStr::from_bytes(word)));
    let program = program.and_then(Path::file_name).unwrap_or_default();
    let says = |name: &str, value: &str| {
        let pair = [name.as_bytes(), value.as_bytes()];
        words.windows(2).any(|words| words == pair)
    };
    program.as_bytes().starts_with(PROGRAM)
        && says("-namespace", NAMESPACE)
        && says("-id", id.as_str())
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
            (line.replace("containerd-shim-runc-v2", "grep"), false),
            (format!("grep {line}"), false),
            (String::new(), false),
        ] {
            let words = line.replace(' ', "\0");
            assert_eq!(serves(words.as_bytes(), &id), expected, "{line}");
        }
    }
}
