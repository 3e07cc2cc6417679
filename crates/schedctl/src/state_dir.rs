//! The directory for what must outlive a run but not a reboot: locks, the trial, and whether a trial's
//! guard runs. `/run` may outlive a reboot, so its files know their boot.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use schedkit_host::HostRoot;
use schedkit_host::kernel::KernelInfo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use crate::atomic_file;

const LOCK: &str = "lock";
const GUARD: &str = "guard";
const BOOT_SELECTION: &str = "boot-selection";
/// Longer than a guard takes for one attempt to go back.
const LOCK_TIMEOUT: Duration = Duration::from_secs(180);
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// `/run/schedctl`, except in tests.
#[derive(Debug, Clone)]
pub(crate) struct StateDir {
    path: PathBuf,
    /// `None` if it is unknown.
    boot_id: Option<String>,
}

/// A file lock; the kernel releases it when its process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

/// Whether the guard of a trial runs, by the lock that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GuardProcess {
    Running,
    Gone,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    #[error("{} cannot be used: run this command as root", .0.display())]
    Permission(PathBuf),
    #[error("{} cannot be used", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} was not written by schedctl: remove it", path.display())]
    Invalid {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// Its guard will end it.
    #[error("{} is of a trial that another version of schedctl runs: wait for its end, or remove the file to keep what runs", path.display())]
    OtherTrial {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// Another user could have written what schedctl would trust.
    #[error("{} does not belong to this user, or others may write to it: remove it", .0.display())]
    Untrusted(PathBuf),
    #[error("another schedctl has held the lock for {} s: stop it, then try again", LOCK_TIMEOUT.as_secs())]
    Busy,
}

impl StateDir {
    pub(crate) fn system() -> Self {
        let boot_id = KernelInfo::read(&HostRoot::system()).boot_id;
        Self {
            boot_id: boot_id.known().cloned(),
            ..Self::at("/run/schedctl")
        }
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            boot_id: None,
        }
    }

    pub(crate) fn boot_id(&self) -> Option<&str> {
        self.boot_id.as_deref()
    }

    /// Whether something that was saved is of this boot. If either is unknown, it counts as such.
    pub(crate) fn is_this_boot(&self, boot_id: Option<&str>) -> bool {
        let ids = boot_id.zip(self.boot_id());
        ids.is_none_or(|(then, now)| then == now)
    }

    #[cfg(test)]
    pub(crate) fn of_boot(self, boot_id: &str) -> Self {
        let boot_id = Some(boot_id.to_owned());
        Self { boot_id, ..self }
    }

    /// Held while something is changed; waits for other schedctl processes.
    pub(crate) async fn lock(&self) -> Result<Lock, StateError> {
        until_free(|| self.try_lock()).await
    }

    /// Held while it is changed what starts at boot. It is another lock, so that nobody waits for a
    /// scheduler to be attached in order to disable it.
    pub(crate) async fn lock_boot_selection(&self) -> Result<Lock, StateError> {
        let operation = FlockOperation::NonBlockingLockExclusive;
        until_free(|| self.flock(BOOT_SELECTION, operation)).await
    }

    /// `None` if another process holds the lock.
    pub(crate) fn try_lock(&self) -> Result<Option<Lock>, StateError> {
        let lock = self.flock(LOCK, FlockOperation::NonBlockingLockExclusive)?;
        if let Some(Lock { file }) = &lock {
            // Only for a message to those who wait.
            let pid = std::process::id().to_string();
            let _ = file
                .set_len(0)
                .and_then(|()| { file }.write_all(pid.as_bytes()));
        }
        Ok(lock)
    }

    /// The process that holds the lock, or held it last.
    pub(crate) fn lock_holder(&self) -> Option<u32> {
        fs::read_to_string(self.path.join(LOCK)).ok()?.parse().ok()
    }

    /// The lock that a guard holds while it runs. Several guards may hold it.
    pub(crate) fn guard_lock(&self) -> Result<Option<Lock>, StateError> {
        // `guard` takes it exclusively, but only for a moment.
        self.flock(GUARD, FlockOperation::LockShared)
    }

    pub(crate) fn guard(&self) -> Result<GuardProcess, StateError> {
        let exclusive = self.flock(GUARD, FlockOperation::NonBlockingLockExclusive)?;
        Ok(exclusive.map_or(GuardProcess::Running, |_| GuardProcess::Gone))
    }

    fn flock(&self, name: &str, operation: FlockOperation) -> Result<Option<Lock>, StateError> {
        self.create()?;
        let path = self.path.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options
            .open(&path)
            .map_err(|error| io_error(&path, error))?;
        match flock(&file, operation) {
            Ok(()) => Ok(Some(Lock { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(io_error(&path, error.into())),
        }
    }

    /// An empty file to write to.
    pub(crate) fn create_file(&self, name: &str) -> Result<File, StateError> {
        self.create()?;
        let path = self.path.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&path).map_err(|error| io_error(&path, error))
    }

    /// `None` if there is no such file.
    pub(crate) fn load<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let path = self.path.join(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&path, error)),
        };
        self.check_owner()?;
        let value = serde_json::from_slice(&bytes);
        value
            .map(Some)
            .map_err(|source| StateError::Invalid { path, source })
    }

    /// Writes a file atomically.
    pub(crate) fn save(&self, name: &str, value: &impl Serialize) -> Result<(), StateError> {
        self.create()?;
        let path = self.path.join(name);
        let bytes = serde_json::to_vec(value).map_err(io::Error::from);
        let written = bytes.and_then(|bytes| atomic_file::write(&path, &bytes, 0o600));
        written.map_err(|error| io_error(&path, error))
    }

    /// Succeeds if there is no such file.
    pub(crate) fn delete(&self, name: &str) -> Result<(), StateError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error(&path, error)),
            _ => Ok(()),
        }
    }

    fn create(&self) -> Result<(), StateError> {
        let mut builder = DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(&self.path);
        created.map_err(|error| io_error(&self.path, error))?;
        self.check_owner()
    }

    fn check_owner(&self) -> Result<(), StateError> {
        let folder =
            fs::symlink_metadata(&self.path).map_err(|error| io_error(&self.path, error))?;
        let user = rustix::process::geteuid().as_raw();
        let is_safe = folder.is_dir() && folder.mode() & 0o022 == 0;
        match folder.uid() {
            owner if is_safe && owner == user => Ok(()),
            // root's, and this user is somebody else.
            0 if is_safe => Err(StateError::Permission(self.path.clone())),
            _ => Err(StateError::Untrusted(self.path.clone())),
        }
    }
}

