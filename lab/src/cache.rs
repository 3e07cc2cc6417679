//! Keeps what was built or fetched, for every later lab of this user.
//!
//! ```text
//! CACHE/<name>/<key>/…         a finished part; it appears by rename
//! CACHE/making/<name>-<key>/   a part being built; left only by a killed process, deleted by the next
//! CACHE/locks/<name>-<key>     locked while a part is built; the lock ends with its process
//! CACHE/logs/<name>.log        the output of the programs that built it
//! ```
//!
//! The key is a hash of everything the part is built from: if that changes, the part is built again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use crate::progress::Reporter;

#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// A hash of everything a part is built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Hashes the inputs with their lengths, so that `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn of<I: AsRef<[u8]>>(inputs: impl IntoIterator<Item = I>) -> Self {
        let mut hash = Sha256::new();
        for input in inputs {
            let bytes = input.as_ref();
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        let digest = hash.finalize();
        Self(
            digest[..8]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read or write {path} in the cache: check its owner and that the disk is not full, or choose another folder with SCHEDKIT_CACHE"
)]
pub struct CacheError {
    path: PathBuf,
    source: io::Error,
}

impl Cache {
    /// The folder is created with the first part.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a finished part, if the cache has it.
    pub fn find(&self, name: &str, key: &Key) -> Option<PathBuf> {
        let path = self.root.join(name).join(key.as_str());
        path.is_dir().then_some(path)
    }

    /// The folder of a finished part. If the cache does not have it, `make` fills an empty folder; if
    /// `make` fails or is killed, the part does not exist. Of several processes that need the same
    /// part one builds it, and the others report that they wait.
    pub fn part<E: From<CacheError>>(
        &self,
        name: &str,
        key: &Key,
        reporter: &Reporter,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        if let Some(path) = self.find(name, key) {
            return Ok(path);
        }
        // A name may have several levels; in `making` and `locks` it has one.
        let flat = format!("{}-{}", name.replace('/', "-"), key.as_str());
        let _lock = match self.try_lock(&flat)? {
            Some(lock) => lock,
            None => reporter.step(format!("waiting for another lab to build {name}"), || {
                self.lock(&flat)
            })?,
        };
        if let Some(path) = self.find(name, key) {
            return Ok(path);
        }
        self.delete_leftovers();
        let making = self.root.join("making").join(&flat);
        self.at(&making, || fresh_folder(&making))?;
        let made = make(&making);
        if made.is_err() {
            let _ = fs::remove_dir_all(&making);
        }
        made?;
        let finished = self.root.join(name).join(key.as_str());
        self.at(&finished, || {
            fs::create_dir_all(self.root.join(name))?;
            fs::rename(&making, &finished)
        })?;
        Ok(finished)
    }

    /// Deletes what killed processes left: a part that is being built is locked.
    fn delete_leftovers(&self) {
        for entry in fs::read_dir(self.root.join("making"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if let Ok(Some(_lock)) = self.try_lock(&entry.file_name().to_string_lossy()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn try_lock(&self, name: &str) -> Result<Option<File>, CacheError> {
        let path = self.folder("locks")?.join(name);
        let file = self.at(&path, || File::create(&path))?;
        Ok(flock(&file, FlockOperation::NonBlockingLockExclusive)
            .is_ok()
            .then_some(file))
    }

    /// Waits for the lock of a name and holds it until the returned file is dropped.
    pub fn lock(&self, name: &str) -> Result<File, CacheError> {
        let path = self.folder("locks")?.join(name);
        self.at(&path, || {
            let file = File::create(&path)?;
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        })
    }

    /// The log of the programs that build a part.
    pub fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(format!("{name}.log"))
    }

    /// A folder in the cache that is not a part.
    pub fn folder(&self, name: &str) -> Result<PathBuf, CacheError> {
        let path = self.root.join(name);
        self.at(&path, || fs::create_dir_all(&path))?;
        Ok(path)
    }

    fn at<T>(&self, path: &Path, work: impl FnOnce() -> io::Result<T>) -> Result<T, CacheError> {
        work().map_err(|source| CacheError {
            path: path.to_owned(),
            source,
        })
    }
}

fn fresh_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(path)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn key(text: &str) -> Key {
        Key::of([text])
    }

    fn quiet() -> Reporter {
        Reporter::new(io::sink())
    }

    #[test]
    fn the_lengths_of_the_inputs_count() {
        assert_ne!(Key::of(["ab", "c"]), Key::of(["a", "bc"]));
        assert_eq!(Key::of(["ab", "c"]), Key::of(["ab", "c"]));
    }

    #[test]
    fn a_part_is_built_once_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        let made = AtomicUsize::new(0);
        for _ in 0..2 {
            let part = cache
                .part::<CacheError>("bread", &key("rye"), &quiet(), |dir| {
                    made.fetch_add(1, Ordering::SeqCst);
                    fs::write(dir.join("loaf"), "rye").unwrap();
                    Ok(())
                })
                .unwrap();
            assert_eq!(fs::read_to_string(part.join("loaf")).unwrap(), "rye");
        }
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert!(cache.find("bread", &key("wheat")).is_none());
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let failed = cache.part("bread", &key("rye"), &quiet(), |dir| {
            fs::write(dir.join("dough"), "").unwrap();
            Err(CacheError {
                path: dir.to_owned(),
                source: io::Error::other("oven cold"),
            })
        });
        assert!(failed.is_err());
        assert!(cache.find("bread", &key("rye")).is_none());
        assert_eq!(
            fs::read_dir(folder.path().join("making")).unwrap().count(),
            0
        );
    }

    #[test]
    fn leftovers_of_a_killed_build_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let left = folder
            .path()
            .join(format!("making/bread-{}", key("rye").as_str()));
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("half"), "").unwrap();
        let older = folder.path().join("making/bread-of-an-older-recipe");
        fs::create_dir(&older).unwrap();
        let part = cache
            .part::<CacheError>("bread", &key("rye"), &quiet(), |_| Ok(()))
            .unwrap();
        assert_eq!(fs::read_dir(part).unwrap().count(), 0);
        assert!(!older.exists());
    }

    #[test]
    fn of_several_builders_one_builds() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    cache
                        .part::<CacheError>("bread", &key("rye"), &quiet(), |_| {
                            made.fetch_add(1, Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(50));
                            Ok(())
                        })
                        .unwrap();
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }
}
