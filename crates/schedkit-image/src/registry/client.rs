//! The client over HTTP: the questions of [`Registry`], each a few lines that say what is asked.
//! How it is asked stands in `ask` (hosts, tries), `send` (redirects, challenges), `token` and
//! `transport`.
//!
//! ```text
//! question ─▶ everywhere: mirrors, then the registry
//!               └▶ ask: up to 3 tries ─▶ send: challenge answered once ─▶ follow: 5 redirects
//!                                                └▶ token                    └▶ transport
//! ```

use bytes::Bytes;
use reqwest::Method;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};

use super::content::Descriptor;
use super::credentials::Credentials;
use super::endpoint::Endpoint;
use super::error::{Malformation, RegistryError};
use super::host_config::Hosts;
use super::limits::Limits;
use super::reply::Reply;
use super::send::{Away, Question};
use super::token::Authority;
use super::transport::{Proxies, Transports};
use super::{Document, Registry};
use crate::hash::sha256;

const BIGGEST_MANIFEST: u64 = 4 * 1024 * 1024;
const CONTENT_DIGEST: &str = "docker-content-digest";
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// Everything that a client is told from outside.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// What is said about single hosts.
    pub hosts: Hosts,
    /// Who we are.
    pub credentials: Credentials,
    /// Who stands in between.
    pub proxies: Proxies,
    /// How long we wait and how often we ask.
    pub limits: Limits,
}

/// Asks registries over HTTP. Costs nothing to make: files are read and connections made when a
/// question needs them. Keeps connections and tokens for the next question.
#[derive(Debug)]
pub struct Client {
    pub(super) hosts: Hosts,
    pub(super) limits: Limits,
    pub(super) transports: Transports,
    pub(super) authority: Authority,
}

/// Which content of a repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Version<'a> {
    Tag(&'a str),
    Digest(&'a Digest),
}

impl Client {
    /// A client with these settings.
    pub fn new(settings: Settings) -> Self {
        let Settings {
            hosts,
            credentials,
            proxies,
            limits,
        } = settings;
        Self {
            hosts,
            limits,
            transports: Transports::new(proxies),
            authority: Authority::new(credentials),
        }
    }

    /// The digest that a host gives a version, from its header, else from the content.
    async fn digest_at(
        &self,
        endpoint: &Endpoint,
        version: Version<'_>,
        what: &str,
    ) -> Result<Digest, RegistryError> {
        let question = version.question(endpoint, Method::HEAD, what);
        let ask = self.ask(&question, async |reply| {
            let digest = header_digest(&reply)?;
            digest.map(|found| version.check(found, &reply)).transpose()
        });
        match ask.await? {
            Some(digest) => Ok(digest),
            None => Ok(self.document_at(endpoint, version, what).await?.digest),
        }
    }

    /// A version's content, hashed, and compared when the version is a digest.
    pub(super) async fn document_at(
        &self,
        endpoint: &Endpoint,
        version: Version<'_>,
        what: &str,
    ) -> Result<Document, RegistryError> {
        let question = version.question(endpoint, Method::GET, what);
        self.ask(&question, async |reply| {
            let media_type = reply.media_type();
            let (what, host) = (reply.what.clone(), reply.host.clone());
            let bytes = reply.body(BIGGEST_MANIFEST, &self.limits).await?;
            let digest = version.compare(sha256(&bytes), what, host)?;
            Ok(Document {
                media_type,
                digest,
                bytes,
            })
        })
        .await
    }
}

impl Registry for Client {
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError> {
        let what = image.to_string();
        let version = Version::of(image);
        let repository = image.repository();
        self.everywhere(repository, &what, self.limits.total, async |endpoint| {
            self.digest_at(endpoint, version, &what).await
        })
        .await
    }

    async fn document(&self, image: &ImageRef) -> Result<Document, RegistryError> {
        let what = image.to_string();
        let version = Version::of(image);
        let repository = image.repository();
        self.everywhere(repository, &what, self.limits.total, async |endpoint| {
            self.document_at(endpoint, version, &what).await
        })
        .await
    }

    async fn manifest(&self, image: &PinnedRef) -> Result<Document, RegistryError> {
        self.document(&image.clone().into()).await
    }

    async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError> {
        let mut bytes = Vec::new();
        self.fetch(repository, blob, limit as u64, &mut bytes, |_| {})
            .await?;
        Ok(bytes.into())
    }

    async fn tags(&self, repository: &Repository) -> Result<Vec<Tag>, RegistryError> {
        let what = format!("the list of tags of {repository}");
        self.everywhere(repository, &what, self.limits.total, async |endpoint| {
            self.tags_at(endpoint, &what).await
        })
        .await
    }

    async fn referrers(&self, image: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
        let what = format!("the list of referrers of {image}");
        let repository = image.repository();
        // A mirror that keeps images keeps their signatures not always: nothing at one place is
        // no answer while there is another to ask.
        let listed = self.everywhere(repository, &what, self.limits.total, async |endpoint| {
            let list = self.referrers_at(endpoint, image, &what).await?;
            match list.is_empty() {
                true => Err(RegistryError::not_found(&what, endpoint.host.as_str())),
                false => Ok(list),
            }
        });
        match listed.await {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            listed => listed,
        }
    }
}

impl<'a> Version<'a> {
    /// A digest decides, whatever tag stands before it.
    fn of(image: &'a ImageRef) -> Self {
        match image.digest() {
            Some(digest) => Self::Digest(digest),
            None => Self::Tag(image.tag().map_or("latest", Tag::as_str)),
        }
    }

    fn question<'b>(&self, endpoint: &'b Endpoint, method: Method, what: &'b str) -> Question<'b> {
        let url = match self {
            Self::Tag(tag) => endpoint.manifest(tag),
            Self::Digest(digest) => endpoint.manifest(&digest.to_string()),
        };
        Question {
            endpoint,
            method,
            url,
            accept: MANIFESTS,
            what,
            away: Away::Follow,
        }
    }

    fn check(&self, found: Digest, reply: &Reply) -> Result<Digest, RegistryError> {
        self.compare(found, reply.what.clone(), reply.host.clone())
    }

    /// Whoever asks for a digest gets that digest or an error.
    fn compare(&self, found: Digest, what: String, host: String) -> Result<Digest, RegistryError> {
        match self {
            Self::Digest(expected) if **expected != found => Err(RegistryError::WrongDigest {
                what,
                host,
                expected: (*expected).clone(),
                found,
            }),
            Self::Digest(_) | Self::Tag(_) => Ok(found),
        }
    }
}

fn header_digest(reply: &Reply) -> Result<Option<Digest>, RegistryError> {
    let Some(header) = reply.headers().get(CONTENT_DIGEST) else {
        return Ok(None);
    };
    let digest = header.to_str().ok().and_then(|text| text.parse().ok());
    let digest = digest.ok_or_else(|| RegistryError::Malformed {
        what: reply.what.clone(),
        host: reply.host.clone(),
        reason: Malformation::Digest,
    })?;
    Ok(Some(digest))
}
