//! Other managers on this machine that start schedulers: the scx project's loader and its system
//! service.
//!
//! A process is found by its name in `/proc`, a service by its cgroup, which exists only while the
//! service runs.

use std::fs;

use serde::Serialize;

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const PROCESSES: &[&str] = &["scx_loader"];
const SERVICES: &[&str] = &["scx.service", "scx_loader.service"];
/// systemd's cgroups, with cgroup v2 and in the two hybrid layouts with v1.
const SLICES: &[&str] = &[
    "/sys/fs/cgroup/system.slice",
    "/sys/fs/cgroup/unified/system.slice",
    "/sys/fs/cgroup/systemd/system.slice",
];
/// Reading more processes than this would take too long.
const MAX_PROCESSES: usize = 100_000;
const MAX_FOUND: usize = 16;
/// The name of a process has up to 15 characters, that of a kernel thread 63.
const MAX_NAME: usize = 256;

/// A program that may attach or detach a scheduler at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum OtherManager {
    Process {
        pid: u32,
        name: &'static str,
    },
    /// A systemd unit.
    Service {
        name: &'static str,
    },
}

/// Those that run now; empty where neither `/proc` nor cgroups can be read.
pub fn read(root: &HostRoot) -> Vec<OtherManager> {
    let mut managers = services(root);
    managers.extend(processes(root));
    managers.truncate(MAX_FOUND);
    managers
}

fn services(root: &HostRoot) -> Vec<OtherManager> {
    let is_running = |name: &&&str| {
        SLICES.iter().any(|slice| {
            small_file::folder(&root.path(&format!("{slice}/{name}"))) == Fact::Known(())
        })
    };
    let running = SERVICES.iter().filter(is_running);
    running.map(|name| OtherManager::Service { name }).collect()
}

fn processes(root: &HostRoot) -> Vec<OtherManager> {
    let Ok(entries) = fs::read_dir(root.path("/proc")) else {
        return Vec::new();
    };
    let mut pids: Vec<u32> = entries
        .take(MAX_PROCESSES)
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    let manager = |pid: u32| {
        let comm = small_file::text(&root.path(&format!("/proc/{pid}/comm")), MAX_NAME);
        let name = manager_name(comm.known()?)?;
        Some(OtherManager::Process { pid, name })
    };
    pids.into_iter()
        .filter_map(manager)
        .take(MAX_FOUND)
        .collect()
}

/// The manager that has this process name.
fn manager_name(comm: &str) -> Option<&'static str> {
    PROCESSES
        .iter()
        .find(|name| comm.trim_end_matches('\n') == **name)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_match() {
        assert_eq!(manager_name("scx_loader\n"), Some("scx_loader"));
        for comm in ["scx_loader2\n", "scx_lavd\n", "", " scx_loader\n"] {
            assert_eq!(manager_name(comm), None, "{comm:?}");
        }
    }
}
