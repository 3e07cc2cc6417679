//! The output of a scheduler: one file per container. Called by `task`.
//!
//! containerd's shim appends both streams to the file, so that the order of lines is kept. With the
//! same path for both, or a `file://` address, the shim opens the file once and closes it when the
//! first stream ends, and the final output of the other is lost. So it gets two spellings of one
//! path.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::driver::DriverError;

const CHUNK: usize = 64 * 1024;
const MAX_BYTES: u64 = 10 << 20;

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

    pub(super) fn stdout_path(&self) -> String {
        self.path.display().to_string()
    }

    /// The same file, spelled differently.
    pub(super) fn stderr_path(&self) -> String {
        format!("/.{}", self.path.display())
    }

    /// Replaces the file with an empty one that only root can read.
    pub(super) fn reset(&self) -> Result<(), DriverError> {
        let reset = || {
            let folder = self.path.parent().unwrap_or(Path::new("/"));
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            check_owner(folder)?;
            self.remove_file()?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let file = options.open(&self.path)?;
            file.set_permissions(Permissions::from_mode(0o600))
        };
        reset().map_err(|source| self.failed(source))
    }

    /// Reads from an offset on and returns the new offset. A missing file counts as empty: others have
    /// started the container.
    pub(super) fn read(
        &self,
        from: u64,
        on_output: &mut dyn FnMut(&[u8]),
    ) -> Result<u64, DriverError> {
        self.try_read(from, on_output)
            .map_err(|source| self.failed(source))
    }

    fn try_read(&self, from: u64, on_output: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(from),
            Err(error) => return Err(error),
        };
        // A file that has become shorter was emptied by `limit`.
        let from = if file.metadata()?.len() < from {
            0
        } else {
            from
        };
        io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
        let mut buffer = vec![0; CHUNK];
        let mut offset = from;
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(offset),
                length => {
                    on_output(&buffer[..length]);
                    offset += length as u64;
                }
            }
        }
    }

    /// Empties the file when it is large. The shim appends, so that it goes on at the new end. For
    /// the process that follows a log for as long as its scheduler runs, after it has read all of it.
    pub(super) fn limit(&self, offset: u64) -> Result<(), DriverError> {
        if offset <= MAX_BYTES {
            return Ok(());
        }
        let file = OpenOptions::new().write(true).open(&self.path);
        let emptied = file.and_then(|file| file.set_len(0));
        emptied.map_err(|source| self.failed(source))
    }

    /// A missing file is no error.
    pub(super) fn remove(&self) -> Result<(), DriverError> {
        self.remove_file().map_err(|source| self.failed(source))
    }

    fn remove_file(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a shim still has the file open: the process has exited, and its final output may not
    /// have been written yet. False where the shims cannot be read.
    pub(super) fn is_written(&self, proc: &Path) -> bool {
        let processes = fs::read_dir(proc).into_iter().flatten().flatten();
        let mut shims = processes.filter(|process| {
            let name = fs::read_to_string(process.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("containerd-shim"))
        });
        shims.any(|shim| {
            let files = fs::read_dir(shim.path().join("fd"));
            let mut files = files.into_iter().flatten().flatten();
            files.any(|file| fs::read_link(file.path()).is_ok_and(|to| to == self.path))
        })
    }

    fn failed(&self, source: io::Error) -> DriverError {
        let path = self.path.clone();
        DriverError::Log { path, source }
    }
}

/// containerd's shim, which is root, writes to a path in this folder: whoever else may write to the
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
    fn a_log_is_read_from_an_offset() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::of(&folder.path().join("logs"), "a");
        assert_eq!(log.read(0, &mut |_| panic!("nothing yet")).unwrap(), 0);
        log.reset().unwrap();
        fs::write(&log.path, "one").unwrap();
        let mut output = Vec::new();
        let offset = log
            .read(0, &mut |chunk| output.extend_from_slice(chunk))
            .unwrap();
        fs::write(&log.path, "one two").unwrap();
        log.read(offset, &mut |chunk| output.extend_from_slice(chunk))
            .unwrap();
        assert_eq!(output, b"one two");
        log.reset().unwrap();
        assert_eq!(fs::read(&log.path).unwrap(), b"");
        let mode = fs::metadata(&log.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        log.remove().unwrap();
        log.remove().unwrap();
    }

    #[test]
    fn a_large_log_is_emptied_and_read_on() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::of(folder.path(), "a");
        fs::write(&log.path, vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
        let offset = log.read(0, &mut |_| {}).unwrap();
        log.limit(MAX_BYTES).unwrap();
        assert_eq!(fs::metadata(&log.path).unwrap().len(), offset);
        log.limit(offset).unwrap();
        assert_eq!(fs::metadata(&log.path).unwrap().len(), 0);
        fs::write(&log.path, "more").unwrap();
        let mut output = Vec::new();
        let read = log.read(offset, &mut |bytes| output.extend_from_slice(bytes));
        assert_eq!((read.unwrap(), output.as_slice()), (4, &b"more"[..]));
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
    fn only_shims_count() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::of(folder.path(), "a");
        let proc = folder.path().join("proc");
        for (pid, name) in [("1", "cat"), ("2", "containerd-shim")] {
            let fd = proc.join(pid).join("fd");
            fs::create_dir_all(&fd).unwrap();
            fs::write(proc.join(pid).join("comm"), format!("{name}\n")).unwrap();
            if pid == "1" {
                std::os::unix::fs::symlink(&log.path, fd.join("3")).unwrap();
                assert!(!log.is_written(&proc));
            } else {
                std::os::unix::fs::symlink(&log.path, fd.join("3")).unwrap();
            }
        }
        assert!(log.is_written(&proc));
    }
}
