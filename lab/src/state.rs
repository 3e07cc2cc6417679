//! The folder of one running lab, and what it says about itself there.
//!
//! ```text
//! .lab/<name>/lock         held by the supervisor, whose number is in it; free means nothing runs
//! .lab/<name>/lab.json     what runs and where (RunningLab), written when ready
//! .lab/<name>/kubeconfig   for plain kubectl
//! .lab/<name>/supervisor.log   what the supervisor itself had to say
//! .lab/<name>/logs/        control plane, registry, consoles of the nodes
//! .lab/<name>/…            sockets, keys, the API server's data: gone with the next `lab up`
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

/// What runs and where; the lab's own account, written by the supervisor alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningLab {
    /// The lab's name.
    pub name: String,
    /// How much of a cluster it is.
    pub topology: Topology,
    /// Where `kubectl` finds its configuration.
    pub kubeconfig: Option<PathBuf>,
    /// The `kubectl` that fits.
    pub kubectl: Option<PathBuf>,
    /// The registry's address on this machine.
    pub registry: String,
    /// The registry's address as the nodes know it.
    pub registry_on_nodes: String,
    /// The address on this machine of the registry with the referrers API.
    pub referrers_registry: Option<String>,
    /// What signs and verifies.
    pub tools: Option<Tools>,
    /// The virtual machines.
    pub nodes: Vec<RunningNode>,
}

/// One virtual machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningNode {
    /// Its host name, and the Node's name.
    pub name: String,
    /// Its address in the lab's own network.
    pub ip: Ipv4Addr,
    /// The kernel it booted.
    pub kernel: String,
}

/// The state folder of one lab.
#[derive(Clone, Debug)]
pub struct State {
    folder: PathBuf,
}

/// Why the state folder is of no use.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another supervisor holds it.
    #[error(
        "the lab {name:?} runs already: use it, end it with `lab --name {name} down`, or choose another --name"
    )]
    Running {
        /// The lab's name.
        name: String,
    },
    /// Nothing runs there.
    #[error("no lab {name:?} runs here: start one with `lab --name {name} up`")]
    NotRunning {
        /// The lab's name.
        name: String,
    },
    /// A supervisor holds it but has not finished bringing it up.
    #[error(
        "the lab {name:?} is not ready yet: wait for its `lab up`, or end it with `lab --name {name} down`"
    )]
    NotReady {
        /// The lab's name.
        name: String,
    },
    /// The folder cannot be read or written.
    #[error("cannot use {path}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl State {
    /// The state in this folder, whether or not it exists.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// A path inside the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The log of one of the lab's processes.
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{name}.log"))
    }

    /// Takes the folder for a new lab, empties it and notes whose it is. Held until the file is
    /// dropped or its process dies.
    pub fn take(&self, supervisor_pid: i32) -> Result<File, StateError> {
        let path = self.path("lock");
        let file = self.at(&path, || {
            fs::create_dir_all(&self.folder)?;
            File::options().create(true).append(true).open(&path)
        })?;
        // A look at the lock and the last moments of an old lab hold it, too, but not for long.
        let free = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !within_a_moment(free) {
            return Err(StateError::Running { name: self.name() });
        }
        self.at(&path, || {
            file.set_len(0)?;
            write!(&file, "{supervisor_pid}")
        })?;
        // The old lab's programs die a moment after they let go, and may still write.
        within_a_moment(|| self.clear().is_ok());
        self.at(&self.folder, || self.clear())?;
        Ok(file)
    }

    /// The process that holds the folder, as this machine numbers it.
    pub fn supervisor_pid(&self) -> Result<i32, StateError> {
        let path = self.path("lock");
        if !self.is_held() {
            return Err(StateError::NotRunning { name: self.name() });
        }
        let text = self.at(&path, || fs::read_to_string(&path))?;
        text.parse()
            .map_err(|_| StateError::NotReady { name: self.name() })
    }

    /// Whether a supervisor holds the folder.
    pub fn is_held(&self) -> bool {
        File::open(self.path("lock"))
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }

    /// The lab that runs here.
    pub fn running(&self) -> Result<RunningLab, StateError> {
        if !self.is_held() {
            return Err(StateError::NotRunning { name: self.name() });
        }
        let path = self.path("lab.json");
        if !path.exists() {
            return Err(StateError::NotReady { name: self.name() });
        }
        self.at(&path, || Ok(serde_json::from_slice(&fs::read(&path)?)?))
    }

    /// Writes the lab's account of itself, whole or not at all.
    pub fn publish(&self, lab: &RunningLab) -> Result<(), StateError> {
        let path = self.path("lab.json");
        self.at(&path, || {
            let draft = self.path("lab.json.new");
            fs::write(&draft, serde_json::to_vec_pretty(lab)?)?;
            fs::rename(&draft, &path)
        })
    }

    /// Removes everything but what the new supervisor holds open: its lock and its log.
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

/// Asks again for a second until the answer is yes.
fn within_a_moment(mut ask: impl FnMut() -> bool) -> bool {
    (0..20).any(|_| {
        let yes = ask();
        if !yes {
            std::thread::sleep(Duration::from_millis(50));
        }
        yes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_has_one_lab() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("mine"));
        assert!(matches!(
            state.running(),
            Err(StateError::NotRunning { .. })
        ));
        let held = state.take(42).unwrap();
        assert!(matches!(state.take(43), Err(StateError::Running { name }) if name == "mine"));
        assert!(matches!(state.running(), Err(StateError::NotReady { .. })));
        assert_eq!(state.supervisor_pid().unwrap(), 42);
        drop(held);
        assert!(matches!(
            state.supervisor_pid(),
            Err(StateError::NotRunning { .. })
        ));
        assert!(matches!(
            state.running(),
            Err(StateError::NotRunning { .. })
        ));
        state.take(42).unwrap();
    }

    #[test]
    fn a_new_lab_finds_nothing_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().to_owned());
        fs::create_dir(state.path("etcd")).unwrap();
        fs::write(state.path("lab.json"), "{}").unwrap();
        let _held = state.take(42).unwrap();
        assert!(!state.path("etcd").exists());
        assert!(!state.path("lab.json").exists());
    }
}
