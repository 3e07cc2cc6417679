//! The folder of what must outlive a run and need not outlive the machine's: a lock, a trial, and
//! whether somebody stands by.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

const LOCK: &str = "lock";
const GUARD: &str = "guard";
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// The folder, `/run/schedctl` outside of tests.
#[derive(Debug, Clone)]
pub(crate) struct StateDir(PathBuf);

/// Held while something is changed; gone with its holder, also when that is killed.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Whether somebody who stands by is there; told by a lock of theirs, which goes with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// One at least.
    There,
    /// Nobody.
    Gone,
}

/// What went wrong with the folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    /// We may not.
    #[error("{} cannot be used: schedctl changes what runs on this machine only as root", .0.display())]
    Permission(PathBuf),
    /// The system said no.
    #[error("{} cannot be used", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody wrote something else there.
    #[error("{} is not what schedctl wrote there: remove it", path.display())]
    Strange {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Somebody else made the folder, and could write there what we believe.
    #[error("{} does not belong to this user: remove it", .0.display())]
    NotOurs(PathBuf),
    /// Somebody else is at it, for too long.
    #[error("another schedctl has been at work for {} s: end it, then try again", PATIENCE.as_secs())]
    Busy,
}

impl StateDir {
    /// The usual one.
    pub(crate) fn system() -> Self {
        Self::at("/run/schedctl")
    }

    /// Another one.
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Waits until nobody else changes anything.
    pub(crate) async fn lock(&self) -> Result<Lock, StateError> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(lock) = self.try_lock()? {
                return Ok(lock);
            }
            if Instant::now() >= end {
                return Err(StateError::Busy);
            }
            sleep(PAUSE).await;
        }
    }

    /// The same without waiting; nothing when somebody else changes something.
    pub(crate) fn try_lock(&self) -> Result<Option<Lock>, StateError> {
        self.flock(LOCK, FlockOperation::NonBlockingLockExclusive)
    }

    /// Says that somebody stands by, as long as this is held. Several may.
    pub(crate) fn stand_by(&self) -> Result<Option<Lock>, StateError> {
        // Who asks whether somebody is there holds it alone, and only for a moment.
        self.flock(GUARD, FlockOperation::LockShared)
    }

    /// Whether somebody stands by. Asked under the lock.
    pub(crate) fn guard(&self) -> Result<Presence, StateError> {
        let alone = self.flock(GUARD, FlockOperation::NonBlockingLockExclusive)?;
        Ok(alone.map_or(Presence::There, |_| Presence::Gone))
    }

    fn flock(&self, name: &str, how: FlockOperation) -> Result<Option<Lock>, StateError> {
        self.make()?;
        let path = self.0.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(|error| trouble(&path, error))?;
        match flock(&file, how) {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(trouble(&path, error.into())),
        }
    }

    /// What was kept under a name; nothing when nothing was.
    pub(crate) fn load<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let path = self.0.join(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(trouble(&path, error)),
        };
        self.ours()?;
        let value = serde_json::from_slice(&bytes);
        value
            .map(Some)
            .map_err(|source| StateError::Strange { path, source })
    }

    /// Keeps something under a name, whole or not at all.
    pub(crate) fn keep(&self, name: &str, value: &impl Serialize) -> Result<(), StateError> {
        self.make()?;
        let path = self.0.join(name);
        let draft = self.0.join(format!("{name}.{}", std::process::id()));
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&draft)?;
            file.write_all(&serde_json::to_vec(value)?)?;
            fs::rename(&draft, &path)
        };
        write().map_err(|error| trouble(&path, error))
    }

    /// Forgets what was kept under a name.
    pub(crate) fn forget(&self, name: &str) -> Result<(), StateError> {
        let path = self.0.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(trouble(&path, error)),
            _ => Ok(()),
        }
    }

    fn make(&self) -> Result<(), StateError> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.0);
        made.map_err(|error| trouble(&self.0, error))?;
        self.ours()
    }

    fn ours(&self) -> Result<(), StateError> {
        let folder = fs::symlink_metadata(&self.0).map_err(|error| trouble(&self.0, error))?;
        let us = rustix::process::geteuid().as_raw();
        match folder.is_dir() && folder.uid() == us && folder.mode() & 0o022 == 0 {
            true => Ok(()),
            false => Err(StateError::NotOurs(self.0.clone())),
        }
    }
}

fn trouble(path: &Path, source: io::Error) -> StateError {
    let path = path.to_owned();
    if source.kind() == ErrorKind::PermissionDenied {
        StateError::Permission(path)
    } else {
        StateError::Io { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_one_changes_things_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path().join("state"));
        let first = state.lock().await.unwrap();
        assert!(matches!(state.lock().await, Err(StateError::Busy)));
        drop(first);
        state.lock().await.unwrap();
    }

    #[test]
    fn who_stands_by_is_seen_until_the_last_one_goes() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        assert_eq!(state.guard().unwrap(), Presence::Gone);
        let first = state.stand_by().unwrap();
        let second = state.stand_by().unwrap();
        assert!(first.is_some() && second.is_some());
        drop(first);
        assert_eq!(state.guard().unwrap(), Presence::There);
        drop(second);
        assert_eq!(state.guard().unwrap(), Presence::Gone);
    }

    #[test]
    fn what_is_kept_comes_back_and_can_be_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        assert_eq!(state.load::<Vec<u8>>("x").unwrap(), None);
        state.keep("x", &vec![1, 2]).unwrap();
        assert_eq!(state.load::<Vec<u8>>("x").unwrap(), Some(vec![1, 2]));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        state.forget("x").unwrap();
        state.forget("x").unwrap();
        assert_eq!(state.load::<Vec<u8>>("x").unwrap(), None);
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        state.keep("x", &1).unwrap();
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), rights).unwrap();
        assert!(matches!(state.load::<u8>("x"), Err(StateError::NotOurs(_))));
        assert!(matches!(state.keep("x", &1), Err(StateError::NotOurs(_))));
    }

    #[test]
    fn what_somebody_else_wrote_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "{").unwrap();
        let said = StateDir::at(folder.path()).load::<u8>("x").unwrap_err();
        assert!(matches!(said, StateError::Strange { .. }), "{said}");
    }
}
