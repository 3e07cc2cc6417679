//! Artifacts that are attached to images: signatures in the format of cosign 2, bundles in that of
//! cosign 3. Values only; `attach.rs` pushes them to a registry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::image::{Blob, INDEX, Image, Index, MANIFEST};

/// Media type of a Sigstore bundle.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The manifest that an artifact is attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub media_type: String,
    /// `sha256:…`
    pub digest: String,
    /// Length of the manifest in bytes.
    pub size: usize,
}

impl Subject {
    pub(super) fn new(media_type: &str, manifest: &Blob) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: manifest.digest.clone(),
            size: manifest.bytes.len(),
        }
    }

    /// The tag under which registries without the referrers API list what is attached.
    pub fn fallback_tag(&self) -> String {
        self.digest.replace(':', "-")
    }

    /// The tag under which cosign 2 stores signatures.
    pub fn signature_tag(&self) -> String {
        format!("{}.sig", self.fallback_tag())
    }
}

impl From<&Image> for Subject {
    fn from(image: &Image) -> Self {
        Self::new(MANIFEST, &image.manifest)
    }
}

impl From<&Index> for Subject {
    fn from(index: &Index) -> Self {
        Self::new(INDEX, &index.manifest)
    }
}

/// One signature in the format of cosign 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureLayer {
    /// The signed bytes.
    pub payload: String,
    /// The signature; for keyless ones also certificate, chain and log entry.
    pub annotations: BTreeMap<String, String>,
}

impl SignatureLayer {
    /// A signature by key. `signature` is in base64.
    pub fn by_key(payload: &str, signature: &str) -> Self {
        let name = "dev.cosignproject.cosign/signature".to_owned();
        Self {
            payload: payload.to_owned(),
            annotations: BTreeMap::from([(name, signature.to_owned())]),
        }
    }
}

/// A manifest that is not an image, with its blobs.
#[derive(Clone, Debug)]
pub struct Artifact {
    pub manifest: Blob,
    pub blobs: Vec<Blob>,
}

impl Artifact {
    /// Any manifest, valid or not.
    pub fn raw(manifest: &Value, blobs: Vec<Blob>) -> Self {
        Self {
            manifest: Blob::new(manifest.to_string().into_bytes()),
            blobs,
        }
    }

    /// A bundle as cosign 3 attaches it. Its content is not checked.
    pub fn bundle(subject: &Subject, bundle: &str) -> Self {
        let (config, layer) = (Blob::new(b"{}".to_vec()), Blob::new(bundle.into()));
        let mut empty = config.descriptor(EMPTY);
        empty["artifactType"] = json!(BUNDLE);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": BUNDLE,
            "config": empty,
            "layers": [layer.descriptor(BUNDLE)],
            "subject": {"mediaType": subject.media_type, "digest": subject.digest, "size": subject.size},
            "annotations": {
                "dev.sigstore.bundle.content": "dsse-envelope",
                "dev.sigstore.bundle.predicateType": "https://sigstore.dev/cosign/sign/v1",
            },
        });
        Self::raw(&manifest, vec![config, layer])
    }

    /// Signatures as cosign 2 stores them: an image with one layer per signature.
    pub fn signatures(signatures: &[SignatureLayer]) -> Self {
        let layers: Vec<_> = signatures
            .iter()
            .map(|signature| Blob::new(signature.payload.clone().into()))
            .collect();
        let descriptors: Vec<_> = layers
            .iter()
            .zip(signatures)
            .map(|(layer, signature)| {
                let mut descriptor = layer.descriptor(SIMPLE_SIGNING);
                descriptor["annotations"] = json!(signature.annotations);
                descriptor
            })
            .collect();
        let digests: Vec<_> = layers.iter().map(|layer| &layer.digest).collect();
        let config = json!({
            "architecture": "",
            "os": "",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": digests},
        });
        let config = Blob::new(config.to_string().into_bytes());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.descriptor(CONFIG),
            "layers": descriptors,
        });
        Self::raw(&manifest, layers.into_iter().chain([config]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_the_digest_of_the_subject() {
        let subject = Subject::from(&Image::marked("tags").unwrap());
        let hex = subject.digest.strip_prefix("sha256:").unwrap();
        assert_eq!(subject.fallback_tag(), format!("sha256-{hex}"));
        assert_eq!(subject.signature_tag(), format!("sha256-{hex}.sig"));
    }

    #[test]
    fn a_bundle_names_its_subject() {
        let index = Index::marked("bundle").unwrap();
        let artifact = Artifact::bundle(&Subject::from(&index), "{}");
        let manifest: Value = serde_json::from_slice(&artifact.manifest.bytes).unwrap();
        assert_eq!(
            manifest["subject"]["digest"],
            index.manifest.digest.as_str()
        );
        assert_eq!(manifest["subject"]["mediaType"], INDEX);
        assert_eq!(manifest["layers"][0]["mediaType"], BUNDLE);
    }

    #[test]
    fn marks_make_digests() {
        let digest = |mark| Index::marked(mark).unwrap().manifest.digest;
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
    }
}
