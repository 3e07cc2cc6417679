//! Where the text of a catalog comes from.
//!
//! ```text
//! named by the user:  FILE or URL ──────────────▶ catalog, else an error
//! default:            published URL ─▶ cache ─▶ snapshot: always a catalog, perhaps a warning;
//!                     each name with the image that the program knows (`pinned`)
//! ```
//!
//! A catalog that the user names is never replaced by another. The caller prints the warning.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::cache::Cache;
use super::download::{CatalogUrl, Download, DownloadError, UrlError, download};
use super::parse::{CatalogError, MAX_BYTES};
use super::pinned::{self, NotPinned};
use super::resolve::Catalog;
use crate::untrusted::{self, ReadError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Named by the user.
    Given(Location),
    /// The project's catalog at this URL, else the cached copy, else the embedded one.
    Published(CatalogUrl),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    Url(CatalogUrl),
    File(PathBuf),
}

#[derive(Debug)]
pub struct Loaded {
    pub catalog: Catalog,
    pub origin: Origin,
    /// Set when an older copy is used.
    pub warning: Option<FallbackWarning>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Read or confirmed just now.
    Location(Location),
    /// Downloaded from this URL by an earlier run.
    Cache(CatalogUrl),
    /// Embedded in the program.
    Snapshot,
}

/// The published catalog could not be used, so an older copy is.
#[derive(Debug, thiserror::Error)]
#[error("using {used} instead of the published catalog")]
pub struct FallbackWarning {
    used: Origin,
    #[source]
    cause: SourceError,
}

/// Why a catalog cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("the catalog {path:?} cannot be used")]
    File {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("the catalog {url} cannot be used")]
    Url {
        url: CatalogUrl,
        #[source]
        source: DownloadError,
    },
    #[error("the catalog {location} is invalid")]
    Invalid {
        location: Location,
        #[source]
        source: CatalogError,
    },
    #[error("the catalog {url} is not accepted")]
    NotPinned {
        url: CatalogUrl,
        #[source]
        source: Box<NotPinned>,
    },
    #[error("the embedded catalog is invalid")]
    Snapshot(#[source] CatalogError),
}

/// # Errors
/// When a catalog that the user named cannot be used. For the published one, a missing network is
/// no error.
pub async fn load(source: &Source, cache: &Cache) -> Result<Loaded, SourceError> {
    match source {
        Source::Given(Location::File(path)) => read(path.clone()),
        Source::Given(Location::Url(url)) => fetch(url, cache, |_| Ok(())).await,
        Source::Published(url) => match fetch(url, cache, pinned::check).await {
            Err(cause) => fall_back(url, cache, cause),
            loaded => loaded,
        },
    }
}

/// The catalog as it is on this machine, without a request: of a URL the cached copy, for the
/// published one otherwise the embedded copy. `None` if there is none.
pub fn load_stored(source: &Source, cache: &Cache) -> Option<Catalog> {
    let cached = |url| cache.read(url).map(|cached| cached.catalog);
    match source {
        Source::Given(Location::File(path)) => read(path.clone()).ok().map(|read| read.catalog),
        Source::Given(Location::Url(url)) => cached(url),
        Source::Published(url) => {
            let cached = cached(url).filter(|catalog| pinned::check(catalog).is_ok());
            cached.or_else(|| Catalog::snapshot().ok())
        }
    }
}

fn read(path: PathBuf) -> Result<Loaded, SourceError> {
    match untrusted::read_file(&path, MAX_BYTES) {
        Ok(text) => parse(&text, Location::File(path)),
        Err(source) => Err(SourceError::File { path, source }),
    }
}

/// The cached copy is replaced only by a valid catalog that is accepted.
async fn fetch(
    url: &CatalogUrl,
    cache: &Cache,
    check: fn(&Catalog) -> Result<(), NotPinned>,
) -> Result<Loaded, SourceError> {
    let cached = cache.read(url);
    let cached = cached.filter(|cached| check(&cached.catalog).is_ok());
    let known = cached.as_ref().and_then(|cached| cached.etag.as_ref());
    let download = download(url, known).await;
    let location = Location::Url(url.clone());
    match (download, cached) {
        (Ok(Download::New { text, etag }), _) => {
            let loaded = parse(&text, location)?;
            check(&loaded.catalog).map_err(|source| {
                let url = url.clone();
                let source = Box::new(source);
                SourceError::NotPinned { url, source }
            })?;
            cache.write(url, &text, etag.as_ref());
            Ok(loaded)
        }
        (Ok(Download::Unchanged), Some(cached)) => Ok(Loaded::from(cached.catalog, location)),
        (Ok(Download::Unchanged), None) => {
            let source = DownloadError::Status(reqwest::StatusCode::NOT_MODIFIED);
            let url = url.clone();
            Err(SourceError::Url { url, source })
        }
        (Err(source), _) => {
            let url = url.clone();
            Err(SourceError::Url { url, source })
        }
    }
}

fn fall_back(url: &CatalogUrl, cache: &Cache, cause: SourceError) -> Result<Loaded, SourceError> {
    let cached = cache.read(url);
    let cached = cached.filter(|cached| pinned::check(&cached.catalog).is_ok());
    let (catalog, origin) = match cached {
        Some(cached) => (cached.catalog, Origin::Cache(url.clone())),
        None => {
            let snapshot = Catalog::snapshot().map_err(SourceError::Snapshot)?;
            (snapshot, Origin::Snapshot)
        }
    };
    let used = origin.clone();
    Ok(Loaded {
        catalog,
        origin,
        warning: Some(FallbackWarning { used, cause }),
    })
}

fn parse(text: &str, location: Location) -> Result<Loaded, SourceError> {
    match Catalog::parse(text) {
        Ok(catalog) => Ok(Loaded::from(catalog, location)),
        Err(source) => Err(SourceError::Invalid { location, source }),
    }
}

impl Loaded {
    fn from(catalog: Catalog, location: Location) -> Self {
        Self {
            catalog,
            origin: Origin::Location(location),
            warning: None,
        }
    }
}

/// A text with `://` is a URL, any other a path.
impl FromStr for Location {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.contains("://") {
            text.parse().map(Self::Url)
        } else {
            Ok(Self::File(PathBuf::from(text)))
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Location(location) => location.fmt(f),
            Self::Cache(_) => f.write_str("the cached copy"),
            Self::Snapshot => f.write_str("the embedded copy"),
        }
    }
}

#[cfg(test)]
mod tests;
