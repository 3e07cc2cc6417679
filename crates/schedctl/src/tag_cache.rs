//! The tags of a repository for completion, kept for some minutes. A cache that cannot be used counts
//! as empty, so nothing here is an error.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use schedkit_core::Repository;
use schedkit_image::catalog::Cache;
use schedkit_image::{hash, untrusted};

const RECENT: Duration = Duration::from_secs(600);
const MAX_BYTES: usize = 1 << 20;

pub(crate) struct TagCache(Option<PathBuf>);

impl TagCache {
    pub(crate) fn new(cache: &Cache, repository: &Repository) -> Self {
        Self(match cache {
            Cache::Off => None,
            Cache::Folder(folder) => {
                let hash = hash::sha256(repository.to_string().as_bytes()).hex();
                Some(folder.join(format!("tags-{hash}")))
            }
        })
    }

    /// Those that were written a short time ago.
    pub(crate) fn recent(&self) -> Option<Vec<String>> {
        let written = fs::metadata(self.0.as_ref()?).ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(written).ok()?;
        if age < RECENT { self.old() } else { None }
    }

    /// Those that were ever written.
    pub(crate) fn old(&self) -> Option<Vec<String>> {
        let text = untrusted::read_file(self.0.as_ref()?, MAX_BYTES).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }

    pub(crate) fn write(&self, tags: &[String]) {
        let Some(path) = &self.0 else { return };
        let draft = path.with_extension(std::process::id().to_string());
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(path))?;
            let mut file = fs::File::create_new(&draft)?;
            file.write_all(tags.join("\n").as_bytes())?;
            fs::rename(&draft, path)
        };
        if write().is_err() {
            let _ = fs::remove_file(&draft);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_kept_and_a_missing_cache_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let repository: Repository = "a.example/one".parse().unwrap();
        let cache = Cache::Folder(folder.path().join("cache"));
        let cache = TagCache::new(&cache, &repository);
        assert_eq!((cache.recent(), cache.old()), (None, None));
        let tags = ["1.0".to_owned(), "latest".to_owned()];
        cache.write(&tags);
        assert_eq!(cache.recent().unwrap(), tags);
        let off = TagCache::new(&Cache::Off, &repository);
        off.write(&tags);
        assert_eq!(off.old(), None);
    }
}
