//! A registry in memory: content by digest, tags, and lists of referrers. It checks nothing and can
//! be configured to fail.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use bytes::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};
use schedkit_image::hash::sha256;
use schedkit_image::registry::{Descriptor, Document, Problem, Registry, RegistryError};
use serde_json::{Value, json};

/// The request that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailingRequest {
    Head,
    Manifest,
    Blob,
    Referrers,
    /// Every request, without an end.
    NoResponse,
}

#[derive(Default)]
pub(crate) struct MemoryRegistry {
    content: RefCell<HashMap<Digest, Bytes>>,
    tags: RefCell<HashMap<String, Digest>>,
    referrers: RefCell<HashMap<Digest, Vec<Descriptor>>>,
    failure: Cell<Option<FailingRequest>>,
    requests: Cell<usize>,
}

pub(crate) fn repository() -> Repository {
    "registry.example/team/scx_test".parse().unwrap()
}

impl MemoryRegistry {
    /// An image that is only a digest: the verifier does not read it.
    pub(crate) fn image(&self, name: &str) -> PinnedRef {
        PinnedRef::new(repository(), sha256(name.as_bytes()))
    }

    pub(crate) fn put(&self, bytes: &[u8]) -> Value {
        let digest = sha256(bytes);
        let descriptor = json!({"digest": digest.to_string(), "size": bytes.len()});
        self.content
            .borrow_mut()
            .insert(digest, Bytes::copy_from_slice(bytes));
        descriptor
    }

    pub(crate) fn remove(&self, digest: &Digest) {
        self.content.borrow_mut().remove(digest);
    }

    pub(crate) fn fail(&self, failure: FailingRequest) {
        self.failure.set(Some(failure));
    }

    /// Attaches a bundle as cosign v3 does; returns the manifest's digest.
    pub(crate) fn attach(&self, image: &PinnedRef, bundle: &Value) -> Digest {
        self.refer(
            image,
            image.digest(),
            &[(
                "application/vnd.dev.sigstore.bundle.v0.3+json",
                bundle.to_string(),
            )],
        )
    }

    /// A manifest in the list of `image` with this subject.
    pub(crate) fn refer(
        &self,
        image: &PinnedRef,
        subject: &Digest,
        layers: &[(&str, String)],
    ) -> Digest {
        let layers: Vec<Value> = layers
            .iter()
            .map(|(media_type, text)| {
                let mut layer = self.put(text.as_bytes());
                layer["mediaType"] = (*media_type).into();
                layer
            })
            .collect();
        let manifest = json!({
            "schemaVersion": 2,
            "config": self.put(b"{}"),
            "layers": layers,
            "subject": {"digest": subject.to_string(), "size": 1},
        });
        self.list(image, manifest.to_string().as_bytes())
    }

    /// Anything in the list of referrers.
    pub(crate) fn list(&self, image: &PinnedRef, bytes: &[u8]) -> Digest {
        let descriptor: Descriptor = serde_json::from_value(self.put(bytes)).unwrap();
        let digest = descriptor.digest.clone();
        let mut referrers = self.referrers.borrow_mut();
        referrers
            .entry(image.digest().clone())
            .or_default()
            .push(descriptor);
        digest
    }

    /// Annotates every listed referrer with the type of its predicate, as cosign does.
    pub(crate) fn annotate_all(&self, image: &PinnedRef, predicate: &str) {
        let mut referrers = self.referrers.borrow_mut();
        let list = referrers.get_mut(image.digest()).unwrap();
        list.iter_mut().for_each(|one| annotate(one, predicate));
    }

    /// Annotates the referrer that was listed last.
    pub(crate) fn annotate_last(&self, image: &PinnedRef, predicate: &str) {
        let mut referrers = self.referrers.borrow_mut();
        let list = referrers.get_mut(image.digest()).unwrap();
        annotate(list.last_mut().unwrap(), predicate);
    }

    /// How many requests were answered.
    pub(crate) fn requests(&self) -> usize {
        self.requests.get()
    }

    /// The `.sig` tag with these payloads and annotations, as cosign v2 makes it.
    pub(crate) fn tag_signatures(&self, image: &PinnedRef, signatures: &[(Vec<u8>, Value)]) {
        let layers: Vec<Value> = signatures
            .iter()
            .map(|(payload, annotations)| {
                let mut layer = self.put(payload);
                layer["mediaType"] = "application/vnd.dev.cosign.simplesigning.v1+json".into();
                layer["annotations"] = annotations.clone();
                layer
            })
            .collect();
        let manifest = json!({"schemaVersion": 2, "config": self.put(b"{}"), "layers": layers});
        self.tag(image, manifest.to_string().as_bytes());
    }

    pub(crate) fn tag(&self, image: &PinnedRef, bytes: &[u8]) {
        let digest = self.put(bytes)["digest"].as_str().unwrap().parse().unwrap();
        let tag = format!("sha256-{}.sig", image.digest().hex());
        self.tags.borrow_mut().insert(tag, digest);
    }

    async fn respond(&self, request: FailingRequest) -> Result<(), RegistryError> {
        if self.failure.get() == Some(FailingRequest::NoResponse) {
            std::future::pending::<()>().await;
        }
        self.requests.set(self.requests.get() + 1);
        if self.failure.get() == Some(request) {
            let problem = Problem::RedirectLoop;
            return Err(RegistryError::new("x", "registry.example", problem));
        }
        Ok(())
    }

    fn get(&self, digest: &Digest) -> Result<Bytes, RegistryError> {
        self.content
            .borrow()
            .get(digest)
            .cloned()
            .ok_or_else(|| missing(digest))
    }
}

fn annotate(referrer: &mut Descriptor, predicate: &str) {
    let name = "dev.sigstore.bundle.predicateType".to_owned();
    referrer.annotations.insert(name, predicate.to_owned());
}

fn missing(what: &impl ToString) -> RegistryError {
    RegistryError::new(what.to_string(), "registry.example", Problem::NotFound)
}

impl Registry for MemoryRegistry {
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError> {
        self.respond(FailingRequest::Head).await?;
        let tag = image.tag().map(Tag::as_str).unwrap_or_default();
        self.tags
            .borrow()
            .get(tag)
            .cloned()
            .ok_or_else(|| missing(image))
    }

    async fn manifest(&self, image: &PinnedRef) -> Result<Document, RegistryError> {
        self.respond(FailingRequest::Manifest).await?;
        let bytes = self.get(image.digest())?;
        let digest = image.digest().clone();
        Ok(Document {
            media_type: String::new(),
            digest,
            bytes,
        })
    }

    async fn blob(
        &self,
        _: &Repository,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError> {
        self.respond(FailingRequest::Blob).await?;
        let bytes = self.get(&blob.digest)?;
        assert!(bytes.len() <= limit, "the verifier respects its limit");
        Ok(bytes)
    }

    async fn tags(&self, repository: &Repository) -> Result<Vec<Tag>, RegistryError> {
        Err(missing(repository))
    }

    async fn referrers(&self, image: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
        self.respond(FailingRequest::Referrers).await?;
        Ok(self
            .referrers
            .borrow()
            .get(image.digest())
            .cloned()
            .unwrap_or_default())
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
