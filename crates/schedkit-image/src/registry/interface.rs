//! The `Registry` trait: what the rest of the program requests from a registry.
//!
//! The client over HTTP implements it; tests implement it in memory. Every implementation hashes
//! content that is requested by digest and compares the digest before it returns the content.

use bytes::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};

use super::content::Descriptor;
use super::error::RegistryError;

/// A manifest or an index as the registry stores it: exactly these bytes have that digest.
#[derive(Debug, Clone)]
pub struct Document {
    /// The `Content-Type` that the registry sent. Only the bytes decide what the document is.
    pub media_type: String,
    /// The digest of `bytes`, computed here.
    pub digest: Digest,
    pub bytes: Bytes,
}

/// Each request names its repository, so one value serves many hosts.
#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait Registry {
    /// The digest that a reference has now. It sends a request even when the reference carries a
    /// digest, so that missing content is found before anything else is done.
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError>;

    /// A manifest or index by tag or digest, in one round trip where the registry allows it.
    async fn document(&self, image: &ImageRef) -> Result<Document, RegistryError> {
        let digest = self.head(image).await?;
        let pinned = PinnedRef::new(image.repository().clone(), digest);
        self.manifest(&pinned).await
    }

    /// A manifest or index by its digest.
    async fn manifest(&self, image: &PinnedRef) -> Result<Document, RegistryError>;

    /// A blob by its digest, of at most `limit` bytes.
    async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError>;

    /// All tags of a repository, in the registry's order.
    async fn tags(&self, repository: &Repository) -> Result<Vec<Tag>, RegistryError>;

    /// The manifests whose subject is this image: from the referrers API, else from the tag
    /// `sha256-<hex>`. Of their annotations only Sigstore's are kept.
    async fn referrers(&self, image: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError>;

    /// How many places have the images of a repository: its mirrors and the registry itself. Content
    /// by digest is the same in all of them; lists and tags differ, so that whoever looks for
    /// something must ask each place, counted from 0.
    fn places(&self, repository: &Repository) -> usize;

    /// [`referrers`](Self::referrers), as one place lists them.
    async fn referrers_at(
        &self,
        image: &PinnedRef,
        place: usize,
    ) -> Result<Vec<Descriptor>, RegistryError>;

    /// [`document`](Self::document), as one place has it.
    async fn document_at(&self, image: &ImageRef, place: usize) -> Result<Document, RegistryError>;
}

/// Resolves a reference to a digest. Whatever is verified, pulled or run was resolved here, once.
///
/// # Errors
/// When the registry does not have the image or the request fails.
pub async fn resolve(
    registry: &impl Registry,
    image: &ImageRef,
) -> Result<PinnedRef, RegistryError> {
    let digest = registry.head(image).await?;
    Ok(PinnedRef::new(image.repository().clone(), digest))
}
