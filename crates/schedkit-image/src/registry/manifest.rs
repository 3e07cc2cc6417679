//! Requests for manifests and indexes, and for their digests alone.

use reqwest::Method;
use schedkit_core::{Digest, ImageRef, Tag};

use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::http::RedirectPolicy;
use super::interface::Document;
use super::problem::{BadResponse, Problem};
use super::request::{RegistryRequest, Requester};
use super::response::SuccessResponse;
use crate::hash::sha256;

const MAX_MANIFEST_BYTES: u64 = 4 * 1024 * 1024;
const CONTENT_DIGEST: &str = "docker-content-digest";
const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// Which manifest of a repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum ManifestRef<'a> {
    Tag(&'a str),
    Digest(&'a Digest),
}

/// The digest of a manifest at one host: from the header, else from the content.
pub(super) async fn fetch_digest(
    requester: &Requester,
    endpoint: &Endpoint,
    manifest: ManifestRef<'_>,
    what: &str,
) -> Result<Digest, RegistryError> {
    let request = manifest.request(endpoint, Method::HEAD, what);
    let in_header = requester.send(&request, async |response| {
        let digest = header_digest(&response)?;
        let checked = digest.map(|found| manifest.check(found));
        checked
            .transpose()
            .map_err(|problem| response.error(problem))
    });
    match in_header.await? {
        Some(digest) => Ok(digest),
        None => Ok(fetch(requester, endpoint, manifest, what).await?.digest),
    }
}

/// A manifest at one host, hashed, and compared when it was requested by digest.
pub(super) async fn fetch(
    requester: &Requester,
    endpoint: &Endpoint,
    manifest: ManifestRef<'_>,
    what: &str,
) -> Result<Document, RegistryError> {
    let request = manifest.request(endpoint, Method::GET, what);
    requester
        .send(&request, async |response| {
            let media_type = response.media_type();
            let host = response.host.clone();
            let bytes = response
                .body(MAX_MANIFEST_BYTES, requester.limits())
                .await?;
            let digest = manifest.check(sha256(&bytes));
            let digest = digest.map_err(|problem| RegistryError::new(what, host, problem))?;
            Ok(Document {
                media_type,
                digest,
                bytes,
            })
        })
        .await
}

impl<'a> ManifestRef<'a> {
    /// A digest takes precedence over the tag before it.
    pub(super) fn of(image: &'a ImageRef) -> Self {
        match image.digest() {
            Some(digest) => Self::Digest(digest),
            None => Self::Tag(image.tag().map_or("latest", Tag::as_str)),
        }
    }

    fn request<'b>(
        &self,
        endpoint: &'b Endpoint,
        method: Method,
        what: &'b str,
    ) -> RegistryRequest<'b> {
        let url = match self {
            Self::Tag(tag) => endpoint.manifest(tag),
            Self::Digest(digest) => endpoint.manifest(&digest.to_string()),
        };
        RegistryRequest {
            endpoint,
            method,
            url,
            accept: MANIFEST_TYPES,
            what,
            redirects: RedirectPolicy::AnyHost,
        }
    }

    /// Content that was requested by digest has that digest, or it is an error.
    fn check(&self, found: Digest) -> Result<Digest, Problem> {
        match self {
            Self::Digest(expected) if **expected != found => Err(Problem::WrongDigest {
                expected: (*expected).clone(),
                found,
            }),
            Self::Digest(_) | Self::Tag(_) => Ok(found),
        }
    }
}

fn header_digest(response: &SuccessResponse) -> Result<Option<Digest>, RegistryError> {
    let Some(header) = response.headers().get(CONTENT_DIGEST) else {
        return Ok(None);
    };
    let digest = header.to_str().ok().and_then(|text| text.parse().ok());
    let digest = digest.ok_or_else(|| response.error(BadResponse::Digest))?;
    Ok(Some(digest))
}
