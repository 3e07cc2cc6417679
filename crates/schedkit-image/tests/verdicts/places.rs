//! Signatures of a repository with a mirror: whatever any place has counts, and only all places
//! together can say that there is none.

use bytes::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};
use schedkit_image::registry::{Descriptor, Document, Problem, Registry, RegistryError};
use schedkit_image::signature::{VerifyError, verify};

use crate::fixture::by_key;
use crate::memory_registry::{FailingRequest, MemoryRegistry};
use crate::search::{layer, signed};
use crate::sigstore::SigningKey;

/// A mirror and the registry.
#[derive(Default)]
struct Places([MemoryRegistry; 2]);

impl Places {
    /// Content by digest: from the first that has it; not found only if all say so.
    fn first<T>(
        results: impl IntoIterator<Item = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        let mut worst = RegistryError::new("x", "registry.example", Problem::NotFound);
        for result in results {
            match result {
                Ok(value) => return Ok(value),
                Err(error) if error.is_not_found() => {}
                Err(error) => worst = error,
            }
        }
        Err(worst)
    }
}

impl Registry for Places {
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError> {
        let [mirror, origin] = &self.0;
        Self::first([mirror.head(image).await, origin.head(image).await])
    }

    async fn manifest(&self, image: &PinnedRef) -> Result<Document, RegistryError> {
        let [mirror, origin] = &self.0;
        Self::first([mirror.manifest(image).await, origin.manifest(image).await])
    }

    async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError> {
        let [mirror, origin] = &self.0;
        Self::first([
            mirror.blob(repository, blob, limit).await,
            origin.blob(repository, blob, limit).await,
        ])
    }

    async fn tags(&self, repository: &Repository) -> Result<Vec<Tag>, RegistryError> {
        self.0[1].tags(repository).await
    }

    async fn referrers(&self, _: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
        panic!("the search asks each place")
    }

    fn places(&self, _: &Repository) -> usize {
        self.0.len()
    }

    async fn referrers_at(
        &self,
        image: &PinnedRef,
        place: usize,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        self.0[place].referrers(image).await
    }

    async fn document_at(&self, image: &ImageRef, place: usize) -> Result<Document, RegistryError> {
        self.0[place].document(image).await
    }
}

/// What the two places have, and the verdict: accepted, not signed, or an error.
async fn verdict(
    prepare: impl Fn(&SigningKey, &PinnedRef, &MemoryRegistry, &MemoryRegistry),
) -> String {
    let key = SigningKey::new();
    let places = Places::default();
    let [mirror, origin] = &places.0;
    let image = mirror.image("image");
    prepare(&key, &image, mirror, origin);
    match verify(&places, &by_key(&key), &image, jiff::Timestamp::now()).await {
        Ok(_) => "accepted".to_owned(),
        Err(VerifyError::NoSignature { .. }) => "not signed".to_owned(),
        Err(VerifyError::Refused { signatures, .. }) => format!("{} refused", signatures.len()),
        Err(VerifyError::RegistryFailed { .. }) => "failed".to_owned(),
        Err(other) => panic!("{other:?}"),
    }
}

fn sbom(registry: &MemoryRegistry, image: &PinnedRef) {
    let layer = ("application/spdx+json", "{}".to_owned());
    registry.refer(image, image.digest(), &[layer]);
}

#[tokio::test]
async fn whatever_any_place_has_counts() {
    let hidden = verdict(|key, image, mirror, origin| {
        sbom(mirror, image);
        origin.attach(image, &signed(key, image));
    });
    assert_eq!(hidden.await, "accepted");
    let older = verdict(|key, image, mirror, origin| {
        mirror.tag_signatures(image, &[layer(&SigningKey::new(), image)]);
        origin.tag_signatures(image, &[layer(key, image)]);
    });
    assert_eq!(older.await, "accepted");
    let mirrored = verdict(|key, image, mirror, origin| {
        mirror.attach(image, &signed(key, image));
        origin.fail(FailingRequest::Referrers);
    });
    assert_eq!(mirrored.await, "accepted");
    let behind_a_failure = verdict(|key, image, mirror, origin| {
        mirror.fail(FailingRequest::Referrers);
        origin.attach(image, &signed(key, image));
    });
    assert_eq!(behind_a_failure.await, "accepted");
}

#[tokio::test]
async fn only_all_places_together_say_that_there_is_no_signature() {
    let none = verdict(|_, image, mirror, _| sbom(mirror, image));
    assert_eq!(none.await, "not signed");
    let the_same = verdict(|_, image, mirror, origin| {
        let stranger = signed(&SigningKey::new(), image);
        mirror.attach(image, &stranger);
        origin.attach(image, &stranger);
    });
    assert_eq!(the_same.await, "1 refused");
    for failure in [FailingRequest::Referrers, FailingRequest::Head] {
        let mirror_fails = verdict(|_, _, mirror, _| mirror.fail(failure));
        assert_eq!(mirror_fails.await, "failed", "{failure:?}");
        let origin_fails = verdict(|_, image, mirror, origin| {
            sbom(mirror, image);
            origin.fail(failure);
        });
        assert_eq!(origin_fails.await, "failed", "{failure:?}");
    }
}
