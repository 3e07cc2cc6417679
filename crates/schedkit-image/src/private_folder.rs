//! A folder whose files decide whom to trust. Folder and files must belong to this user and be
//! writable by nobody else: `check` and `read` refuse everything else.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrivateFolder {
    path: PathBuf,
    /// The user to whom everything in it must belong.
    owner: u32,
}

/// Each kind of file has its own texts for these.
#[derive(Debug)]
pub(crate) enum FolderError {
    Io(PathBuf, io::Error),
    /// Somebody else may have written it.
    Untrusted(PathBuf),
}

impl PrivateFolder {
    /// `owner` is the id of this user.
    pub(crate) fn at(path: PathBuf, owner: u32) -> Self {
        Self { path, owner }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn create(&self) -> Result<(), FolderError> {
        let mut builder = DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(&self.path);
        created.map_err(|error| self.error(error))?;
        self.check()
    }

    pub(crate) fn check(&self) -> Result<(), FolderError> {
        let found = fs::symlink_metadata(&self.path).map_err(|error| self.error(error))?;
        match found.is_dir() && self.is_private(&found) {
            true => Ok(()),
            false => Err(FolderError::Untrusted(self.path.clone())),
        }
    }

    /// A file of at most `limit` bytes; `None` if there is none. The folder is not checked.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Result<Option<String>, FolderError> {
        let path = self.path.join(name);
        let read = || -> io::Result<Option<String>> {
            let file = File::open(&path)?;
            let found = file.metadata()?;
            if !found.is_file() || !self.is_private(&found) {
                return Ok(None);
            }
            let mut text = String::new();
            file.take(limit + 1).read_to_string(&mut text)?;
            match text.len() as u64 > limit {
                true => Err(ErrorKind::FileTooLarge.into()),
                false => Ok(Some(text)),
            }
        };
        match read() {
            Ok(Some(text)) => Ok(Some(text)),
            Ok(None) => Err(FolderError::Untrusted(path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::Io(path, error)),
        }
    }

    /// Atomic, also when the power is cut: a file is complete or absent.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), FolderError> {
        let path = self.path.join(name);
        let write = || -> io::Result<()> {
            let mut draft = tempfile::NamedTempFile::new_in(&self.path)?;
            draft.write_all(content)?;
            draft.as_file().sync_all()?;
            draft.persist(&path)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|error| FolderError::Io(path.clone(), error))
    }

    /// Succeeds if there is no such file.
    pub(crate) fn delete(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(FolderError::Io(path, error)),
            _ => Ok(()),
        }
    }

    fn is_private(&self, metadata: &Metadata) -> bool {
        metadata.uid() == self.owner && metadata.mode() & 0o022 == 0
    }

    fn error(&self, error: io::Error) -> FolderError {
        FolderError::Io(self.path.clone(), error)
    }
}
