//! Reads title and version of an image whose digest is signed: the labels of its configuration, and
//! the annotations of its manifest and of its index. All of them are covered by the digest, so none
//! of them may say something else than what was asked for.
//!
//! An image for several platforms has several configurations. At most [`MAX_VARIANTS`] are read.

use std::collections::{BTreeMap, BTreeSet};

use schedkit_core::{Digest, PinnedRef};

use super::asked::AskedImage;
use crate::info::{Config, MAX_CONFIG_BYTES};
use crate::registry::{Content, Descriptor, Index, Manifest, Platform, Registry, RegistryError};
use crate::untrusted::brief;

const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";
const MAX_VARIANTS: usize = 16;

/// What the image says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SignedLabels {
    /// Every title; empty when there is none.
    pub(super) titles: BTreeSet<String>,
    /// Every version, without those of an image that has none.
    pub(super) versions: BTreeSet<String>,
    /// Whether an image for one of the platforms has no version.
    pub(super) lacks_version: bool,
    /// Of everything that its index lists.
    pub(super) digests: BTreeSet<Digest>,
}

/// The outer error is a failed request, the inner one the reason why the image cannot be read.
pub(super) async fn read(
    registry: &impl Registry,
    asked: &AskedImage<'_>,
) -> Result<Result<SignedLabels, String>, RegistryError> {
    let mut labels = SignedLabels::default();
    let none = BTreeMap::new();
    let index = match content(registry, asked.image).await? {
        Ok(Content::Index(index)) => index,
        Ok(Content::Manifest(manifest)) => {
            let read = labels.read(registry, asked.image, &manifest, &none).await?;
            return Ok(read.map(|()| labels));
        }
        Err(why) => return Ok(Err(why)),
    };
    let listed = of_platforms(&index, asked.machine);
    if listed.is_empty() || listed.len() > MAX_VARIANTS {
        let count = listed.len();
        let why = format!("it lists {count} images for Linux, and 1 to {MAX_VARIANTS} are read");
        return Ok(Err(why));
    }
    let digests = index.manifests.iter().map(|entry| entry.digest.clone());
    labels.digests = digests.collect();
    // One after the other, so that no more than one manifest is in memory.
    for entry in listed {
        let image = PinnedRef::new(asked.image.repository().clone(), entry.digest.clone());
        let read = match content(registry, &image).await? {
            Ok(Content::Manifest(manifest)) => {
                let of_index = &index.annotations;
                labels.read(registry, &image, &manifest, of_index).await?
            }
            Ok(Content::Index(_)) => Err("it lists another index".to_owned()),
            Err(why) => Err(why),
        };
        if let Err(why) = read {
            return Ok(Err(why));
        }
    }
    Ok(Ok(labels))
}

async fn content(
    registry: &impl Registry,
    image: &PinnedRef,
) -> Result<Result<Content, String>, RegistryError> {
    let document = registry.manifest(image).await?;
    let content = Content::parse(&document.bytes);
    Ok(content.map_err(|error| brief(&error.to_string())))
}

/// The images of all variants for the machine that was named, because runtimes differ in which one
/// they choose; else, or if there is none for it, those for all platforms of Linux.
fn of_platforms<'a>(index: &'a Index, machine: Option<&Platform>) -> Vec<&'a Descriptor> {
    let fits = |entry: &&Descriptor| {
        let platform = entry.platform.as_ref().zip(machine);
        platform.is_some_and(|(one, machine)| one.has_same_os_and_architecture(machine))
    };
    let entries = || index.manifests.iter();
    let fitting: Vec<_> = entries().filter(fits).collect();
    match fitting.is_empty() {
        true => entries().filter(|entry| is_linux(entry)).collect(),
        false => fitting,
    }
}

/// An image without a platform may be for Linux.
fn is_linux(entry: &Descriptor) -> bool {
    let platform = entry.platform.as_ref();
    platform.is_none_or(|platform| platform.os == "linux")
}

impl SignedLabels {
    async fn read(
        &mut self,
        registry: &impl Registry,
        image: &PinnedRef,
        manifest: &Manifest,
        of_index: &BTreeMap<String, String>,
    ) -> Result<Result<(), String>, RegistryError> {
        let repository = image.repository();
        let bytes = registry
            .blob(repository, &manifest.config, MAX_CONFIG_BYTES)
            .await?;
        let config = Config::parse(&bytes);
        let read = config.map(|config| {
            self.add([&config.labels, &manifest.annotations, of_index]);
        });
        Ok(read.map_err(|error| brief(&error.to_string())))
    }

    fn add(&mut self, places: [&BTreeMap<String, String>; 3]) {
        let values = |name: &str| -> BTreeSet<String> {
            let values = places.into_iter().filter_map(|labels| labels.get(name));
            let values = values
                .map(|text| text.trim())
                .filter(|text| !text.is_empty());
            values.map(str::to_owned).collect()
        };
        let versions = values(VERSION);
        self.lacks_version |= versions.is_empty();
        self.versions.extend(versions);
        self.titles.extend(values(TITLE));
    }
}
