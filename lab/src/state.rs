//! The folder of one lab's state, and the description of the lab that is written there.
//!
//! ```text
//! .lab/<name>/lock             locked by the supervisor, whose process number is in it; unlocked: no lab runs
//! .lab/<name>/lab.json         addresses, files and nodes (RunningLab), written when the lab is ready
//! .lab/<name>/kubeconfig       for kubectl
//! .lab/<name>/supervisor.log   the supervisor's own log
//! .lab/<name>/logs/            control plane, registry, consoles of the nodes
//! .lab/<name>/…                sockets, keys, the API server's data: deleted by the next `lab up`
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::signing::Tools;
use crate::topology::Topology;

/// Addresses, files and nodes of a running lab, as `lab.json` has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningLab {
    pub name: String,
    pub topology: Topology,
    pub kubeconfig: Option<PathBuf>,
    /// The `kubectl` program of the API server's version.
    pub kubectl: Option<PathBuf>,
    /// The registry's address on this machine.
    pub registry: String,
    /// The registry's address on the nodes.
    pub registry_on_nodes: String,
    /// The address on this machine of the registry with the referrers API.
    pub referrers_registry: Option<String>,
    /// cosign and the private Sigstore, if the lab has them.
    pub tools: Option<Tools>,
    pub nodes: Vec<RunningNode>,
}

/// One virtual machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningNode {
    /// Host name of the virtual machine, and name of the Kubernetes Node.
    pub name: String,
    /// Its address in the lab's network namespace.
    pub ip: Ipv4Addr,
    /// The kernel release that it booted.
    pub kernel: String,
}

/// The state folder of one lab.
#[derive(Clone, Debug)]
pub struct State {
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "the lab {name:?} runs already: use it, end it with `lab --name {name} down`, or choose another --name"
    )]
    Running { name: String },
    #[error("no lab {name:?} runs here: start one with `lab --name {name} up`")]
    NotRunning { name: String },
    /// The supervisor runs and has not written `lab.json` yet.
    #[error(
        "the lab {name:?} is not ready yet: wait for its `lab up`, or end it with `lab --name {name} down`"
    )]
    NotReady { name: String },
    #[error("cannot read or write {path}: check its owner and that the disk is not full")]
    Io { path: PathBuf, source: io::Error },
}

impl State {
    /// The folder need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The log of one of the lab's processes.
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{name}.log"))
    }

    /// Locks the folder for a new lab, empties it and writes the supervisor's process number. The
    /// lock holds until the file is dropped or the process ends.
    pub fn lock(&self, supervisor_pid: i32) -> Result<File, StateError> {
        let path = self.path("lock");
        let file = self.at(&path, || {
            fs::create_dir_all(&self.folder)?;
            File::options().create(true).append(true).open(&path)
        })?;
        // `is_locked`, and a lab that is just ending, hold the lock for a moment.
        let locked = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !retry_for_a_second(locked) {
            return Err(StateError::Running { name: self.name() });
        }
        self.at(&path, || {
            file.set_len(0)?;
            write!(&file, "{supervisor_pid}")
        })?;
        // The old lab's processes end a moment after the lock is free, and may still write.
        retry_for_a_second(|| self.clear().is_ok());
        self.at(&self.folder, || self.clear())?;
        Ok(file)
    }

    /// The supervisor's process number outside of its PID namespace.
    pub fn supervisor_pid(&self) -> Result<i32, StateError> {
        let path = self.path("lock");
        if !self.is_locked() {
            return Err(StateError::NotRunning { name: self.name() });
        }
        let text = self.at(&path, || fs::read_to_string(&path))?;
        text.parse()
            .map_err(|_| StateError::NotReady { name: self.name() })
    }

    /// Whether a supervisor runs.
    pub fn is_locked(&self) -> bool {
        File::open(self.path("lock"))
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }

    pub fn running(&self) -> Result<RunningLab, StateError> {
        if !self.is_locked() {
            return Err(StateError::NotRunning { name: self.name() });
        }
        let path = self.path("lab.json");
        if !path.exists() {
            return Err(StateError::NotReady { name: self.name() });
        }
        self.at(&path, || Ok(serde_json::from_slice(&fs::read(&path)?)?))
    }

    /// Writes `lab.json`, by rename.
    pub fn publish(&self, lab: &RunningLab) -> Result<(), StateError> {
        let path = self.path("lab.json");
        self.at(&path, || {
            let draft = self.path("lab.json.new");
            fs::write(&draft, serde_json::to_vec_pretty(lab)?)?;
            fs::rename(&draft, &path)
        })
    }

    /// Deletes everything but the files that the new supervisor has open: its lock and its log.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name() == "lock" || entry.file_name() == "supervisor.log" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    fn name(&self) -> String {
        self.folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    fn at<T>(&self, path: &Path, work: impl FnOnce() -> io::Result<T>) -> Result<T, StateError> {
        work().map_err(|source| StateError::Io {
            path: path.to_owned(),
            source,
        })
    }
}

fn retry_for_a_second(mut attempt: impl FnMut() -> bool) -> bool {
    (0..20).any(|_| {
        let done = attempt();
        if !done {
            std::thread::sleep(Duration::from_millis(50));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_lab_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("mine"));
        assert!(matches!(
            state.running(),
            Err(StateError::NotRunning { .. })
        ));
        let lock = state.lock(42).unwrap();
        assert!(matches!(state.lock(43), Err(StateError::Running { name }) if name == "mine"));
        assert!(matches!(state.running(), Err(StateError::NotReady { .. })));
        assert_eq!(state.supervisor_pid().unwrap(), 42);
        drop(lock);
        assert!(matches!(
            state.supervisor_pid(),
            Err(StateError::NotRunning { .. })
        ));
        assert!(matches!(
            state.running(),
            Err(StateError::NotRunning { .. })
        ));
        state.lock(42).unwrap();
    }

    #[test]
    fn a_new_lab_deletes_the_state_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().to_owned());
        fs::create_dir(state.path("etcd")).unwrap();
        fs::write(state.path("lab.json"), "{}").unwrap();
        let _lock = state.lock(42).unwrap();
        assert!(!state.path("etcd").exists());
        assert!(!state.path("lab.json").exists());
    }
}
