//! Whether a process holds a scheduler, from its open file descriptors.
//!
//! ```text
//! /proc/PID/fdinfo/N      link_type:  struct_ops     a scheduler is loaded through such a link
//! /proc/PID/task/PID/children                        the processes that it started count, too
//! ```
//!
//! `schedctl status` uses it when names do not identify the owner. A link does not prove that the
//! scheduler is attached: after an ejection the process still has it. Needs root.

use std::fs;
use std::io;
use std::path::Path;

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

/// A scheduler has dozens of descriptors.
const MAX_DESCRIPTORS: usize = 4096;
const MAX_PROCESSES: usize = 64;
const LIMIT: usize = 16 * 1024;

/// Whether this process, or one that it started, has a struct_ops link. Absent when there is no such
/// process.
pub fn holds(root: &HostRoot, pid: u32) -> Fact<bool> {
    let mut waiting = vec![pid];
    let mut read = 0;
    let mut result = None;
    while let Some(pid) = waiting.pop() {
        read += 1;
        if read > MAX_PROCESSES {
            break;
        }
        match has_link(&root.path(&format!("/proc/{pid}/fdinfo"))) {
            Fact::Known(true) => return Fact::Known(true),
            // Only the first process must be readable: its children come and go.
            other => result.get_or_insert(other),
        };
        waiting.extend(children(root, pid));
    }
    result.unwrap_or(Fact::Absent)
}

fn has_link(folder: &Path) -> Fact<bool> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Fact::Absent,
        Err(error) => return Fact::Unreadable(error.to_string()),
    };
    let held = entries.flatten().take(MAX_DESCRIPTORS).any(|entry| {
        // A descriptor that was closed meanwhile has no link.
        let text = small_file::text(&entry.path(), LIMIT);
        text.known().is_some_and(|text| is_struct_ops_link(text))
    });
    Fact::Known(held)
}

fn is_struct_ops_link(fdinfo: &str) -> bool {
    fdinfo.lines().any(|line| {
        let field = line.split_once(':');
        field.is_some_and(|(name, value)| name == "link_type" && value.trim() == "struct_ops")
    })
}

fn children(root: &HostRoot, pid: u32) -> Vec<u32> {
    let path = root.path(&format!("/proc/{pid}/task/{pid}/children"));
    let text = small_file::text(&path, LIMIT);
    let text = text.known().map(String::as_str).unwrap_or_default();
    let pids = text.split_whitespace().take(MAX_PROCESSES);
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "pos:\t0\nflags:\t02000002\nlink_type:\tstruct_ops\nlink_id:\t7\n";
    const OTHER: &str = "pos:\t0\nlink_type:\ttracing\nprog_tag:\t00\n";

    fn process(folder: &Path, pid: u32, descriptors: &[&str], children: &str) {
        let info = folder.join(format!("proc/{pid}/fdinfo"));
        let task = folder.join(format!("proc/{pid}/task/{pid}"));
        fs::create_dir_all(&info).unwrap();
        fs::create_dir_all(&task).unwrap();
        for (number, text) in descriptors.iter().enumerate() {
            fs::write(info.join(number.to_string()), text).unwrap();
        }
        fs::write(task.join("children"), children).unwrap();
    }

    #[test]
    fn a_link_is_found_in_the_process_or_in_its_children() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), 1, &[OTHER, LINK], "");
        process(folder.path(), 2, &[OTHER], "");
        process(folder.path(), 3, &[OTHER], "2 1 ");
        process(
            folder.path(),
            4,
            &["struct_ops", "link_type: struct_ops_map"],
            "",
        );
        process(folder.path(), 5, &[], "5");
        let root = HostRoot::at(folder.path());
        for (pid, held) in [(1, true), (2, false), (3, true), (4, false), (5, false)] {
            assert_eq!(holds(&root, pid), Fact::Known(held), "{pid}");
        }
        assert_eq!(holds(&root, 6), Fact::Absent);
    }

    #[test]
    fn this_process_holds_none() {
        assert_eq!(
            holds(&HostRoot::system(), std::process::id()),
            Fact::Known(false)
        );
    }
}
