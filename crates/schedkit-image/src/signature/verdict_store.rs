//! Verdicts that were kept on disk, so that an image that was verified once can start without a
//! registry.
//!
//! ```text
//! Verified ──keep──▶ /var/lib/schedctl/verdicts/*.json ──find (same policy, same digest)──▶ Kept
//! ```
//!
//! Only a `Verified` can be kept, so a waiver never becomes a verdict, and a verdict counts only
//! under the policy that gave it. Whoever can write to the folder decides what is trusted, so the
//! folder and its files must belong to this user and be writable by nobody else.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use schedkit_core::{Digest, ImageRef, PinnedRef};
use serde::{Deserialize, Serialize};

use super::conformity::TitleCheck;
use super::verdict::{Kept, Verified};
use crate::hash::Hasher;
use crate::private_folder::{FolderError, PrivateFolder};
use crate::trust::Policy;
use crate::untrusted::shortened;

const MAX_VERDICTS: usize = 64;
const MAX_BYTES: u64 = 16 << 10;
const MAX_SIGNER: usize = 1000;
const SUFFIX: &str = ".json";

/// A folder with a file for each verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictStore {
    folder: PrivateFolder,
    /// Verdicts about these images make no room for others.
    spared: Vec<Digest>,
}

/// Why verdicts cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum VerdictStoreError {
    #[error("kept verdicts in {} cannot be used", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "kept verdicts in {} are not used: it does not belong to this user, or others may write to it; \
         remove it",
        .0.display()
    )]
    Untrusted(PathBuf),
}

/// A file. Unknown fields are ignored, so that an older program can read it.
#[derive(Debug, Serialize, Deserialize)]
struct StoredVerdict {
    /// As it was asked for, before it was pinned.
    reference: String,
    repository: String,
    digest: String,
    signer: String,
    policy: String,
    verified_at: Timestamp,
    /// `None` in files of older programs, which did not compare titles.
    #[serde(default)]
    title: Option<KeptTitle>,
}

/// Whether the image's title was compared with a name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KeptTitle {
    NotCompared,
    ComparedWith(String),
}

impl VerdictStore {
    /// `owner` is the id of this user.
    pub fn at(folder: impl Into<PathBuf>, owner: u32) -> Self {
        let folder = PrivateFolder::at(folder.into(), owner);
        let spared = Vec::new();
        Self { folder, spared }
    }

    /// With images whose verdicts are kept however many others there are, such as those that start at
    /// boot.
    #[must_use]
    pub fn sparing(self, spared: Vec<Digest>) -> Self {
        Self { spared, ..self }
    }

    /// Keeps a verdict about what a reference leads to now, unless the newest one is the same; the
    /// oldest make room for it.
    ///
    /// # Errors
    /// When the folder cannot be written or is not safe.
    pub fn keep(
        &self,
        reference: &ImageRef,
        verified: &Verified,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<(), VerdictStoreError> {
        self.folder.create()?;
        self.correct_times(reference, policy, now)?;
        let title = KeptTitle::from(verified.title());
        let newest = self.find_as(reference, policy, title.name())?;
        if newest.is_some_and(|kept| kept.image() == verified.image()) {
            return Ok(());
        }
        let verdict = StoredVerdict {
            reference: reference.to_string(),
            repository: verified.image().repository().to_string(),
            digest: verified.image().digest().to_string(),
            signer: shortened(&verified.signer().to_string(), MAX_SIGNER),
            policy: verified.policy().to_string(),
            verified_at: now,
            title: Some(title),
        };
        self.write(&verdict)?;
        let folder = self.folder.path();
        self.prune().map_err(|error| io_error(folder, error))
    }

    /// The newest verdict of this policy about a reference; with a digest, about exactly that image,
    /// whatever it was called.
    ///
    /// # Errors
    /// When the folder cannot be read or is not safe. Files that cannot be used are skipped.
    pub fn find(
        &self,
        image: &ImageRef,
        policy: &Policy,
    ) -> Result<Option<Kept>, VerdictStoreError> {
        self.find_as(image, policy, None)
    }

    /// The same for an image whose title must be `name`; see [`Policy::name_to_check`].
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_as(
        &self,
        image: &ImageRef,
        policy: &Policy,
        name: Option<&str>,
    ) -> Result<Option<Kept>, VerdictStoreError> {
        let mut newest: Option<(PathBuf, Kept)> = None;
        for (path, stored) in self.verdicts()? {
            let Some(kept) = stored.kept() else { continue };
            if name.is_some_and(|name| !stored.is_about(name)) {
                continue;
            }
            let about = match image.digest() {
                Some(digest) => {
                    kept.image().digest() == digest
                        && kept.image().repository() == image.repository()
                }
                None => stored.reference == image.to_string(),
            };
            let newer = newest
                .as_ref()
                .is_none_or(|(_, found)| found.verified_at() < kept.verified_at());
            if about && newer && kept.policy() == policy.fingerprint() {
                newest = Some((path, kept));
            }
        }
        Ok(newest.map(|(path, kept)| {
            // What is used is the last to be pruned.
            let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
            kept
        }))
    }

    /// Forgets every verdict about an image that this policy refuses now.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget(&self, image: &PinnedRef, policy: &Policy) -> Result<(), VerdictStoreError> {
        for (path, stored) in self.verdicts()? {
            let about = stored.digest == image.digest().to_string()
                && stored.policy == policy.fingerprint().to_string();
            if about {
                fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
            }
        }
        Ok(())
    }

