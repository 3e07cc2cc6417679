//! The trust policy: read at the start, and again when its file or one beside it changes.
//!
//! A policy that cannot be read any more does not stop anything: the last one that could decides.

use std::error::Error;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use schedkit_image::trust::{Policy, RootSource};
use schedkit_image::untrusted::Reader;
use sked_plan::verification::PolicyState;

use crate::error_chain::chain;

/// Files beside the policy that are compared: more are no keys and roots.
const MAX_FILES: usize = 64;
/// Key files may be elsewhere, so it is read now and then although nothing beside it changed.
const READ_ANYWAY: u32 = 30;
/// kubelet replaces the files of a ConfigMap together, perhaps between a policy and its keys. More often
/// than this in a row is left to the next poll.
const READS: usize = 3;
/// A file that is being replaced can be missing for a moment.
const TELL_AFTER: u32 = 2;

pub(super) struct PolicyReader {
    path: PathBuf,
    /// For a policy that names none.
    root: RootSource,
    policy: Option<Arc<Policy>>,
    seen: Vec<FileStamp>,
    polls: u32,
    failures: u32,
    why: String,
}

/// Changes when the file does, also by a rename or through a link, as those of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    path: PathBuf,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl PolicyReader {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            root: RootSource::Embedded,
            policy: None,
            seen: Vec::new(),
            polls: 0,
            failures: 0,
            why: "it was not read yet".to_owned(),
        }
    }

    /// The next poll reads the policy with this root.
    pub(super) fn use_root(&mut self, root: RootSource) {
        self.root = root;
        self.seen.clear();
    }

    /// Reads the policy if it may have changed.
    pub(super) fn poll(&mut self) {
        let root = self.root.clone();
        self.poll_by(|path| Policy::read_with(path, Reader::User, &root));
    }

    fn poll_by<E: Error + 'static>(&mut self, mut read: impl FnMut(&Path) -> Result<Policy, E>) {
        let mut before = stamps(&self.path);
        let is_due = self.polls.is_multiple_of(READ_ANYWAY);
        self.polls = self.polls.wrapping_add(1);
        if before == self.seen && self.failures == 0 && self.policy.is_some() && !is_due {
            return;
        }
        self.seen.clear();
        for _ in 0..READS {
            let found = read(&self.path);
            let after = stamps(&self.path);
            if before == after {
                self.seen = after;
                return self.take(found);
            }
            before = after;
        }
    }

    fn take<E: Error + 'static>(&mut self, found: Result<Policy, E>) {
        match found {
            Ok(policy) => {
                let old = self.policy.as_ref().map(|old| old.fingerprint().clone());
                if old.as_ref() != Some(policy.fingerprint()) {
                    tracing::info!(policy = %policy.fingerprint(), "the trust policy was read");
                }
                // Also if only the age of its root differs.
                self.policy = Some(Arc::new(policy));
                self.failures = 0;
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                let why = chain(&error);
                if why != self.why {
                    tracing::error!(
                        "the trust policy cannot be read, the last one that could decides: {why}"
                    );
                }
                self.why = why;
            }
        }
    }

    pub(super) fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    pub(super) fn state(&self) -> PolicyState {
        let why = self.why.clone();
        let Some(policy) = &self.policy else {
            return PolicyState::Missing { why };
        };
        let fingerprint = policy.fingerprint().to_string();
        match self.failures < TELL_AFTER {
            true => PolicyState::Loaded { fingerprint },
            false => PolicyState::Outdated { fingerprint, why },
        }
    }
}

fn stamps(path: &Path) -> Vec<FileStamp> {
    let folder = path.parent().filter(|one| !one.as_os_str().is_empty());
    let folder = fs::read_dir(folder.unwrap_or(Path::new(".")));
    let beside = folder.into_iter().flatten().take(MAX_FILES).flatten();
    let mut paths: Vec<PathBuf> = beside.map(|entry| entry.path()).collect();
    paths.push(path.to_owned());
    paths.sort();
    paths.dedup();
    let stamp = |path: PathBuf| {
        let found = fs::metadata(&path).ok()?;
        Some(FileStamp {
            inode: found.ino(),
            bytes: found.size(),
            modified: found.modified().ok(),
            path,
        })
    };
    paths.into_iter().filter_map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        "identities:\n  - {issuer: https://issuer.example, subject: one@example.org}\n";
    const TWO: &str =
        "identities:\n  - {issuer: https://issuer.example, subject: two@example.org}\n";

    fn fingerprint(reader: &PolicyReader) -> String {
        let policy = reader.policy().unwrap();
        policy.fingerprint().to_string()
    }

    #[test]
    fn files_that_are_replaced_while_they_are_read_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        let write = |text: &str| {
            let next = folder.path().join("next");
            fs::write(&next, text).unwrap();
            fs::rename(&next, &path).unwrap();
        };
        write(ONE);
        let mut reads = 0;
        let mut reader = PolicyReader::new(path.clone());
        // What was read belongs to files that are gone.
        reader.poll_by(|path| {
            let found = Policy::read(path, Reader::User);
            if reads == 0 {
                write(TWO);
            }
            reads += 1;
            found
        });
        let two = Policy::read(&path, Reader::User).unwrap();
        assert_eq!(fingerprint(&reader), two.fingerprint().to_string());
        assert_eq!(reads, 2);
        // They change all the time: the last one that was read whole decides.
        write(ONE);
        reader.poll_by(|path| {
            let found = Policy::read(path, Reader::User);
            write(ONE);
            found
        });
        assert_eq!(fingerprint(&reader), two.fingerprint().to_string());
        assert!(matches!(reader.state(), PolicyState::Loaded { .. }));
        reader.poll();
        assert_ne!(fingerprint(&reader), two.fingerprint().to_string());
    }

    #[test]
    fn a_policy_is_read_when_it_changes_and_the_last_good_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        let mut reader = PolicyReader::new(path.clone());
        reader.poll();
        assert!(matches!(reader.state(), PolicyState::Missing { .. }));
        fs::write(&path, ONE).unwrap();
        reader.poll();
        let PolicyState::Loaded { fingerprint: one } = reader.state() else {
            panic!("{:?}", reader.state());
        };
        // As a ConfigMap replaces it.
        let next = folder.path().join("next");
        fs::write(&next, TWO).unwrap();
        fs::rename(&next, &path).unwrap();
        reader.poll();
        let PolicyState::Loaded { fingerprint: two } = reader.state() else {
            panic!("{:?}", reader.state());
        };
        assert_ne!(one, two);
        for broken in [
            "identities: [".to_owned(),
            String::new(),
            format!("# {}\n{ONE}", "x".repeat(10 << 20)),
        ] {
            fs::write(&path, broken).unwrap();
            reader.poll();
            reader.poll();
            let PolicyState::Outdated { fingerprint, why } = reader.state() else {
                panic!("{:?}", reader.state());
            };
            assert_eq!(fingerprint, two);
            assert!(!why.contains('\n') && why.contains("policy.yaml"), "{why}");
        }
        fs::write(&path, TWO).unwrap();
        reader.poll();
        assert_eq!(reader.state(), PolicyState::Loaded { fingerprint: two });
        fs::remove_file(&path).unwrap();
        reader.poll();
        assert!(reader.policy().is_some());
        assert!(
            matches!(reader.state(), PolicyState::Loaded { .. }),
            "it may be replaced just now"
        );
        reader.poll();
        assert!(matches!(reader.state(), PolicyState::Outdated { .. }));
    }
}
