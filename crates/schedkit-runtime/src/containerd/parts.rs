//! The parts of an image for this machine: index, manifest, configuration, layers. Called by `pull`
//! with content of the registry and by `store` with that of containerd's store.

use std::collections::BTreeMap;

use bytes::Bytes;
use schedkit_core::sanitize::brief;
use schedkit_core::{Digest, PinnedRef};
use schedkit_image::hash::sha256;
use schedkit_image::registry::{Content, Descriptor, Manifest, Platform, PlatformError, choose};
use serde::Deserialize;

use super::config::ImageConfig;
use crate::driver::{DriverError, ImageInStore};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Media types that all versions of containerd can unpack.
const LAYERS: [&str; 5] = [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];

#[derive(Debug)]
pub(super) struct Parts {
    /// The index or manifest that the image's digest names.
    pub(super) root: Document,
    /// The manifest, where the root is an index.
    pub(super) chosen: Option<Document>,
    pub(super) config_blob: Document,
    pub(super) config: ImageConfig,
    /// The lowest first.
    pub(super) layers: Vec<Descriptor>,
}

/// An index, a manifest or a configuration.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) media_type: String,
    pub(super) digest: Digest,
    pub(super) bytes: Bytes,
}

/// Identifies a document for its source.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartRef<'a> {
    /// An index or a manifest.
    Document(&'a Digest),
    /// A configuration.
    Blob(&'a Descriptor),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MediaType {
    #[serde(default)]
    media_type: Option<String>,
}

/// Loads and checks all parts but the layers' content. `None` when `fetch` does not have one of them.
pub(super) async fn gather(
    image: &PinnedRef,
    mut fetch: impl AsyncFnMut(PartRef<'_>) -> Result<Option<Bytes>, DriverError>,
) -> Result<Option<Parts>, DriverError> {
    let digest = image.digest();
    let Some(bytes) = fetch(PartRef::Document(digest)).await? else {
        return Ok(None);
    };
    let (root, content) = document(image, digest, bytes)?;
    let (chosen, manifest) = match content {
        Content::Manifest(manifest) => (None, manifest),
        Content::Index(index) => {
            let entry = choose(&index, &Platform::this_machine());
            let digest = &entry.map_err(|error| wrong_machine(image, error))?.digest;
            let Some(bytes) = fetch(PartRef::Document(digest)).await? else {
                return Ok(None);
            };
            match document(image, digest, bytes)? {
                (chosen, Content::Manifest(manifest)) => (Some(chosen), manifest),
                (_, Content::Index(_)) => return Err(invalid(image, "its index names an index")),
            }
        }
    };
    let Some(bytes) = fetch(PartRef::Blob(&manifest.config)).await? else {
        return Ok(None);
    };
    check_parts(image, root, chosen, manifest, bytes).map(Some)
}

fn check_parts(
    image: &PinnedRef,
    root: Document,
    chosen: Option<Document>,
    manifest: Manifest,
    config: Bytes,
) -> Result<Parts, DriverError> {
    let Manifest {
        config: descriptor,
        layers,
        ..
    } = manifest;
    check_digest(image, &descriptor.digest, &config)?;
    let unreadable = |error| invalid(image, &format!("its configuration is not JSON: {error}"));
    let parsed = ImageConfig::parse(&config).map_err(unreadable)?;
    let machine = Platform::this_machine();
    if !parsed.is_for(&machine) {
        return Err(DriverError::Architecture {
            image: image.to_string(),
            made_for: brief(&parsed.machine()),
            machine: machine.to_string(),
        });
    }
    let (named, described) = (layers.len(), parsed.diff_ids().len());
    if named != described {
        let reason = format!("its manifest has {named} layers, its configuration {described}");
        return Err(invalid(image, &reason));
    }
    let is_unknown = |layer: &&Descriptor| !LAYERS.contains(&layer.media_type.as_str());
    if let Some(layer) = layers.iter().find(is_unknown) {
        let reason = format!("a layer is of the unknown type {:?}", layer.media_type);
        return Err(invalid(image, &reason));
    }
    Ok(Parts {
        root,
        chosen,
        config_blob: Document {
            media_type: descriptor.media_type,
            digest: descriptor.digest,
            bytes: config,
        },
        config: parsed,
        layers,
    })
}

impl Parts {
    /// The bytes of all layers.
    pub(super) fn size(&self) -> u64 {
        let sizes = self.layers.iter().map(|layer| layer.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// As `schedctl info` reads it from a registry: configuration, manifest, index.
    pub(super) fn description(&self) -> ImageInStore {
        let manifest = match Content::parse(&self.manifest().bytes) {
            Ok(Content::Manifest(manifest)) => manifest.annotations,
            Ok(Content::Index(_)) | Err(_) => BTreeMap::new(),
        };
        let index = match Content::parse(&self.root.bytes) {
            Ok(Content::Index(index)) => index.annotations,
            Ok(Content::Manifest(_)) | Err(_) => BTreeMap::new(),
        };
        ImageInStore::new([self.config.labels(), &manifest, &index])
    }

    pub(super) fn manifest(&self) -> &Document {
        self.chosen.as_ref().unwrap_or(&self.root)
    }

    /// Labels by which the manifest keeps configuration and layers from being collected.
    pub(super) fn manifest_labels(&self) -> BTreeMap<String, String> {
        let config = self.config_blob.digest.to_string();
        let config = ("containerd.io/gc.ref.content.config".to_owned(), config);
        let layers = self.layers.iter().enumerate();
        let layers = layers.map(|(number, layer)| {
            let key = format!("containerd.io/gc.ref.content.l.{number}");
            (key, layer.digest.to_string())
        });
        layers.chain([config]).collect()
    }

    /// Labels by which the index keeps the one manifest that was pulled.
    pub(super) fn index_labels(&self) -> BTreeMap<String, String> {
        let key = "containerd.io/gc.ref.content.m.0".to_owned();
        BTreeMap::from([(key, self.manifest().digest.to_string())])
    }
}

fn document(
    image: &PinnedRef,
    digest: &Digest,
    bytes: Bytes,
) -> Result<(Document, Content), DriverError> {
    check_digest(image, digest, &bytes)?;
    let content = Content::parse(&bytes).map_err(|error| invalid(image, &error.to_string()))?;
    let parsed_type = serde_json::from_slice::<MediaType>(&bytes);
    let declared = parsed_type
        .ok()
        .and_then(|parsed_type| parsed_type.media_type);
    let default = match content {
        Content::Index(_) => INDEX,
        Content::Manifest(_) => MANIFEST,
    };
    let document = Document {
        media_type: declared.unwrap_or_else(|| default.to_owned()),
        digest: digest.clone(),
        bytes,
    };
    Ok((document, content))
}

/// The source has checked the digest already; this makes it independent of the source.
fn check_digest(image: &PinnedRef, expected: &Digest, bytes: &[u8]) -> Result<(), DriverError> {
    match sha256(bytes) {
        found if found == *expected => Ok(()),
        found => Err(invalid(
            image,
            &format!("the content of {expected} has the digest {found}"),
        )),
    }
}

pub(super) fn invalid(image: &PinnedRef, reason: &str) -> DriverError {
    DriverError::InvalidImage {
        image: image.to_string(),
        reason: brief(reason),
    }
}

fn wrong_machine(image: &PinnedRef, error: PlatformError) -> DriverError {
    let (made_for, machine) = match error {
        PlatformError::Others { wanted, available } => (available, wanted),
        PlatformError::None { wanted } => ("no machine".to_owned(), wanted),
    };
    DriverError::Architecture {
        image: image.to_string(),
        made_for,
        machine,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

    struct BlobStore(BTreeMap<Digest, Bytes>);

    impl BlobStore {
        fn put(&mut self, content: &Value) -> (Digest, usize) {
            let bytes = Bytes::from(content.to_string());
            let (digest, size) = (sha256(&bytes), bytes.len());
            self.0.insert(digest.clone(), bytes);
            (digest, size)
        }

        async fn parts(&self, root: &Digest) -> Result<Option<Parts>, DriverError> {
            let image = PinnedRef::new("a.b/c".parse().unwrap(), root.clone());
            let fetch = async |part: PartRef<'_>| {
                let digest = match part {
                    PartRef::Document(digest) => digest,
                    PartRef::Blob(blob) => &blob.digest,
                };
                Ok(self.0.get(digest).cloned())
            };
            gather(&image, fetch).await
        }
    }

    fn config(architecture: &str, layers: usize) -> Value {
        let diff_ids = vec![sha256(b"layer").to_string(); layers];
        json!({"architecture": architecture, "os": "linux", "rootfs": {"diff_ids": diff_ids}})
    }

    fn manifest(store: &mut BlobStore, config: &Value, layer: &str) -> (Digest, usize) {
        let (digest, size) = store.put(config);
        store.put(&json!({
            "config": {"digest": digest.to_string(), "size": size},
            "layers": [{"mediaType": layer, "digest": sha256(b"x").to_string(), "size": 7}],
        }))
    }

    fn ours() -> String {
        Platform::this_machine().architecture
    }

    #[tokio::test]
    async fn an_index_and_a_manifest_lead_to_the_same_parts() {
        let mut store = BlobStore(BTreeMap::new());
        let (single, size) = manifest(&mut store, &config(&ours(), 1), LAYER);
        let (index, _) = store.put(&json!({"manifests": [{
            "digest": single.to_string(), "size": size,
            "platform": {"os": "linux", "architecture": ours()},
        }]}));
        let plain = store.parts(&single).await.unwrap().unwrap();
        assert!(plain.chosen.is_none());
        assert_eq!(
            (plain.size(), plain.root.media_type.as_str()),
            (7, MANIFEST)
        );
        let chosen = store.parts(&index).await.unwrap().unwrap();
        assert_eq!(chosen.root.digest, index);
        assert_eq!(chosen.root.media_type, INDEX);
        assert_eq!(chosen.manifest().digest, single);
        let labels = chosen.manifest_labels();
        assert_eq!(
            labels["containerd.io/gc.ref.content.l.0"],
            sha256(b"x").to_string()
        );
        store.0.remove(&plain.config_blob.digest);
        assert!(store.parts(&index).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn invalid_images_are_refused() {
        let mut store = BlobStore(BTreeMap::new());
        let (other_machine, size) = manifest(&mut store, &config("s390x", 1), LAYER);
        let (index, _) = store.put(&json!({"manifests": [{
            "digest": other_machine.to_string(), "size": size,
            "platform": {"os": "linux", "architecture": "s390x"},
        }]}));
        let (mismatched, _) = manifest(&mut store, &config(&ours(), 2), LAYER);
        let (unknown, _) = manifest(&mut store, &config(&ours(), 1), "text/plain");
        let (mut swapped, _) = manifest(&mut store, &config(&ours(), 1), LAYER);
        let bytes = store.0[&swapped].clone();
        swapped = sha256(b"something else");
        store.0.insert(swapped.clone(), bytes);
        for (root, message) in [
            (
                &other_machine,
                "was made for linux/s390x, and this machine is",
            ),
            (&index, "was made for linux/s390x, and this machine is"),
            (
                &mismatched,
                "its manifest has 1 layers, its configuration 2",
            ),
            (&unknown, "a layer is of the unknown type \"text/plain\""),
            (&swapped, "has the digest"),
        ] {
            let error = store.parts(root).await.unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
