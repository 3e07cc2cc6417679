//! The digests that schedctl pulled itself, so that `prune` removes nothing that others pulled. One
//! empty file for each in the cache folder. If a record cannot be written or is lost, `prune` keeps
//! the image, so nothing here is an error.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use schedkit_core::Digest;
use schedkit_image::catalog::Cache;

pub(crate) struct PullRecord(Option<PathBuf>);

impl PullRecord {
    pub(crate) fn new(cache: &Cache) -> Self {
        Self(match cache {
            Cache::Off => None,
            Cache::Folder(folder) => Some(folder.join("pulled")),
        })
    }

    pub(crate) fn add(&self, digest: &Digest) {
        if let Some(folder) = &self.0
            && let Err(error) = write(folder, digest)
        {
            tracing::info!("`schedctl prune` will keep {digest}: it was not recorded: {error}");
        }
    }

    pub(crate) fn remove(&self, digest: &Digest) {
        if let Some(folder) = &self.0 {
            let _ = fs::remove_file(folder.join(digest.hex()));
        }
    }

    pub(crate) fn has(&self, digest: &Digest) -> bool {
        let Some(folder) = &self.0 else { return false };
        is_ours(folder) && folder.join(digest.hex()).is_file()
    }
}

fn write(folder: &Path, digest: &Digest) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755).create(folder)?;
    fs::write(folder.join(digest.hex()), "")
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
}
