//! What an image is made of, as far as it runs on this machine: documents, configuration, layers.
//! Called by `pull` with content of the registry and by `store` with that of containerd's own
//! store; the rules are the same for both.

use std::collections::BTreeMap;

use bytes::Bytes;
use schedkit_core::foreign::brief;
use schedkit_core::{Digest, PinnedRef};
use schedkit_image::hash::sha256;
use schedkit_image::registry::{Content, Descriptor, Manifest, Platform, PlatformError, choose};
use serde::Deserialize;

use super::config::Config;
use crate::driver::DriverError;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// What containerd can unpack in all its versions.
const LAYERS: [&str; 5] = [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];

/// An image for this machine.
#[derive(Debug)]
pub(super) struct Parts {
    /// What the image's name stands for, an index or a manifest.
    pub(super) root: Document,
    /// The manifest, where the root is an index.
    pub(super) chosen: Option<Document>,
    /// The configuration's bytes.
    pub(super) config_blob: Document,
    /// What they say.
    pub(super) config: Config,
    /// The layers, the lowest first.
    pub(super) layers: Vec<Descriptor>,
}

/// A small part.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) media_type: String,
    pub(super) digest: Digest,
    pub(super) bytes: Bytes,
}

/// What a small part is asked for as.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// An index or a manifest.
    Document(&'a Digest),
    /// A configuration.
    Blob(&'a Descriptor),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outline {
    #[serde(default)]
    media_type: Option<String>,
}

/// Puts an image's parts together. Nothing, when `fetch` lacks one of them.
pub(super) async fn gather(
    image: &PinnedRef,
    mut fetch: impl AsyncFnMut(Wanted<'_>) -> Result<Option<Bytes>, DriverError>,
) -> Result<Option<Parts>, DriverError> {
    let digest = image.digest();
    let Some(bytes) = fetch(Wanted::Document(digest)).await? else {
        return Ok(None);
    };
    let (root, content) = document(image, digest, bytes)?;
    let (chosen, manifest) = match content {
        Content::Manifest(manifest) => (None, manifest),
        Content::Index(index) => {
            let entry = choose(&index, &Platform::this_machine());
            let digest = &entry.map_err(|error| other_machine(image, error))?.digest;
            let Some(bytes) = fetch(Wanted::Document(digest)).await? else {
                return Ok(None);
            };
            match document(image, digest, bytes)? {
                (chosen, Content::Manifest(manifest)) => (Some(chosen), manifest),
                (_, Content::Index(_)) => return Err(broken(image, "its index names an index")),
            }
        }
    };
    let Some(bytes) = fetch(Wanted::Blob(&manifest.config)).await? else {
        return Ok(None);
    };
    whole(image, root, chosen, manifest, bytes).map(Some)
}

fn whole(
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
    let unreadable = |error| broken(image, &format!("its configuration is no JSON: {error}"));
    let parsed = Config::parse(&config).map_err(unreadable)?;
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
        return Err(broken(image, &reason));
    }
    let strange = |layer: &&Descriptor| !LAYERS.contains(&layer.media_type.as_str());
    if let Some(layer) = layers.iter().find(strange) {
        let reason = format!("a layer is of the unknown type {:?}", layer.media_type);
        return Err(broken(image, &reason));
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
    /// Bytes of all layers.
    pub(super) fn size(&self) -> u64 {
        let sizes = self.layers.iter().map(|layer| layer.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// The manifest, whatever the root is.
    pub(super) fn manifest(&self) -> &Document {
        self.chosen.as_ref().unwrap_or(&self.root)
    }

    /// What the manifest keeps from being collected: configuration and layers.
    pub(super) fn manifest_labels(&self) -> BTreeMap<String, String> {
        let config = self.config_blob.digest.to_string();
        let config = ("containerd.io/gc.ref.content.config".to_owned(), config);
        let layers = self.layers.iter().enumerate();
        let layers = layers.map(|(place, layer)| {
            let key = format!("containerd.io/gc.ref.content.l.{place}");
            (key, layer.digest.to_string())
        });
        layers.chain([config]).collect()
    }

    /// What the index keeps: the one manifest that is here.
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
    let content = Content::parse(&bytes).map_err(|error| broken(image, &error.to_string()))?;
    let outline = serde_json::from_slice::<Outline>(&bytes);
    let said = outline.ok().and_then(|outline| outline.media_type);
    let usual = match content {
        Content::Index(_) => INDEX,
        Content::Manifest(_) => MANIFEST,
    };
    let document = Document {
        media_type: said.unwrap_or_else(|| usual.to_owned()),
        digest: digest.clone(),
        bytes,
    };
    Ok((document, content))
}

/// Whoever gave the bytes has compared them already; what runs hangs on it.
fn check_digest(image: &PinnedRef, expected: &Digest, bytes: &[u8]) -> Result<(), DriverError> {
    match sha256(bytes) {
        found if found == *expected => Ok(()),
        found => Err(broken(
            image,
            &format!("{expected} has the bytes of {found}"),
        )),
    }
}

pub(super) fn broken(image: &PinnedRef, reason: &str) -> DriverError {
    DriverError::Broken {
        image: image.to_string(),
        reason: brief(reason),
    }
}

fn other_machine(image: &PinnedRef, error: PlatformError) -> DriverError {
    let (made_for, machine) = match error {
        PlatformError::Others { wanted, there } => (there, wanted),
        PlatformError::None { wanted } => ("no machine at all".to_owned(), wanted),
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

    /// An image whose parts fit, unless a test bends them.
    struct Shelf(BTreeMap<Digest, Bytes>);

    impl Shelf {
        fn put(&mut self, content: &Value) -> (Digest, usize) {
            let bytes = Bytes::from(content.to_string());
            let (digest, size) = (sha256(&bytes), bytes.len());
            self.0.insert(digest.clone(), bytes);
            (digest, size)
        }

        async fn parts(&self, root: &Digest) -> Result<Option<Parts>, DriverError> {
            let image = PinnedRef::new("a.b/c".parse().unwrap(), root.clone());
            let fetch = async |wanted: Wanted<'_>| {
                let digest = match wanted {
                    Wanted::Document(digest) => digest,
                    Wanted::Blob(blob) => &blob.digest,
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

    fn manifest(shelf: &mut Shelf, config: &Value, layer: &str) -> (Digest, usize) {
        let (digest, size) = shelf.put(config);
        shelf.put(&json!({
            "config": {"digest": digest.to_string(), "size": size},
            "layers": [{"mediaType": layer, "digest": sha256(b"x").to_string(), "size": 7}],
        }))
    }

    fn ours() -> String {
        Platform::this_machine().architecture
    }

    #[tokio::test]
    async fn an_index_and_a_manifest_lead_to_the_same_parts() {
        let mut shelf = Shelf(BTreeMap::new());
        let (single, size) = manifest(&mut shelf, &config(&ours(), 1), LAYER);
        let (index, _) = shelf.put(&json!({"manifests": [{
            "digest": single.to_string(), "size": size,
            "platform": {"os": "linux", "architecture": ours()},
        }]}));
        let plain = shelf.parts(&single).await.unwrap().unwrap();
        assert!(plain.chosen.is_none());
        assert_eq!(
            (plain.size(), plain.root.media_type.as_str()),
            (7, MANIFEST)
        );
        let chosen = shelf.parts(&index).await.unwrap().unwrap();
        assert_eq!(chosen.root.digest, index);
        assert_eq!(chosen.root.media_type, INDEX);
        assert_eq!(chosen.manifest().digest, single);
        let labels = chosen.manifest_labels();
        assert_eq!(
            labels["containerd.io/gc.ref.content.l.0"],
            sha256(b"x").to_string()
        );
        shelf.0.remove(&plain.config_blob.digest);
        assert!(shelf.parts(&index).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_does_not_fit_is_refused_with_the_reason() {
        let mut shelf = Shelf(BTreeMap::new());
        let (foreign, size) = manifest(&mut shelf, &config("s390x", 1), LAYER);
        let (index, _) = shelf.put(&json!({"manifests": [{
            "digest": foreign.to_string(), "size": size,
            "platform": {"os": "linux", "architecture": "s390x"},
        }]}));
        let (torn, _) = manifest(&mut shelf, &config(&ours(), 2), LAYER);
        let (strange, _) = manifest(&mut shelf, &config(&ours(), 1), "text/plain");
        let (mut twisted, _) = manifest(&mut shelf, &config(&ours(), 1), LAYER);
        let bytes = shelf.0[&twisted].clone();
        twisted = sha256(b"something else");
        shelf.0.insert(twisted.clone(), bytes);
        for (root, said) in [
            (&foreign, "was made for linux/s390x, and this machine is"),
            (&index, "was made for linux/s390x, and this machine is"),
            (&torn, "its manifest has 1 layers, its configuration 2"),
            (&strange, "a layer is of the unknown type \"text/plain\""),
            (&twisted, "has the bytes of"),
        ] {
            let error = shelf.parts(root).await.unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