async fn until_free(
    try_lock: impl Fn() -> Result<Option<Lock>, StateError>,
) -> Result<Lock, StateError> {
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        if let Some(lock) = try_lock()? {
            return Ok(lock);
        }
        if Instant::now() >= end {
            return Err(StateError::Busy);
        }
        sleep(RETRY_INTERVAL).await;
    }
}

fn io_error(path: &Path, source: io::Error) -> StateError {
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
    async fn one_process_holds_the_lock_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path().join("state"));
        let first = state.lock().await.unwrap();
        assert!(matches!(state.lock().await, Err(StateError::Busy)));
        let selection = state.lock_boot_selection().await.unwrap();
        assert!(matches!(
            state.lock_boot_selection().await,
            Err(StateError::Busy)
        ));
        drop((first, selection));
        state.lock().await.unwrap();
        state.lock_boot_selection().await.unwrap();
    }

    #[test]
    fn a_guard_is_running_until_the_last_one_ends() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        assert_eq!(state.guard().unwrap(), GuardProcess::Gone);
        let first = state.guard_lock().unwrap();
        let second = state.guard_lock().unwrap();
        assert!(first.is_some() && second.is_some());
        drop(first);
        assert_eq!(state.guard().unwrap(), GuardProcess::Running);
        drop(second);
        assert_eq!(state.guard().unwrap(), GuardProcess::Gone);
    }

    #[test]
    fn a_saved_file_is_read_back_and_can_be_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        assert_eq!(state.load::<Vec<u8>>("x").unwrap(), None);
        state.save("x", &vec![1, 2]).unwrap();
        assert_eq!(state.load::<Vec<u8>>("x").unwrap(), Some(vec![1, 2]));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        state.delete("x").unwrap();
        state.delete("x").unwrap();
        assert_eq!(state.load::<Vec<u8>>("x").unwrap(), None);
    }

    #[test]
    fn a_file_that_cannot_be_saved_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        fs::create_dir(folder.path().join("x")).unwrap();
        state.save("x", &1).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        state.save("x", &1).unwrap();
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), rights).unwrap();
        assert!(matches!(
            state.load::<u8>("x"),
            Err(StateError::Untrusted(_))
        ));
        assert!(matches!(state.save("x", &1), Err(StateError::Untrusted(_))));
    }

    #[test]
    fn an_invalid_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "{").unwrap();
        let error = StateDir::at(folder.path()).load::<u8>("x").unwrap_err();
        assert!(matches!(error, StateError::Invalid { .. }), "{error}");
    }
}
