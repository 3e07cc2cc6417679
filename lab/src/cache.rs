//! What was built or fetched once is kept for every later lab of this user.
//!
//! ```text
//! CACHE/<name>/<key>/…   a finished part; it appears whole or not at all
//! CACHE/making/<name>-<key>/   a part being made; left behind only by a kill, removed by the next maker
//! CACHE/locks/<name>-<key>     held while a part is made; the kernel lets go of it when its holder dies
//! CACHE/logs/<name>.log        what the programs that made it said
//! ```
//!
//! The key is a hash of the part's recipe: change the recipe and just that part is made anew.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use crate::progress::Reporter;

/// A folder of finished parts.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// The fingerprint of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key over everything that goes into a part. LabSpec matters; borders between the
    /// ingredients count, so that `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn of<I: AsRef<[u8]>>(ingredients: impl IntoIterator<Item = I>) -> Self {
        let mut hash = Sha256::new();
        for ingredient in ingredients {
            let bytes = ingredient.as_ref();
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

    /// The key as it appears in a path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The cache's folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use {path} in the cache: check its owner and the disk, or choose another folder with SCHEDKIT_CACHE"
)]
pub struct CacheError {
    path: PathBuf,
    source: io::Error,
}

impl Cache {
    /// The cache in this folder; made when the first part is.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a finished part is, if it is there.
    pub fn find(&self, name: &str, key: &Key) -> Option<PathBuf> {
        let path = self.root.join(name).join(key.as_str());
        path.is_dir().then_some(path)
    }

    /// Gives the finished part, making it first when it is missing. `make` fills an empty
    /// folder; if it fails or is killed the part does not exist. Of several processes that
    /// want the same part one makes it and the others wait, and say so.
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
        // A name may have several levels; the places where it is made and locked have one.
        let flat = format!("{}-{}", name.replace('/', "-"), key.as_str());
        let _lock = match self.try_lock(&flat)? {
            Some(lock) => lock,
            None => reporter.step(format!("waiting for another lab to make {name}"), || {
                self.lock(&flat)
            })?,
        };
        if let Some(path) = self.find(name, key) {
            return Ok(path);
        }
        self.sweep();
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

    /// Removes what killed makers left behind: whatever is being made has its lock held.
    fn sweep(&self) {
        for entry in fs::read_dir(self.root.join("making"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if let Ok(Some(_free)) = self.try_lock(&entry.file_name().to_string_lossy()) {
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

    /// Holds a name for as long as the returned file lives.
    pub fn lock(&self, name: &str) -> Result<File, CacheError> {
        let path = self.folder("locks")?.join(name);
        self.at(&path, || {
            let file = File::create(&path)?;
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        })
    }

    /// Where the programs that make a part write what they have to say.
    pub fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(format!("{name}.log"))
    }

    /// A folder of the cache that is not a part: a working area that may hold anything.
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
    fn borders_between_ingredients_count() {
        assert_ne!(Key::of(["ab", "c"]), Key::of(["a", "bc"]));
        assert_eq!(Key::of(["ab", "c"]), Key::of(["ab", "c"]));
    }

    #[test]
    fn a_part_is_made_once_and_found_again() {
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
    fn a_part_that_failed_leaves_nothing() {
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
    fn leftovers_of_a_killed_maker_are_cleared() {
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
    fn two_makers_do_the_work_once() {
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
