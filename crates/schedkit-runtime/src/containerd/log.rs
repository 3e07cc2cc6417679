//! What a scheduler wrote: one file a container, in a folder of ours. Called by `task` and
//! `output`.
//!
//! containerd's shim opens it to append, once for each stream: in the order in which it came is
//! worth more than to know which line was an error. Given one path for both, or a `file://`
//! address, it opens the file once and closes it when the first stream ends, and the last words of
//! the other are lost. So it gets two spellings of one path.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::driver::DriverError;

/// Bytes at a time.
const PIECE: usize = 64 * 1024;

/// The file of one container.
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

    /// As containerd is told of it for what the process says.
    pub(super) fn words(&self) -> String {
        self.path.display().to_string()
    }

    /// The same file for what it complains of.
    pub(super) fn complaints(&self) -> String {
        format!("/.{}", self.path.display())
    }

    /// An empty file that only root can read, whatever was there.
    pub(super) fn begin(&self) -> Result<(), DriverError> {
        let begin = || {
            let folder = self.path.parent().unwrap_or(Path::new("/"));
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            self.remove_file()?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let file = options.open(&self.path)?;
            file.set_permissions(Permissions::from_mode(0o600))
        };
        begin().map_err(|source| self.failed(source))
    }

    /// Reads from a place on, and gives the place to go on from. A file that is not there is an
    /// empty one: others have started the container.
    pub(super) fn read(&self, from: u64, take: &mut dyn FnMut(&[u8])) -> Result<u64, DriverError> {
        self.pour(from, take).map_err(|source| self.failed(source))
    }

    fn pour(&self, from: u64, take: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(from),
            Err(error) => return Err(error),
        };
        io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
        let mut buffer = vec![0; PIECE];
        let mut place = from;
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(place),
                length => {
                    take(&buffer[..length]);
                    place += length as u64;
                }
            }
        }
    }

    /// Removes the file; that there is none is fine.
    pub(super) fn remove(&self) -> Result<(), DriverError> {
        self.remove_file().map_err(|source| self.failed(source))
    }

    fn remove_file(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a shim still writes into it: the process is gone, its last words may be on their
    /// way. Where shims cannot be looked at, nobody does.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_on_from_where_one_was() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::of(&folder.path().join("logs"), "a");
        assert_eq!(log.read(0, &mut |_| panic!("nothing yet")).unwrap(), 0);
        log.begin().unwrap();
        fs::write(&log.path, "one").unwrap();
        let mut heard = Vec::new();
        let place = log
            .read(0, &mut |piece| heard.extend_from_slice(piece))
            .unwrap();
        fs::write(&log.path, "one two").unwrap();
        log.read(place, &mut |piece| heard.extend_from_slice(piece))
            .unwrap();
        assert_eq!(heard, b"one two");
        log.begin().unwrap();
        assert_eq!(fs::read(&log.path).unwrap(), b"");
        let mode = fs::metadata(&log.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        log.remove().unwrap();
        log.remove().unwrap();
    }

    #[test]
    fn only_shims_are_looked_at() {
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
