//! Signatures: the input is served as a bundle or as a `.sig` layer and passes through the whole
//! verifier, with the trusted root of the corpus.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};
use schedkit_image::hash::sha256;
use schedkit_image::registry::{Descriptor, Document, Problem, Registry, RegistryError};
use schedkit_image::signature::verify;
use schedkit_image::trust::{Policy, PolicyFile};
use schedkit_image::untrusted::Reader;
use serde::Deserialize;
use tokio::runtime::Runtime;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/trusted_root.json");
const SUBJECT: &str = "^https://github\\.com/schedkit/";
const ISSUER: &str = "https://token.actions.githubusercontent.com";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const SIMPLE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let text = format!(
        "identities:\n  - issuer: {ISSUER}\n    subjectRegExp: '{SUBJECT}'\ntrustedRoot: {ROOT}\n"
    );
    let file = PolicyFile::parse(&text).expect("a valid policy");
    file.load("/".as_ref(), Reader::User).expect("a readable root")
});

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().expect("a runtime")
});

/// A layer as cosign v2 stores it.
#[derive(Deserialize)]
struct Layer {
    payload: String,
    annotations: BTreeMap<String, String>,
}

/// A registry with one signature, of either form.
struct SingleSignature {
    image: PinnedRef,
    manifest: Document,
    blob: Bytes,
    is_bundle: bool,
}

impl SingleSignature {
    fn of(bytes: &[u8]) -> Self {
        let repository: Repository = "r.example/a".parse().expect("a repository");
        let image = PinnedRef::new(repository, sha256(b"image"));
        let (blob, media_type, annotations) = match serde_json::from_slice::<Layer>(bytes) {
            Ok(layer) => (layer.payload.into_bytes(), SIMPLE, layer.annotations),
            Err(_) => (bytes.to_vec(), BUNDLE, BTreeMap::new()),
        };
        let manifest = serde_json::json!({
            "config": {"digest": sha256(b"{}").to_string(), "size": 2},
            "layers": [{
                "mediaType": media_type, "digest": sha256(&blob).to_string(),
                "size": blob.len(), "annotations": annotations,
            }],
            "subject": {"digest": image.digest().to_string(), "size": 1},
        });
        let manifest = Bytes::from(manifest.to_string());
        Self {
            image,
            manifest: Document {
                media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
                digest: sha256(&manifest),
                bytes: manifest,
            },
            blob: blob.into(),
            is_bundle: media_type == BUNDLE,
        }
    }

    fn not_found<T>(&self) -> Result<T, RegistryError> {
        let problem = Problem::NotFound;
        Err(RegistryError::new(self.image.to_string(), "r.example", problem))
    }
}

impl Registry for SingleSignature {
    async fn head(&self, _: &ImageRef) -> Result<Digest, RegistryError> {
        if self.is_bundle {
            return self.not_found();
        }
        Ok(self.manifest.digest.clone())
    }

    async fn manifest(&self, _: &PinnedRef) -> Result<Document, RegistryError> {
        Ok(self.manifest.clone())
    }

    async fn blob(
        &self,
        _: &Repository,
        _: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError> {
        Ok(self.blob.slice(..self.blob.len().min(limit)))
    }

    async fn tags(&self, _: &Repository) -> Result<Vec<Tag>, RegistryError> {
        Ok(Vec::new())
    }

    async fn referrers(&self, _: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
        if !self.is_bundle {
            return Ok(Vec::new());
        }
        let descriptor = serde_json::json!({
            "digest": self.manifest.digest.to_string(), "size": self.manifest.bytes.len(),
        });
        Ok(vec![serde_json::from_value(descriptor).expect("a descriptor")])
    }

    fn places(&self, _: &Repository) -> usize {
        1
    }

    async fn referrers_at(
        &self,
        image: &PinnedRef,
        _: usize,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        self.referrers(image).await
    }

    async fn document_at(&self, image: &ImageRef, _: usize) -> Result<Document, RegistryError> {
        self.document(image).await
    }
}

fuzz_target!(|bytes: &[u8]| {
    let registry = SingleSignature::of(bytes);
    let now = Timestamp::from_second(4_000_000_000).expect("a time");
    match RUNTIME.block_on(verify(&registry, &POLICY, &registry.image, now)) {
        Ok(verified) => assert_eq!(verified.image(), &registry.image),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
