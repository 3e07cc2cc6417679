//! What we ask of a registry, and what it may answer.
//!
//! The trait is the seam: the client over HTTP stands behind it, and tests of the verifier stand
//! in with content of their own. Content that is asked for by digest has been hashed and compared
//! before anybody sees it, whoever implements this.

use bytes::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};

mod ask;
mod blob;
mod challenge;
mod client;
mod content;
mod credentials;
mod endpoint;
mod error;
mod host_config;
mod limits;
mod pages;
mod platform;
mod referrers;
mod reply;
mod send;
mod tags;
mod token;
mod transport;

pub use blob::{Progress, Sink};
pub use challenge::ChallengeError;
pub use client::{Client, Settings};
pub use content::{Content, ContentError, Descriptor, Index, Manifest, Platform};
pub use credentials::{Credentials, CredentialsError, Login, UsualPlaces};
pub use error::{CredentialsUsed, Malformation, RegistryError, Retry, Said, SetupError};
pub use host_config::{HostConfig, HostConfigError, Hosts, Mirror, Security, Upstream};
pub use limits::Limits;
pub use platform::{PlatformError, choose};
pub use transport::Proxies;

/// A manifest or an index as the registry keeps it: exactly these bytes have that digest.
#[derive(Debug, Clone)]
pub struct Document {
    /// What the registry calls it; decides nothing that the bytes do not say themselves.
    pub media_type: String,
    /// The digest of `bytes`, computed here.
    pub digest: Digest,
    /// The content.
    pub bytes: Bytes,
}

/// Questions to registries. Each names its repository, so one value serves many hosts.
#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait Registry {
    /// The digest that a reference has now. It asks even when the reference carries a digest, so
    /// that content which is not there is found out before anything else is done.
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError>;

    /// A manifest or index by tag or digest, in one round trip where the registry allows it;
    /// hashed, and compared when there is a digest to compare with.
    async fn document(&self, image: &ImageRef) -> Result<Document, RegistryError> {
        let digest = self.head(image).await?;
        let pinned = PinnedRef::new(image.repository().clone(), digest);
        self.manifest(&pinned).await
    }

    /// A manifest or index by its digest, hashed and compared.
    async fn manifest(&self, image: &PinnedRef) -> Result<Document, RegistryError>;

    /// A blob by its digest, hashed and compared, of at most `limit` bytes.
    async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError>;

    /// All tags of a repository, in the registry's order.
    async fn tags(&self, repository: &Repository) -> Result<Vec<Tag>, RegistryError>;

    /// What says that it belongs to an image: by the referrers API, else by the tag
    /// `sha256-<hex>`.
    async fn referrers(&self, image: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError>;
}

/// From a moving name to fixed content: what is verified, pulled or run has gone through here, once.
///
/// # Errors
/// When the registry does not have it or cannot be asked.
pub async fn resolve(
    registry: &impl Registry,
    image: &ImageRef,
) -> Result<PinnedRef, RegistryError> {
    let digest = registry.head(image).await?;
    Ok(PinnedRef::new(image.repository().clone(), digest))
}
