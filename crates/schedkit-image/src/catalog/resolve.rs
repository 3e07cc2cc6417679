//! The catalog itself: names with their images, and what a text on the command line stands for.

use std::collections::BTreeMap;

use schedkit_core::ImageRef;
use schedkit_core::image_ref::ImageRefError;

use super::name::SchedulerName;
use super::parse::{self, CatalogError};
use super::suggest;
use crate::untrusted;

/// Embedded in the program, for machines without a network.
const SNAPSHOT: &str = include_str!("../../../../catalog/manifest.json");

/// Names and their images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    entries: BTreeMap<SchedulerName, ImageRef>,
}

/// What a text on the command line stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// A name of the catalog.
    Named {
        name: SchedulerName,
        image: ImageRef,
    },
    Reference(ImageRef),
}

/// Why a text stands for no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Not in the catalog, and without a host.
    #[error("no scheduler in the catalog is called {text:?}{}", suggest::hint(.suggestions))]
    Unknown {
        /// Fit to print.
        text: String,
        /// The likeliest first.
        suggestions: Vec<String>,
    },
    /// It has a `/`, so it cannot be a name.
    #[error("{text:?} is not an image reference")]
    Reference {
        /// Fit to print.
        text: String,
        #[source]
        source: ImageRefError,
    },
}

impl Catalog {
    /// Parses a catalog, strictly: names and references must be well formed, names must be unique,
    /// size and number of entries are limited. Unknown fields of an entry are ignored, because one
    /// published file serves every version of schedctl.
    ///
    /// # Errors
    /// With line, column and reason.
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        parse::parse(text).map(|entries| Self { entries })
    }

    /// The catalog that is embedded in the program.
    ///
    /// # Errors
    /// Never with the embedded file, which a test checks.
    pub fn snapshot() -> Result<Self, CatalogError> {
        Self::parse(SNAPSHOT)
    }

    /// Sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = (&SchedulerName, &ImageRef)> {
        self.entries.iter()
    }

    /// Resolves a name of the catalog, else a reference.
    ///
    /// # Errors
    /// When the text is neither; the error has suggestions.
    pub fn resolve(&self, text: &str) -> Result<Resolution, ResolveError> {
        if let Some((name, image)) = self.entries.get_key_value(text) {
            let (name, image) = (name.clone(), image.clone());
            return Ok(Resolution::Named { name, image });
        }
        if let Some(resolution) = Resolution::without_catalog(text) {
            return resolution;
        }
        let suggestions = suggest::suggestions(text, &self.entries);
        let text = untrusted::brief(text);
        Err(ResolveError::Unknown { text, suggestions })
    }
}

impl Resolution {
    /// The same result as [`Catalog::resolve`] for a text that cannot be a name, so that no catalog
    /// needs to be loaded for it: names never have a `/`, references always do.
    pub fn without_catalog(text: &str) -> Option<Result<Self, ResolveError>> {
        text.contains('/').then(|| {
            text.parse().map(Self::Reference).map_err(|source| {
                let text = untrusted::brief(text);
                ResolveError::Reference { text, source }
            })
        })
    }

    pub fn image(&self) -> &ImageRef {
        match self {
            Self::Named { image, .. } | Self::Reference(image) => image,
        }
    }

    /// The name that was asked for, if a catalog led from it to the image.
    pub fn catalog_name(&self) -> Option<&str> {
        match self {
            Self::Named { name, .. } => Some(name.as_str()),
            Self::Reference(_) => None,
        }
    }

    /// The scheduler's name in the catalog, else the last part of the image's path.
    pub fn scheduler(&self) -> &str {
        match self {
            Self::Named { name, .. } => name.as_str(),
            Self::Reference(image) => {
                let path = image.repository().path();
                path.rsplit('/').next().unwrap_or(path)
            }
        }
    }
}