    /// What was kept by a clock that was ahead would be the newest for a long time.
    fn correct_times(
        &self,
        reference: &ImageRef,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<(), VerdictStoreError> {
        let (reference, policy) = (reference.to_string(), policy.fingerprint().to_string());
        for (_, mut stored) in self.verdicts()? {
            let about = stored.reference == reference && stored.policy == policy;
            if about && stored.verified_at > now {
                let before = now.checked_sub(SignedDuration::from_secs(1));
                stored.verified_at = before.unwrap_or(now);
                self.write(&stored)?;
            }
        }
        Ok(())
    }

    fn verdicts(&self) -> Result<Vec<(PathBuf, StoredVerdict)>, VerdictStoreError> {
        let folder = self.folder.path();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error(folder, error)),
        };
        self.folder.check()?;
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let paths = paths.filter(|path| is_verdict(path));
        // More can only be there if somebody else wrote them.
        let read = |path: PathBuf| self.read(&path).map(|stored| (path, stored));
        Ok(paths.take(2 * MAX_VERDICTS).filter_map(read).collect())
    }

    /// `None` for anything but a small file that is this user's alone.
    fn read(&self, path: &Path) -> Option<StoredVerdict> {
        let name = path.file_name()?.to_str()?;
        let text = self.folder.read(name, MAX_BYTES).ok()??;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, verdict: &StoredVerdict) -> Result<(), VerdictStoreError> {
        let name = verdict.file_name();
        let text = serde_json::to_vec(verdict)
            .map_err(|error| io_error(&self.folder.path().join(&name), error.into()))?;
        Ok(self.folder.write(&name, &text)?)
    }

    fn is_spared(&self, path: &Path) -> bool {
        let stored = self.read(path);
        let digest = stored.and_then(|stored| stored.digest.parse().ok());
        digest.is_some_and(|digest| self.spared.contains(&digest))
    }

    fn prune(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            if is_verdict(&path) {
                files.push((fs::symlink_metadata(&path)?.modified()?, path));
            }
        }
        files.sort();
        let surplus = files.len().saturating_sub(MAX_VERDICTS);
        if surplus == 0 {
            return Ok(());
        }
        files.retain(|(_, path)| !self.is_spared(path));
        let mut oldest = files.into_iter().take(surplus);
        oldest.try_for_each(|(_, path)| fs::remove_file(path))
    }
}

impl StoredVerdict {
    /// One per reference, image and policy.
    fn file_name(&self) -> String {
        let mut hasher = Hasher::new();
        for part in [
            &self.reference,
            &self.repository,
            &self.digest,
            &self.policy,
        ] {
            hasher.update(format!("{}:{part}\n", part.len()).as_bytes());
        }
        hasher.finish().hex() + SUFFIX
    }

    /// A verdict of a program that did not compare titles is as good as it was then.
    fn is_about(&self, name: &str) -> bool {
        let title = self.title.as_ref();
        title.is_none_or(|title| title.name() == Some(name))
    }

    /// `None` if a field does not parse.
    fn kept(&self) -> Option<Kept> {
        let image: ImageRef = format!("{}@{}", self.repository, self.digest)
            .parse()
            .ok()?;
        let digest = image.digest()?.clone();
        let image = PinnedRef::new(image.repository().clone(), digest);
        let signer = shortened(&self.signer, MAX_SIGNER);
        let policy = self.policy.parse().ok()?;
        Some(Kept::new(image, signer, policy, self.verified_at))
    }
}

impl KeptTitle {
    fn name(&self) -> Option<&str> {
        match self {
            Self::NotCompared => None,
            Self::ComparedWith(name) => Some(name),
        }
    }
}

impl From<&TitleCheck> for KeptTitle {
    fn from(title: &TitleCheck) -> Self {
        match title {
            TitleCheck::Matches { name } | TitleCheck::NoTitle { name } => {
                Self::ComparedWith(name.clone())
            }
            TitleCheck::NotChecked => Self::NotCompared,
        }
    }
}

impl From<FolderError> for VerdictStoreError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io(path, source) => Self::Io { path, source },
            FolderError::Untrusted(path) => Self::Untrusted(path),
        }
    }
}

fn is_verdict(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(SUFFIX))
}

fn io_error(path: &Path, source: io::Error) -> VerdictStoreError {
    let path = path.to_owned();
    VerdictStoreError::Io { path, source }
}

#[cfg(test)]
mod tests;
