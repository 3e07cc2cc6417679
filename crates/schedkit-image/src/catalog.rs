//! The catalog: short names of schedulers and where their images live.
//!
//! ```text
//! word ──▶ a name of the catalog ──▶ its image
//!     └──▶ a reference with a host ──▶ itself
//!     └──▶ neither: an error that knows what may have been meant
//! ```
//!
//! schedctl asks [`Catalog::resolve`]; where the text comes from is [`source`]'s business. A
//! catalog decides nothing about trust: wherever a name leads, the policy decides who must have
//! signed what is there. It does decide which of their images a name means.

mod cache;
mod download;
mod name;
mod parse;
pub mod source;
mod suggest;

use std::collections::BTreeMap;

use schedkit_core::ImageRef;
use schedkit_core::image_ref::ImageRefError;

pub use cache::Cache;
pub use download::{CatalogUrl, DownloadError, UrlError};
pub use name::{NameError, SchedulerName};
pub use parse::CatalogError;
pub use source::{Loaded, Location, Origin, Source, SourceError, Warning, load};

use crate::foreign;

/// What ships inside the program, for machines that cannot ask.
const SNAPSHOT: &str = include_str!("../../../catalog/manifest.json");

/// Names and images, in the order of the names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    entries: BTreeMap<SchedulerName, ImageRef>,
}

/// What a word on the command line stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// A name that the catalog knows.
    Named {
        /// The name.
        name: SchedulerName,
        /// The image that the catalog gives it.
        image: ImageRef,
    },
    /// The word was a reference itself.
    Reference(ImageRef),
}

/// Why a word stands for no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Not in the catalog, and without a host.
    #[error("no scheduler in the catalog is called {word:?}{}", suggest::hint(.nearest))]
    Unknown {
        /// The word, fit to print.
        word: String,
        /// What may have been meant, the likeliest first.
        nearest: Vec<String>,
    },
    /// It has a `/`, so it was meant as a reference.
    #[error("{word:?} is no image reference")]
    Reference {
        /// The word, fit to print.
        word: String,
        /// What is wrong with it.
        #[source]
        source: ImageRefError,
    },
}

impl Catalog {
    /// Reads a catalog. Strict about everything that it uses: names and references are well
    /// formed, none stands twice, size and number are limited. Fields of an entry that we do not
    /// know are passed over, because one published file serves every version of schedctl.
    ///
    /// # Errors
    /// Names the line, the column and the reason.
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        parse::parse(text).map(|entries| Self { entries })
    }

    /// The catalog that ships inside the program.
    ///
    /// # Errors
    /// Never in a program whose tests have passed.
    pub fn snapshot() -> Result<Self, CatalogError> {
        Self::parse(SNAPSHOT)
    }

    /// Every name with its image, in the order of the names.
    pub fn entries(&self) -> impl Iterator<Item = (&SchedulerName, &ImageRef)> {
        self.entries.iter()
    }

    /// Finds out what a word stands for: a name of the catalog, else a reference.
    ///
    /// # Errors
    /// When it is neither; the error suggests the nearest names.
    pub fn resolve(&self, word: &str) -> Result<Resolution, ResolveError> {
        if let Some((name, image)) = self.entries.get_key_value(word) {
            let (name, image) = (name.clone(), image.clone());
            return Ok(Resolution::Named { name, image });
        }
        if let Some(resolution) = Resolution::without_catalog(word) {
            return resolution;
        }
        let nearest = suggest::nearest(word, &self.entries);
        let word = foreign::brief(word);
        Err(ResolveError::Unknown { word, nearest })
    }
}

impl Resolution {
    /// The same answer as [`Catalog::resolve`] for a word that no catalog can know, so that none
    /// need be loaded for it: names never have a `/`, references always do.
    pub fn without_catalog(word: &str) -> Option<Result<Self, ResolveError>> {
        word.contains('/').then(|| {
            word.parse().map(Self::Reference).map_err(|source| {
                let word = foreign::brief(word);
                ResolveError::Reference { word, source }
            })
        })
    }

    /// The image.
    pub fn image(&self) -> &ImageRef {
        match self {
            Self::Named { image, .. } | Self::Reference(image) => image,
        }
    }

    /// What the scheduler is called: its name in the catalog, else the last word of its path.
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

#[cfg(test)]
mod tests;
