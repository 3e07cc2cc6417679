//! The last valid catalog of each URL, with its ETag.
//!
//! Text and ETag are one file, replaced by rename: they always match, even when two processes write
//! at the same time. Only valid catalogs are stored. A cache that cannot be used counts as empty,
//! so nothing here is an error.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::download::{CatalogUrl, ETag};
use super::parse::MAX_BYTES;
use super::resolve::Catalog;
use crate::{hash, untrusted};

/// JSON can escape each byte of the text with six.
const MAX_FILE_BYTES: usize = 6 * MAX_BYTES + 4096;

/// Where downloaded catalogs are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cache {
    /// Created when it is first needed.
    Folder(PathBuf),
    Off,
}

#[derive(Debug)]
pub(super) struct CachedCatalog {
    pub(super) catalog: Catalog,
    pub(super) etag: Option<ETag>,
}

#[derive(Serialize, Deserialize)]
struct File {
    etag: Option<String>,
    catalog: String,
}

impl Cache {
    /// The stored catalog of this URL, if the file is valid.
    pub(super) fn read(&self, url: &CatalogUrl) -> Option<CachedCatalog> {
        let text = untrusted::read_file(&self.path(url)?, MAX_FILE_BYTES).ok()?;
        let file: File = serde_json::from_str(&text).ok()?;
        let catalog = Catalog::parse(&file.catalog).ok()?;
        let etag = file.etag.as_deref().and_then(ETag::parse);
        Some(CachedCatalog { catalog, etag })
    }

    /// Stores a text that has been parsed. Errors are ignored: the next run downloads it again.
    pub(super) fn write(&self, url: &CatalogUrl, text: &str, etag: Option<&ETag>) {
        if let Some(path) = self.path(url) {
            let file = File {
                etag: etag.map(|etag| etag.as_str().to_owned()),
                catalog: text.to_owned(),
            };
            let _ = serde_json::to_vec(&file)
                .map_err(io::Error::from)
                .and_then(|bytes| replace(&path, &bytes));
        }
    }

    /// Named by a hash: a URL may hold a token, and file names are public.
    fn path(&self, url: &CatalogUrl) -> Option<PathBuf> {
        match self {
            Self::Off => None,
            Self::Folder(folder) => {
                let hash = hash::sha256(url.as_str().as_bytes()).hex();
                Some(folder.join(format!("catalog-{hash}.json")))
            }
        }
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
