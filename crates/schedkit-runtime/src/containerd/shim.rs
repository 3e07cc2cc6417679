//! The process that containerd starts for each container, the shim. containerd forgets one whose
//! maker is cut off before the shim has told where it listens; then nobody but us ends it.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::NAMESPACE;
use crate::container::ContainerId;

/// As much of its name as the kernel keeps.
const PROGRAM: &[u8] = b"containerd-shim";
/// What containerd has the same program do beside serving; `delete` tidies up after a dead shim.
const ERRANDS: [&[u8]; 2] = [b"start", b"delete"];

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
        // A command line can be read only when its process is not busy with its memory.
        let is_it = || {
            let name = fs::read(process.path().join("comm"));
            name.is_ok_and(|name| name.trim_ascii_end() == PROGRAM)
                && fs::read(process.path().join("cmdline")).is_ok_and(|line| serves(&line, id))
        };
        // Held before it is looked at a second time: a number may have passed to another process.
        if is_it()
            && let Ok(held) = pidfd_open(pid, PidfdFlags::empty())
            && is_it()
        {
            let _ = pidfd_send_signal(held, Signal::KILL);
        }
    }
}

/// Whether a command line of the program is that of a container's shim.
fn serves(line: &[u8], id: &ContainerId) -> bool {
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let says = |name: &str, value: &str| {
        let pair = [name.as_bytes(), value.as_bytes()];
        words.windows(2).any(|words| words == pair)
    };
    let errand = words.iter().any(|word| ERRANDS.contains(word));
    says("-namespace", NAMESPACE) && says("-id", id.as_str()) && !errand
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
            let words = line.replace(' ', "\0");
            assert_eq!(serves(words.as_bytes(), &id), expected, "{line}");
        }
    }
}
