//! The output of a scheduler: a file per container, and the file before it. Called by `task`.
//!
//! ```text
//! scheduler ─2 pipes─▶ log_writer ─▶ bounded_file ─▶ ID.log, ID.log.1 ─▶ reader ─▶ task
//!                      (a process that containerd's shim starts)
//! ```
//!
//! Containers that an older schedctl started have a file without times, which their shim writes:
//! the reader knows both.

pub(super) mod bounded_file;
pub(super) mod entry;
pub(super) mod lines;
mod reader;

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(super) use self::reader::{LineTimes, LogReader};
use crate::driver::DriverError;

#[derive(Clone, Debug)]
pub(super) struct Log {
    path: PathBuf,
}

impl Log {
    /// Container ids are file names: containerd allows nothing else in them.
    pub(super) fn of(folder: &Path, id: &str) -> Self {
        let path = folder.join(format!("{id}.log"));
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the files with an empty one that only root can read.
    pub(super) fn reset(&self) -> Result<(), DriverError> {
        let reset = || {
            let folder = self.path.parent().unwrap_or(Path::new("/"));
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            check_owner(folder)?;
            self.remove_files()?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let file = options.open(&self.path)?;
            file.set_permissions(Permissions::from_mode(0o600))
        };
        reset().map_err(|source| self.failed(source))
    }

    /// Reads from the beginning of what is kept.
    pub(super) fn reader(&self, times: LineTimes) -> LogReader {
        LogReader::new(&self.path, times)
    }

    /// Missing files are no error.
    pub(super) fn remove(&self) -> Result<(), DriverError> {
        self.remove_files().map_err(|source| self.failed(source))
    }

    fn remove_files(&self) -> io::Result<()> {
        for path in [&self.path, &bounded_file::before(&self.path)] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a log writer still has the file: the process has exited, and its final output may not
    /// have been written yet.
    pub(super) fn is_written(&self) -> bool {
        let locked = File::open(&self.path).map(|file| file.try_lock_shared());
        matches!(locked, Ok(Err(TryLockError::WouldBlock)))
    }

    pub(super) fn failed(&self, source: io::Error) -> DriverError {
        let path = self.path.clone();
        DriverError::Log { path, source }
    }
}

/// The log writer, which is root, writes to a path in this folder: whoever else may write to the
/// folder could put a link there.
fn check_owner(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let ours = rustix::process::geteuid().as_raw();
    if found.is_dir() && found.uid() == ours && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let folder = folder.display();
    Err(io::Error::other(format!(
        "{folder} is no directory of this user, or others may write to it: remove it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_start_empties_the_log_and_a_removal_removes_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("logs");
        let log = Log::of(&folder, "a");
        log.reset().unwrap();
        fs::write(&log.path, "one").unwrap();
        fs::write(folder.join("a.log.1"), "zero").unwrap();
        log.reset().unwrap();
        assert_eq!(fs::read(&log.path).unwrap(), b"");
        assert!(!folder.join("a.log.1").exists());
        let mode = fs::metadata(&log.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(folder.join("a.log.1"), "zero").unwrap();
        log.remove().unwrap();
        log.remove().unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_others_may_change_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("logs");
        let log = Log::of(&folder, "a");
        fs::create_dir(&folder).unwrap();
        for mode in [0o777, 0o770, 0o1777] {
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            let DriverError::Log { source, .. } = log.reset().unwrap_err() else {
                panic!("another error");
            };
            assert!(
                source.to_string().contains("others may write to it"),
                "{source}"
            );
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        log.reset().unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(Log::of(&link, "a").reset().is_err());
    }

    #[test]
    fn a_writer_holds_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::of(folder.path(), "a");
        assert!(!log.is_written());
        log.reset().unwrap();
        assert!(!log.is_written());
        let file = File::open(&log.path).unwrap();
        file.lock().unwrap();
        assert!(log.is_written());
        drop(file);
        assert!(!log.is_written());
    }
}
