//! The client over HTTP: each request of [`Registry`] in a few lines.

use std::collections::BTreeSet;

use bytes::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};

use super::authentication::Authenticator;
use super::blob::{self, Progress, Sink};
use super::content::Descriptor;
use super::credentials::Credentials;
use super::endpoint::endpoints;
use super::error::RegistryError;
use super::host_config::Hosts;
use super::http::Http;
use super::interface::{Document, Registry};
use super::limits::Limits;
use super::manifest::{self, ManifestRef};
use super::problem::Problem;
use super::reach::Reach;
use super::request::Requester;
use super::transport::{Proxies, Transports};
use super::{referrers, tags};

#[derive(Debug, Clone, Default)]
pub struct ClientConfig {
    pub hosts: Hosts,
    pub credentials: Credentials,
    pub proxies: Proxies,
    pub limits: Limits,
}

/// Creating one is cheap: files are read and connections opened when a request needs them.
/// Connections and tokens are kept for later requests.
#[derive(Debug)]
pub struct Client {
    requester: Requester,
}

impl Client {
    pub fn new(config: ClientConfig) -> Self {
        Self::within(Reach::default(), config)
    }

    /// One that connects to these addresses only, also where a registry refers it to others.
    pub fn within(reach: Reach, config: ClientConfig) -> Self {
        let ClientConfig {
            hosts,
            credentials,
            proxies,
            limits,
        } = config;
        let http = Http {
            hosts,
            limits,
            transports: Transports::new(proxies, reach),
        };
        let authenticator = Authenticator::new(credentials);
        Self {
            requester: Requester {
                http,
                authenticator,
            },
        }
    }

    fn limits(&self) -> &Limits {
        self.requester.limits()
    }

    /// Fetches a blob of at most `limit` bytes into a sink, hashes it, compares the digest, and
    /// reports progress.
    ///
    /// # Errors
    /// When the blob is not there, does not match its descriptor, or the request fails. The
    /// content of the sink is then unusable.
    pub async fn fetch(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: u64,
        sink: &mut impl Sink,
        mut progress: impl FnMut(Progress),
    ) -> Result<(), RegistryError> {
        let what = format!("blob {} of {repository}", blob.digest);
        if blob.size > limit {
            let host = repository.host().as_str();
            return Err(RegistryError::new(what, host, Problem::TooBig { limit }));
        }
        let timeout = self.limits().for_blob(blob.size);
        let requester = &self.requester;
        requester
            .on_first_host(repository, &what, timeout, async |endpoint| {
                blob::fetch(requester, endpoint, blob, sink, &mut progress, &what).await
            })
            .await
    }
}

impl Registry for Client {
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError> {
        let what = image.to_string();
        let requester = &self.requester;
        let timeout = self.limits().request;
        requester
            .on_first_host(image.repository(), &what, timeout, async |endpoint| {
                manifest::fetch_digest(requester, endpoint, ManifestRef::of(image), &what).await
            })
            .await
    }

    async fn document(&self, image: &ImageRef) -> Result<Document, RegistryError> {
        let what = image.to_string();
        let requester = &self.requester;
        let timeout = self.limits().request;
        requester
            .on_first_host(image.repository(), &what, timeout, async |endpoint| {
                manifest::fetch(requester, endpoint, ManifestRef::of(image), &what).await
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
        let requester = &self.requester;
        let timeout = self.limits().request;
        requester
            .on_first_host(repository, &what, timeout, async |endpoint| {
                tags::fetch(requester, endpoint, &what).await
            })
            .await
    }

    /// Of all places, each manifest once. One place that fails makes it an error: the list would not
    /// be complete.
    async fn referrers(&self, image: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
        let mut all: Vec<Descriptor> = Vec::new();
        let mut seen = BTreeSet::new();
        for place in 0..self.places(image.repository()) {
            let list = self.referrers_at(image, place).await?;
            all.extend(
                list.into_iter()
                    .filter(|one| seen.insert(one.digest.clone())),
            );
        }
        Ok(all)
    }

    /// At least one: a repository without a usable host has an error to report.
    fn places(&self, repository: &Repository) -> usize {
        let hosts = &self.requester.http.hosts;
        let found = endpoints(hosts, repository, self.limits().attempts, "");
        found.map_or(1, |found| found.len().max(1))
    }

    async fn referrers_at(
        &self,
        image: &PinnedRef,
        place: usize,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let what = format!("the list of referrers of {image}");
        let requester = &self.requester;
        let timeout = self.limits().request;
        let listed = requester.on_host(
            image.repository(),
            place,
            &what,
            timeout,
            async |endpoint| referrers::fetch(requester, endpoint, image, &what).await,
        );
        match listed.await {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            listed => listed,
        }
    }

    async fn document_at(&self, image: &ImageRef, place: usize) -> Result<Document, RegistryError> {
        let what = image.to_string();
        let requester = &self.requester;
        let timeout = self.limits().request;
        requester
            .on_host(
                image.repository(),
                place,
                &what,
                timeout,
                async |endpoint| {
                    manifest::fetch(requester, endpoint, ManifestRef::of(image), &what).await
                },
            )
            .await
    }
}
