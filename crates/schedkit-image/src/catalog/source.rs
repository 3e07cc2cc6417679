//! Where a catalog's text comes from.
//!
//! ```text
//! named by the user:  FILE or URL ──────────────▶ catalog, else an error
//! nobody named one:   published URL ─▶ cache ─▶ snapshot: always a catalog, perhaps a warning
//! ```
//!
//! Whoever names a catalog means that one, so another in its place would be a lie. Printing the
//! warning is for the caller.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::cache::Cache;
use super::download::{Answer, CatalogUrl, DownloadError, UrlError, download};
use super::parse::LARGEST;
use super::{Catalog, CatalogError};
use crate::foreign::{self, ReadError};

/// Which catalog is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// This one and no other.
    Given(Location),
    /// The project's own, from here, or the nearest thing to it.
    Published(CatalogUrl),
}

/// Where a catalog lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Over the network.
    Url(CatalogUrl),
    /// On this machine.
    File(PathBuf),
}

/// A catalog and how we came by it.
#[derive(Debug)]
pub struct Loaded {
    /// The catalog.
    pub catalog: Catalog,
    /// Where it really came from.
    pub origin: Origin,
    /// Set when that is not where it should have come from.
    pub warning: Option<Warning>,
}

/// Where a catalog came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file or an address, just now (or just now confirmed).
    Location(Location),
    /// What an earlier run kept of this address.
    Cache(CatalogUrl),
    /// The one that ships inside the program.
    Snapshot,
}

/// The published catalog could not be used; something older stands in.
#[derive(Debug, thiserror::Error)]
#[error("using {instead} instead of the published catalog")]
pub struct Warning {
    instead: Origin,
    #[source]
    cause: SourceError,
}

/// Why there is no catalog.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file.
    #[error("the catalog {path:?} cannot be used")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// The address.
    #[error("the catalog {url} cannot be used")]
    Url {
        /// Which.
        url: CatalogUrl,
        /// Why.
        #[source]
        source: DownloadError,
    },
    /// It came, and is none.
    #[error("the catalog {location} is broken")]
    Broken {
        /// Which.
        location: Location,
        /// Where and why.
        #[source]
        source: CatalogError,
    },
    /// The one inside the program.
    #[error("the catalog inside the program is broken")]
    Snapshot(#[source] CatalogError),
}

/// Gets the catalog that is wanted.
///
/// # Errors
/// When a catalog that somebody named cannot be used. Not having network is no error otherwise.
pub async fn load(source: &Source, cache: &Cache) -> Result<Loaded, SourceError> {
    match source {
        Source::Given(Location::File(path)) => read(path.clone()),
        Source::Given(Location::Url(url)) => fetch(url, cache).await,
        Source::Published(url) => match fetch(url, cache).await {
            Err(cause) => fall_back(url, cache, cause),
            loaded => loaded,
        },
    }
}

fn read(path: PathBuf) -> Result<Loaded, SourceError> {
    match foreign::read_file(&path, LARGEST) {
        Ok(text) => parse(&text, Location::File(path)),
        Err(source) => Err(SourceError::File { path, source }),
    }
}

/// A text replaces what was kept only once it has been understood.
async fn fetch(url: &CatalogUrl, cache: &Cache) -> Result<Loaded, SourceError> {
    let kept = cache.read(url);
    let known = kept.as_ref().and_then(|kept| kept.etag.as_ref());
    let answer = download(url, known).await;
    let location = Location::Url(url.clone());
    match (answer, kept) {
        (Ok(Answer::New { text, etag }), _) => {
            let loaded = parse(&text, location)?;
            cache.write(url, &text, etag.as_ref());
            Ok(loaded)
        }
        (Ok(Answer::Unchanged), Some(kept)) => Ok(Loaded::from(kept.catalog, location)),
        (Ok(Answer::Unchanged), None) => {
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
    let (catalog, origin) = match cache.read(url) {
        Some(kept) => (kept.catalog, Origin::Cache(url.clone())),
        None => {
            let snapshot = Catalog::snapshot().map_err(SourceError::Snapshot)?;
            (snapshot, Origin::Snapshot)
        }
    };
    let instead = origin.clone();
    Ok(Loaded {
        catalog,
        origin,
        warning: Some(Warning { instead, cause }),
    })
}

fn parse(text: &str, location: Location) -> Result<Loaded, SourceError> {
    match Catalog::parse(text) {
        Ok(catalog) => Ok(Loaded::from(catalog, location)),
        Err(source) => Err(SourceError::Broken { location, source }),
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

/// What has `://` is an address, everything else a path.
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
            Self::Cache(_) => f.write_str("the copy that was kept"),
            Self::Snapshot => f.write_str("the copy inside the program"),
        }
    }
}

#[cfg(test)]
mod tests;
