//! The last good catalog of each address, with the mark that the server gave it.
//!
//! Text and mark are one file, replaced by rename: they never disagree, and two schedctl at once
//! do no harm. Only texts that parse are kept. A cache that cannot be used is as good as an empty
//! one, so nothing here is an error.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Catalog;
use super::download::{CatalogUrl, ETag};
use super::parse::LARGEST;
use crate::{foreign, hash};

/// A text of the largest size in the worst spelling that JSON has for it.
const LARGEST_FILE: usize = 6 * LARGEST + 4096;

/// Where catalogs are kept between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cache {
    /// In this folder, which is made when it is first needed.
    Folder(PathBuf),
    /// Nowhere.
    Off,
}

/// What was kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) catalog: Catalog,
    pub(super) etag: Option<ETag>,
}

#[derive(Serialize, Deserialize)]
struct File {
    etag: Option<String>,
    catalog: String,
}

impl Cache {
    /// What was kept of this address, if it is still a catalog.
    pub(super) fn read(&self, url: &CatalogUrl) -> Option<Kept> {
        let text = foreign::read_file(&self.path(url)?, LARGEST_FILE).ok()?;
        let file: File = serde_json::from_str(&text).ok()?;
        let catalog = Catalog::parse(&file.catalog).ok()?;
        let etag = file.etag.as_deref().and_then(ETag::parse);
        Some(Kept { catalog, etag })
    }

    /// Keeps a text that has been parsed. That it cannot be kept is no reason to fail: the next
    /// run asks again.
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

    /// Named by a hash: an address may carry a token, and file names are public.
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
