//! What an image says about itself, without fetching more of it than its description.
//!
//! `schedctl info` prints it. All of it is the image's own word: nothing here has been verified
//! but the digests, and nothing here decides anything.

mod config;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schedkit_core::{Digest, ImageRef, PinnedRef};
use serde::Serialize;

use crate::foreign;
use crate::registry::{Content, ContentError, Descriptor, Document, Index, Manifest};
use crate::registry::{Platform, Registry, RegistryError, choose};
use config::Config;

/// No real description comes near it.
const LARGEST_CONFIG: usize = 1024 * 1024;
const LONGEST_FIELD: usize = 2000;
const MOST_PLATFORMS: usize = 64;

/// An image's description of itself. What it does not say is `None`, never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// What the reference led to: the index, when there is one. This is what is signed.
    pub digest: Digest,
    /// Every platform it has an image for.
    pub platforms: Vec<String>,
    /// The platform that the rest is about.
    pub architecture: Option<String>,
    /// See `architecture`.
    pub os: Option<String>,
    /// When it was built.
    pub created: Option<Timestamp>,
    /// What its labels say.
    pub labels: Labels,
}

/// The labels that a scheduler image should have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Labels {
    /// `org.opencontainers.image.title`.
    pub title: Option<String>,
    /// `org.opencontainers.image.description`.
    pub description: Option<String>,
    /// `org.opencontainers.image.documentation`.
    pub documentation: Option<String>,
    /// `org.opencontainers.image.source`.
    pub source_url: Option<String>,
    /// `org.opencontainers.image.version`.
    pub version: Option<String>,
    /// `org.opencontainers.image.revision`.
    pub revision: Option<String>,
    /// `org.opencontainers.image.authors`.
    pub authors: Option<String>,
    /// `org.opencontainers.image.licenses`.
    pub licenses: Option<String>,
    /// `org.opencontainers.image.vendor`.
    pub vendor: Option<String>,
    /// `org.schedkit.scheduler.kernel.min-version`.
    pub kernel_min_version: Option<String>,
}

/// Why an image could not be described.
#[derive(Debug, thiserror::Error)]
pub enum InfoError {
    /// The registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// What it gave.
    #[error("{image} cannot be read")]
    Content {
        /// Which image.
        image: PinnedRef,
        /// What is wrong.
        #[source]
        source: ContentError,
    },
    /// An index without anything for Linux.
    #[error("{image} has no image for Linux")]
    NoLinux {
        /// Which image.
        image: PinnedRef,
    },
    /// An index inside an index.
    #[error("{image} is an index inside an index, which nobody runs")]
    Nested {
        /// Which image.
        image: PinnedRef,
    },
    /// Its configuration.
    #[error("the configuration of {image} cannot be read")]
    Config {
        /// Which image.
        image: PinnedRef,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// Describes an image: as it is for `machine`, else as it is for the first Linux it has.
///
/// # Errors
/// When the registry does not give it, or it is not what an image looks like.
pub async fn info(
    registry: &impl Registry,
    image: &ImageRef,
    machine: &Platform,
) -> Result<Info, InfoError> {
    let document = registry.document(image).await?;
    let pinned = PinnedRef::new(image.repository().clone(), document.digest.clone());
    let (found, listed) = match content(&pinned, &document)? {
        Content::Manifest(manifest) => (Found::alone(manifest), Vec::new()),
        Content::Index(index) => {
            let listed = platforms(&index);
            (within(registry, &pinned, index, machine).await?, listed)
        }
    };
    let blob = &found.manifest.config;
    let bytes = registry
        .blob(pinned.repository(), blob, LARGEST_CONFIG)
        .await?;
    let config = Config::parse(&bytes).map_err(|source| {
        let image = pinned.clone();
        InfoError::Config { image, source }
    })?;
    Ok(describe(pinned.digest().clone(), listed, &found, &config))
}

/// A manifest, with the words of the index it was found in.
struct Found {
    manifest: Manifest,
    index_annotations: BTreeMap<String, String>,
}

impl Found {
    fn alone(manifest: Manifest) -> Self {
        let index_annotations = BTreeMap::new();
        Self {
            manifest,
            index_annotations,
        }
    }
}

fn content(image: &PinnedRef, document: &Document) -> Result<Content, InfoError> {
    Content::parse(&document.bytes).map_err(|source| {
        let image = image.clone();
        InfoError::Content { image, source }
    })
}

async fn within(
    registry: &impl Registry,
    image: &PinnedRef,
    index: Index,
    machine: &Platform,
) -> Result<Found, InfoError> {
    let Some(chosen) = nearest(&index, machine) else {
        let image = image.clone();
        return Err(InfoError::NoLinux { image });
    };
    let image = PinnedRef::new(image.repository().clone(), chosen.digest.clone());
    let document = registry.manifest(&image).await?;
    match content(&image, &document)? {
        Content::Manifest(manifest) => Ok(Found {
            manifest,
            index_annotations: index.annotations,
        }),
        Content::Index(_) => Err(InfoError::Nested { image }),
    }
}

/// Unlike what is run, what is looked at may be for another machine.
fn nearest<'a>(index: &'a Index, machine: &Platform) -> Option<&'a Descriptor> {
    let is_linux = |entry: &&Descriptor| {
        let platform = entry.platform.as_ref();
        platform.is_some_and(|platform| platform.os == "linux")
    };
    let ours = choose(index, machine).ok();
    ours.or_else(|| index.manifests.iter().find(is_linux))
}

fn platforms(index: &Index) -> Vec<String> {
    let mut names = Vec::new();
    for platform in index.manifests.iter().filter_map(|m| m.platform.as_ref()) {
        let name = platform.to_string();
        // Build attestations ride along as images for a machine that nobody has.
        let real = platform.os != "unknown";
        if real && !names.contains(&name) && names.len() < MOST_PLATFORMS {
            names.push(name);
        }
    }
    names
}

/// The configuration's labels come first, then what the manifest and the index are annotated with:
/// builders write the same words in any of the three places.
fn describe(digest: Digest, listed: Vec<String>, found: &Found, config: &Config) -> Info {
    let word = |name: &str| {
        [
            &config.labels,
            &found.manifest.annotations,
            &found.index_annotations,
        ]
        .into_iter()
        .find_map(|words| words.get(name).and_then(|text| field(text)))
    };
    let standard = |name: &str| word(&format!("org.opencontainers.image.{name}"));
    let architecture = config.architecture.as_deref().and_then(field);
    let os = config.os.as_deref().and_then(field);
    let own = || match (&os, &architecture) {
        (Some(os), Some(architecture)) => vec![format!("{os}/{architecture}")],
        _ => Vec::new(),
    };
    let created = standard("created").or_else(|| config.created.clone());
    Info {
        digest,
        platforms: if listed.is_empty() { own() } else { listed },
        created: created.and_then(|text| text.parse().ok()),
        labels: Labels {
            title: standard("title"),
            description: standard("description"),
            documentation: standard("documentation"),
            source_url: standard("source"),
            version: standard("version"),
            revision: standard("revision"),
            authors: standard("authors"),
            licenses: standard("licenses"),
            vendor: standard("vendor"),
            kernel_min_version: word("org.schedkit.scheduler.kernel.min-version"),
        },
        architecture,
        os,
    }
}

/// Fit to print; nothing when there is nothing to print.
fn field(text: &str) -> Option<String> {
    let text: String = foreign::printable(text.trim())
        .chars()
        .take(LONGEST_FIELD)
        .collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests;
