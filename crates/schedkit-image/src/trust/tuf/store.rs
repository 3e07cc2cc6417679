//! Kept trusted roots on disk, one file for each anchor. It is state and not a cache: whoever deletes
//! it can be shown older versions again.
//!
//! ```text
//! /var/lib/schedctl/trust/<digest of the anchor>.json           the root and what proves it
//!                         <digest of the anchor>.failure.json   why it was not replaced since
//! ```
//!
//! Whoever can write to the folder decides whether what is in it is old, so folder and files must
//! belong to this user and be writable by nobody else. What is read is verified again.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::anchor::Anchor;
use super::kept::{KeptRoot, KeptRootError};
use crate::private_folder::{FolderError, PrivateFolder};
use crate::untrusted::shortened;

/// All roots that may be in it, with the escapes of JSON.
const MAX_BYTES: u64 = 16 << 20;
const MAX_FAILURE_BYTES: u64 = 16 << 10;
const MAX_REASON: usize = 4000;
const LOCK: &str = "lock";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootStore {
    folder: PrivateFolder,
}

/// Held by the one who updates. The kernel releases it when its process ends.
#[derive(Debug)]
pub struct UpdateLock {
    _file: File,
}

/// A refresh that has failed, and none has succeeded since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRefresh {
    pub at: Timestamp,
    pub mirror: String,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RootStoreError {
    #[error("the trusted root in {} cannot be used", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the trusted root in {} is not used: it does not belong to this user, or others may write to it; \
         remove it",
        .0.display()
    )]
    Untrusted(PathBuf),
    #[error("the trusted root in {} {source}", path.display())]
    Invalid {
        path: PathBuf,
        #[source]
        source: KeptRootError,
    },
    #[error("another process is updating the trusted root: wait for its end")]
    Busy,
}

impl RootStore {
    /// `owner` is the id of this user.
    pub fn at(folder: impl Into<PathBuf>, owner: u32) -> Self {
        let folder = PrivateFolder::at(folder.into(), owner);
        Self { folder }
    }

    /// What was kept for this anchor, if anything.
    ///
    /// # Errors
    /// When it cannot be read, may be somebody else's, or is not accepted any more.
    pub fn load(&self, anchor: &Anchor) -> Result<Option<KeptRoot>, RootStoreError> {
        match self.folder.check() {
            Err(FolderError::Io(_, error)) if error.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            checked => checked?,
        }
        let name = file_name(anchor);
        let Some(text) = self.folder.read(&name, MAX_BYTES)? else {
            return Ok(None);
        };
        let kept = KeptRoot::parse(&text, anchor);
        kept.map(Some).map_err(|source| {
            let path = self.folder.path().join(name);
            RootStoreError::Invalid { path, source }
        })
    }

    /// To be called before what is to be replaced is loaded.
    ///
    /// # Errors
    /// When somebody else holds it, or the folder cannot be written or is not safe.
    pub fn lock(&self) -> Result<UpdateLock, RootStoreError> {
        self.folder.create()?;
        let path = self.folder.path().join(LOCK);
        let lock = || -> Result<Option<File>, io::Error> {
            let file = File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(file)),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        };
        match lock() {
            Ok(Some(_file)) => Ok(UpdateLock { _file }),
            Ok(None) => Err(RootStoreError::Busy),
            Err(source) => Err(RootStoreError::Io { path, source }),
        }
    }

    /// Replaces what was kept, and forgets a failure.
    ///
    /// # Errors
    /// When the folder cannot be written or is not safe.
    pub fn save(
        &self,
        anchor: &Anchor,
        kept: &KeptRoot,
        _lock: &UpdateLock,
    ) -> Result<(), RootStoreError> {
        let text = kept.text().map_err(io::Error::from);
        let text = text.map_err(|source| RootStoreError::Io {
            path: self.folder.path().to_owned(),
            source,
        })?;
        self.folder.write(&file_name(anchor), text.as_bytes())?;
        Ok(self.folder.delete(&failure_name(anchor))?)
    }

    /// Keeps why it was not replaced.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn save_failure(
        &self,
        anchor: &Anchor,
        failure: &FailedRefresh,
        _lock: &UpdateLock,
    ) -> Result<(), RootStoreError> {
        let name = failure_name(anchor);
        let failure = FailedRefresh {
            reason: shortened(&failure.reason, MAX_REASON),
            ..failure.clone()
        };
        let text = serde_json::to_vec(&failure).map_err(io::Error::from);
        let text = text.map_err(|source| RootStoreError::Io {
            path: self.folder.path().join(&name),
            source,
        })?;
        Ok(self.folder.write(&name, &text)?)
    }

    /// The failure since the last success, if it can be read.
    pub fn failure(&self, anchor: &Anchor) -> Option<FailedRefresh> {
        self.folder.check().ok()?;
        let text = self.folder.read(&failure_name(anchor), MAX_FAILURE_BYTES);
        serde_json::from_str(&text.ok()??).ok()
    }
}

impl From<FolderError> for RootStoreError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io(path, source) => Self::Io { path, source },
            FolderError::Untrusted(path) => Self::Untrusted(path),
        }
    }
}

fn file_name(anchor: &Anchor) -> String {
    format!("{}.json", anchor.digest().hex())
}

fn failure_name(anchor: &Anchor) -> String {
    format!("{}.failure.json", anchor.digest().hex())
}
