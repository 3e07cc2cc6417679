//! Whether a process holds a scheduler: what its open descriptors say of themselves.
//!
//! ```text
//! /proc/PID/fdinfo/N      link_type:  struct_ops     a scheduler is loaded through such a link
//! /proc/PID/task/PID/children                        a wrapper's scheduler counts as its own
//! ```
//!
//! `schedctl status` asks when names do not tell. A link that is held is not proof of being
//! attached: the kernel throws schedulers out and leaves them the link. It says that the process
//! is, or was until a moment ago, one. Needs the right to look into the process (root).

use std::fs;
use std::io;
use std::path::Path;

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

/// A scheduler has dozens of descriptors; what has more than this is none.
const MOST_DESCRIPTORS: usize = 4096;
const MOST_PROCESSES: usize = 64;
const LIMIT: usize = 16 * 1024;

/// Whether this process, or one that it started, does. Absent when there is no such process.
pub fn holds(root: &HostRoot, pid: u32) -> Fact<bool> {
    let mut waiting = vec![pid];
    let mut seen = 0;
    let mut answer = None;
    while let Some(pid) = waiting.pop() {
        seen += 1;
        if seen > MOST_PROCESSES {
            break;
        }
        match of_one(&root.path(&format!("/proc/{pid}/fdinfo"))) {
            Fact::Known(true) => return Fact::Known(true),
            // Those that it started come and go; only the first must be readable.
            other => answer.get_or_insert(other),
        };
        waiting.extend(children(root, pid));
    }
    answer.unwrap_or(Fact::Absent)
}

fn of_one(folder: &Path) -> Fact<bool> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Fact::Absent,
        Err(error) => return Fact::Unreadable(error.to_string()),
    };
    let held = entries.flatten().take(MOST_DESCRIPTORS).any(|entry| {
        // A descriptor that is closed meanwhile holds nothing.
        let text = small_file::text(&entry.path(), LIMIT);
        text.known().is_some_and(|text| is_scheduler(text))
    });
    Fact::Known(held)
}

fn is_scheduler(fdinfo: &str) -> bool {
    fdinfo.lines().any(|line| {
        let field = line.split_once(':');
        field.is_some_and(|(name, value)| name == "link_type" && value.trim() == "struct_ops")
    })
}

fn children(root: &HostRoot, pid: u32) -> Vec<u32> {
    let path = root.path(&format!("/proc/{pid}/task/{pid}/children"));
    let text = small_file::text(&path, LIMIT);
    let text = text.known().map(String::as_str).unwrap_or_default();
    let pids = text.split_whitespace().take(MOST_PROCESSES);
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
