//! A registry whose documents take little memory, whoever wrote them.
//!
//! A search for signatures reads many manifests at the same time and keeps each until its blob has
//! arrived. The client takes four megabytes of a manifest, which registries allow; those of signatures
//! have some kilobytes.

use axum::body::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};
use schedkit_image::registry::{Descriptor, Document, Problem, Registry, RegistryError};
use tokio::sync::Semaphore;

/// Of a manifest or an index.
const MAX_DOCUMENT: usize = 256 << 10;
/// Documents that are read at the same time, before their size is known.
const DOCUMENTS: usize = 2;
/// Blobs that are read at the same time; each has at most a megabyte.
const BLOBS: usize = 4;

pub(super) struct Bounded<R> {
    registry: R,
    documents: Semaphore,
    blobs: Semaphore,
}

impl<R: Registry> Bounded<R> {
    pub(super) fn new(registry: R) -> Self {
        Self {
            registry,
            documents: Semaphore::new(DOCUMENTS),
            blobs: Semaphore::new(BLOBS),
        }
    }
}

fn small(document: Document, what: &str, host: &str) -> Result<Document, RegistryError> {
    match document.bytes.len() > MAX_DOCUMENT {
        true => {
            let limit = u64::try_from(MAX_DOCUMENT).unwrap_or(u64::MAX);
            Err(RegistryError::new(what, host, Problem::TooBig { limit }))
        }
        false => Ok(document),
    }
}

impl<R: Registry> Registry for Bounded<R> {
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError> {
        self.registry.head(image).await
    }

    async fn document(&self, image: &ImageRef) -> Result<Document, RegistryError> {
        // A semaphore that is never closed always gives its permit.
        let _permit = self.documents.acquire().await;
        let document = self.registry.document(image).await?;
        let host = image.repository().host();
        small(document, &image.to_string(), host.as_str())
    }

    async fn manifest(&self, image: &PinnedRef) -> Result<Document, RegistryError> {
        let _permit = self.documents.acquire().await;
        let document = self.registry.manifest(image).await?;
        let host = image.repository().host();
        small(document, &image.to_string(), host.as_str())
    }

    async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError> {
        let _permit = self.blobs.acquire().await;
        self.registry.blob(repository, blob, limit).await
    }

    async fn tags(&self, repository: &Repository) -> Result<Vec<Tag>, RegistryError> {
        self.registry.tags(repository).await
    }

    async fn referrers(&self, image: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
        let _permit = self.documents.acquire().await;
        self.registry.referrers(image).await
    }

    fn places(&self, repository: &Repository) -> usize {
        self.registry.places(repository)
    }

    async fn referrers_at(
        &self,
        image: &PinnedRef,
        place: usize,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let _permit = self.documents.acquire().await;
        self.registry.referrers_at(image, place).await
    }

    async fn document_at(&self, image: &ImageRef, place: usize) -> Result<Document, RegistryError> {
        let _permit = self.documents.acquire().await;
        let document = self.registry.document_at(image, place).await?;
        let host = image.repository().host();
        small(document, &image.to_string(), host.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how many documents are read at the same time; each has this many bytes.
    struct Counting {
        bytes: usize,
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Registry for Counting {
        async fn head(&self, _: &ImageRef) -> Result<Digest, RegistryError> {
            Ok(digest())
        }

        async fn manifest(&self, _: &PinnedRef) -> Result<Document, RegistryError> {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            Ok(Document {
                media_type: String::new(),
                digest: digest(),
                bytes: Bytes::from(vec![b' '; self.bytes]),
            })
        }

        async fn blob(
            &self,
            _: &Repository,
            _: &Descriptor,
            _: usize,
        ) -> Result<Bytes, RegistryError> {
            Ok(Bytes::new())
        }

        async fn tags(&self, _: &Repository) -> Result<Vec<Tag>, RegistryError> {
            Ok(Vec::new())
        }

        async fn referrers(&self, _: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
            Ok(Vec::new())
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

    fn digest() -> Digest {
        format!("sha256:{}", "1".repeat(64)).parse().unwrap()
    }

    fn image() -> PinnedRef {
        PinnedRef::new("r.example/x".parse().unwrap(), digest())
    }

    fn bounded(bytes: usize) -> Bounded<Counting> {
        Bounded::new(Counting {
            bytes,
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }

    #[tokio::test]
    async fn few_documents_are_read_at_the_same_time() {
        let registry = bounded(100);
        let image = image();
        let reads = (0..16).map(|_| registry.manifest(&image));
        let read = futures::future::join_all(reads).await;
        assert!(read.iter().all(Result::is_ok));
        assert_eq!(registry.registry.most.load(Ordering::SeqCst), DOCUMENTS);
    }

    #[tokio::test]
    async fn a_big_document_is_trouble() {
        let error = bounded(MAX_DOCUMENT + 1)
            .manifest(&image())
            .await
            .unwrap_err();
        assert!(matches!(error.problem(), Problem::TooBig { .. }));
        assert!(!error.is_not_found());
        let most = bounded(MAX_DOCUMENT).manifest(&image()).await;
        assert!(most.is_ok());
    }
}
