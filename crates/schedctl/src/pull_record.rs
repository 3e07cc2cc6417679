//! The digests that schedctl pulled itself, so that `prune` removes nothing that others pulled, and
//! those that a running schedctl is about to use, so that `prune` keeps them. One empty file for each
//! in the cache folder; a file lock tells whether the process still runs. If a record cannot be
//! written or is lost, `prune` keeps the image, so nothing here is an error.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use schedkit_core::Digest;
use schedkit_image::catalog::Cache;
use tokio::time::sleep;

const RETRY_INTERVAL: Duration = Duration::from_millis(50);

const PULLED: &str = "pulled";
const WANTED: &str = "wanted";

/// The cache folder.
pub(crate) struct PullRecord(Option<PathBuf>);

/// While it exists, nobody wants the image.
#[derive(Debug)]
pub(crate) struct Unwanted(#[expect(dead_code, reason = "holds the lock")] Option<File>);

impl PullRecord {
    pub(crate) fn new(cache: &Cache) -> Self {
        Self(match cache {
            Cache::Off => None,
            Cache::Folder(folder) => Some(folder.clone()),
        })
    }

    pub(crate) fn add(&self, digest: &Digest) {
        if let Some(folder) = &self.0
            && let Err(error) = create(&folder.join(PULLED), digest)
        {
            tracing::info!("`schedctl prune` will keep {digest}: it was not recorded: {error}");
        }
    }

    pub(crate) fn remove(&self, digest: &Digest) {
        if let Some(folder) = &self.0 {
            let _ = fs::remove_file(folder.join(PULLED).join(digest.hex()));
        }
    }

    pub(crate) fn has(&self, digest: &Digest) -> bool {
        let Some(folder) = &self.0 else { return false };
        let folder = folder.join(PULLED);
        is_ours(&folder) && folder.join(digest.hex()).is_file()
    }

    /// Makes `prune` keep the image until this process ends: then a container or a unit uses it.
    /// Waits for a `prune` that removes it just now.
    pub(crate) async fn want(&self, digest: &Digest) {
        let Some(folder) = &self.0 else { return };
        let file = match create(&folder.join(WANTED), digest) {
            Ok(file) => file,
            Err(error) => return tracing::info!("`schedctl prune` may remove {digest}: {error}"),
        };
        while flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
            sleep(RETRY_INTERVAL).await;
        }
        // The kernel releases the lock when the process ends.
        std::mem::forget(file);
    }

    /// `None` if another process wants the image.
    pub(crate) fn unwanted(&self, digest: &Digest) -> Option<Unwanted> {
        let path = |folder: &PathBuf| folder.join(WANTED).join(digest.hex());
        let Some(file) = self
            .0
            .as_ref()
            .and_then(|folder| File::open(path(folder)).ok())
        else {
            return Some(Unwanted(None));
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => None,
            _ => Some(Unwanted(Some(file))),
        }
    }
}

/// An empty file.
fn create(folder: &Path, digest: &Digest) -> io::Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755).create(folder)?;
    File::create(folder.join(digest.hex()))
}

/// Others must not choose what root removes.
fn is_ours(folder: &Path) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && found.uid() == ours && found.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_record_lasts_until_it_is_removed_and_belongs_to_its_user() {
        let folder = tempfile::tempdir().unwrap();
        let digest: Digest = format!("sha256:{:064}", 1).parse().unwrap();
        let record = PullRecord::new(&Cache::Folder(folder.path().join("cache")));
        assert!(!record.has(&digest));
        record.add(&digest);
        assert!(record.has(&digest));
        let pulled = folder.path().join("cache/pulled");
        fs::set_permissions(&pulled, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!record.has(&digest));
        fs::set_permissions(&pulled, fs::Permissions::from_mode(0o755)).unwrap();
        record.remove(&digest);
        assert!(!record.has(&digest));
        let off = PullRecord::new(&Cache::Off);
        off.add(&digest);
        assert!(!off.has(&digest));
    }

    #[tokio::test]
    async fn what_is_wanted_stays_and_what_is_being_removed_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let digest = |number: u8| -> Digest { format!("sha256:{number:064}").parse().unwrap() };
        let record = PullRecord::new(&Cache::Folder(folder.path().join("cache")));
        assert!(record.unwanted(&digest(1)).is_some());
        record.want(&digest(1)).await;
        record.want(&digest(1)).await;
        assert!(record.unwanted(&digest(1)).is_none());
        assert!(!record.has(&digest(1)), "others may have pulled it");

        create(&folder.path().join("cache/wanted"), &digest(2)).unwrap();
        let removing = record.unwanted(&digest(2)).unwrap();
        let wanted = digest(2);
        let mut want = std::pin::pin!(record.want(&wanted));
        let moment = Duration::from_millis(200);
        tokio::time::timeout(moment, &mut want).await.unwrap_err();
        drop(removing);
        want.await;
        assert!(record.unwanted(&digest(2)).is_none());
    }
}
