//! Others on this machine who start schedulers by themselves: the scx project's loader and its
//! system service.
//!
//! A process is known by its name in `/proc`, a service by its control group, which is there only
//! while the service runs. Nobody is asked and nothing is stopped.

use std::fs;

use serde::Serialize;

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

const PROCESSES: &[&str] = &["scx_loader"];
const SERVICES: &[&str] = &["scx.service", "scx_loader.service"];
/// Where systemd keeps its groups, with version 2 and in the two mixtures with version 1.
const SLICES: &[&str] = &[
    "/sys/fs/cgroup/system.slice",
    "/sys/fs/cgroup/unified/system.slice",
    "/sys/fs/cgroup/systemd/system.slice",
];
/// Looking at more processes than this would take too long; a machine that has them is rare.
const MOST_PROCESSES: usize = 100_000;
const MOST_RIVALS: usize = 16;
/// A process's name has 15 characters, a kernel thread's 63.
const COMM: usize = 256;

/// Somebody else who may attach or detach a scheduler at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Rival {
    /// A running process.
    Process {
        /// Its number.
        pid: u32,
        /// Its name.
        name: &'static str,
    },
    /// A running system service.
    Service {
        /// Its unit.
        name: &'static str,
    },
}

/// All that run now; nothing where neither `/proc` nor control groups can be read.
pub fn read(root: &HostRoot) -> Vec<Rival> {
    let mut rivals: Vec<Rival> = services(root);
    rivals.extend(processes(root));
    rivals.truncate(MOST_RIVALS);
    rivals
}

fn services(root: &HostRoot) -> Vec<Rival> {
    let runs = |name: &&&str| {
        SLICES.iter().any(|slice| {
            small_file::folder(&root.path(&format!("{slice}/{name}"))) == Fact::Known(())
        })
    };
    let running = SERVICES.iter().filter(runs);
    running.map(|name| Rival::Service { name }).collect()
}

fn processes(root: &HostRoot) -> Vec<Rival> {
    let Ok(entries) = fs::read_dir(root.path("/proc")) else {
        return Vec::new();
    };
    let mut pids: Vec<u32> = entries
        .take(MOST_PROCESSES)
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    let rival = |pid: u32| {
        let comm = small_file::text(&root.path(&format!("/proc/{pid}/comm")), COMM);
        let name = manager(comm.known()?)?;
        Some(Rival::Process { pid, name })
    };
    pids.into_iter()
        .filter_map(rival)
        .take(MOST_RIVALS)
        .collect()
}

/// Which manager a process's name belongs to.
fn manager(comm: &str) -> Option<&'static str> {
    PROCESSES
        .iter()
        .find(|name| comm.trim_end_matches('\n') == **name)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_count() {
        assert_eq!(manager("scx_loader\n"), Some("scx_loader"));
        for comm in ["scx_loader2\n", "scx_lavd\n", "", " scx_loader\n"] {
            assert_eq!(manager(comm), None, "{comm:?}");
        }
    }
}
