//! The labels and platforms of an image, read from its manifest and configuration; no layer is
//! fetched. `schedctl info` prints them.
//!
//! All of it is what the image claims: only the digests are verified, and nothing is decided here.

mod config;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schedkit_core::{Digest, ImageRef, PinnedRef};
use serde::Serialize;

use crate::registry::{Content, ContentError, Descriptor, Document, Index, Manifest};
use crate::registry::{Platform, Registry, RegistryError, choose};
use crate::untrusted;
pub(crate) use config::Config;

pub(crate) const MAX_CONFIG_BYTES: usize = 1024 * 1024;
const MAX_FIELD_CHARACTERS: usize = 2000;
const MAX_PLATFORMS: usize = 64;
const KERNEL_MIN_VERSION: &str = "org.schedkit.scheduler.kernel.min-version";

/// What an image claims about itself. A missing value is `None`, never an empty text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Of the index, when there is one: this digest is signed.
    pub digest: Digest,
    pub platforms: Vec<String>,
    /// The platform that the other fields describe.
    pub architecture: Option<String>,
    /// See `architecture`.
    pub os: Option<String>,
    pub created: Option<Timestamp>,
    /// Whether it names a program to start: an entrypoint, or a command, which takes its place.
    pub has_entrypoint: bool,
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

/// The minimum kernel among labels that a runtime has stored.
pub fn kernel_min_version(labels: &BTreeMap<String, String>) -> Option<String> {
    labels.get(KERNEL_MIN_VERSION).and_then(|text| field(text))
}

/// Why an image could not be described.
#[derive(Debug, thiserror::Error)]
pub enum InfoError {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("{image} cannot be read")]
    Content {
        image: PinnedRef,
        #[source]
        source: ContentError,
    },
    #[error("{image} has no image for Linux")]
    NoLinux { image: PinnedRef },
    #[error("{image} is an index inside an index, which no runtime runs")]
    Nested { image: PinnedRef },
    #[error("the configuration of {image} cannot be read")]
    Config {
        image: PinnedRef,
        #[source]
        source: serde_json::Error,
    },
}

/// Describes an image: the variant for `machine`, else the first for Linux.
///
/// # Errors
/// When the request fails or the content is no image.
pub async fn info(
    registry: &impl Registry,
    image: &ImageRef,
    machine: &Platform,
) -> Result<Info, InfoError> {
    let document = registry.document(image).await?;
    let pinned = PinnedRef::new(image.repository().clone(), document.digest.clone());
    let (found, listed) = match content(&pinned, &document)? {
        Content::Manifest(manifest) => (DescribedManifest::without_index(manifest), Vec::new()),
        Content::Index(index) => {
            let listed = platforms(&index);
            (from_index(registry, &pinned, index, machine).await?, listed)
        }
    };
    let blob = &found.manifest.config;
    let bytes = registry
        .blob(pinned.repository(), blob, MAX_CONFIG_BYTES)
        .await?;
    let config = Config::parse(&bytes).map_err(|source| {
        let image = pinned.clone();
        InfoError::Config { image, source }
    })?;
    Ok(describe(pinned.digest().clone(), listed, &found, &config))
}

/// A manifest, with the annotations of the index that lists it.
struct DescribedManifest {
    manifest: Manifest,
    index_annotations: BTreeMap<String, String>,
}

impl DescribedManifest {
    fn without_index(manifest: Manifest) -> Self {
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

async fn from_index(
    registry: &impl Registry,
    image: &PinnedRef,
    index: Index,
    machine: &Platform,
) -> Result<DescribedManifest, InfoError> {
    let Some(chosen) = best_entry(&index, machine) else {
        let image = image.clone();
        return Err(InfoError::NoLinux { image });
    };
    let image = PinnedRef::new(image.repository().clone(), chosen.digest.clone());
    let document = registry.manifest(&image).await?;
    match content(&image, &document)? {
        Content::Manifest(manifest) => Ok(DescribedManifest {
            manifest,
            index_annotations: index.annotations,
        }),
        Content::Index(_) => Err(InfoError::Nested { image }),
    }
}

/// Unlike an image to run, an image to describe may be for another platform.
fn best_entry<'a>(index: &'a Index, machine: &Platform) -> Option<&'a Descriptor> {
    let is_linux = |entry: &&Descriptor| {
        let platform = entry.platform.as_ref();
        platform.is_some_and(|platform| platform.os == "linux")
    };
    let exact = choose(index, machine).ok();
    exact.or_else(|| index.manifests.iter().find(is_linux))
}

fn platforms(index: &Index) -> Vec<String> {
    let mut names = Vec::new();
    for platform in index.manifests.iter().filter_map(|m| m.platform.as_ref()) {
        let name = platform.to_string();
        // Build attestations are listed as images for the platform unknown/unknown.
        let is_image = platform.os != "unknown";
        if is_image && !names.contains(&name) && names.len() < MAX_PLATFORMS {
            names.push(name);
        }
    }
    names
}

/// The configuration's labels come first, then the annotations of the manifest and of the index:
/// builders write the same keys to any of the three.
fn describe(
    digest: Digest,
    listed: Vec<String>,
    found: &DescribedManifest,
    config: &Config,
) -> Info {
    let label = |name: &str| {
        [
            &config.labels,
            &found.manifest.annotations,
            &found.index_annotations,
        ]
        .into_iter()
        .find_map(|labels| labels.get(name).and_then(|text| field(text)))
    };
    let standard = |name: &str| label(&format!("org.opencontainers.image.{name}"));
    let architecture = config.architecture.as_deref().and_then(field);
    let os = config.os.as_deref().and_then(field);
    let own_platform = || match (&os, &architecture) {
        (Some(os), Some(architecture)) => vec![format!("{os}/{architecture}")],
        _ => Vec::new(),
    };
    let created = standard("created").or_else(|| config.created.clone());
    Info {
        digest,
        platforms: if listed.is_empty() {
            own_platform()
        } else {
            listed
        },
        created: created.and_then(|text| text.parse().ok()),
        has_entrypoint: config.has_entrypoint,
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
            kernel_min_version: label(KERNEL_MIN_VERSION),
        },
        architecture,
        os,
    }
}

/// Printable and cut to the limit; `None` when nothing is left.
fn field(text: &str) -> Option<String> {
    let text: String = untrusted::printable(text.trim())
        .chars()
        .take(MAX_FIELD_CHARACTERS)
        .collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests;
