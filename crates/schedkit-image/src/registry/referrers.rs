//! What belongs to an image: by the referrers API, else by the tag `sha256-<hex>`.
//!
//! Both are asked at once: half of the registries in use have no such API, and finding that out
//! first would cost each of their users a round trip. Where there is one, only it counts.

use std::collections::BTreeMap;
use std::pin::pin;

use reqwest::Method;
use schedkit_core::{Digest, PinnedRef};
use tokio::select;

use super::RegistryError;
use super::client::{Client, Version};
use super::content::{Content, Descriptor};
use super::endpoint::Endpoint;
use super::error::Malformation;
use super::pages::{Page, Pages};
use super::send::{Away, Question};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// All pages together; a single one cannot be bigger either.
const BIGGEST_LIST: u64 = 4 * 1024 * 1024;
const MOST_PAGES: usize = 20;
/// An image with more signatures than that has a problem that we cannot solve.
const MOST_REFERRERS: usize = 1000;

/// Whether the registry has the referrers API at all.
enum ByApi {
    Listed(Vec<Descriptor>),
    NoApi,
}

/// The pages that came so far.
#[derive(Default)]
struct Listed {
    entries: Vec<Descriptor>,
    bytes: u64,
    /// Who sent the last page; nobody before the first.
    sender: Option<String>,
}

impl Listed {
    fn add(&mut self, page: &Page, what: &str) -> Result<(), RegistryError> {
        let (what, host) = (what.to_owned(), page.host.clone());
        self.bytes += page.body.len() as u64;
        if self.bytes > BIGGEST_LIST {
            let limit = BIGGEST_LIST;
            return Err(RegistryError::TooBig { what, host, limit });
        }
        self.entries
            .extend(index_entries(&page.body, &what, &host)?);
        if self.entries.len() > MOST_REFERRERS {
            return Err(RegistryError::TooMany {
                what,
                host,
                limit: MOST_REFERRERS,
                of: "referrers",
            });
        }
        self.sender = Some(host);
        Ok(())
    }

    /// No page came. Whoever sent one before has the API: to take that for none would throw away
    /// the signatures that it listed already.
    fn ends_here(self, what: &str) -> Result<ByApi, RegistryError> {
        match self.sender {
            None => Ok(ByApi::NoApi),
            Some(host) => Err(RegistryError::Malformed {
                what: what.to_owned(),
                host,
                reason: Malformation::LostPage,
            }),
        }
    }
}

impl Client {
    pub(super) async fn referrers_at(
        &self,
        endpoint: &Endpoint,
        image: &PinnedRef,
        what: &str,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let mut by_api = pin!(self.by_api(endpoint, image.digest(), what));
        let mut by_tag = pin!(self.by_tag(endpoint, image.digest(), what));
        select! {
            biased;
            listed = &mut by_api => match listed? {
                ByApi::Listed(list) => Ok(list),
                ByApi::NoApi => by_tag.await,
            },
            tagged = &mut by_tag => match by_api.await? {
                ByApi::Listed(list) => Ok(list),
                ByApi::NoApi => tagged,
            },
        }
    }

    async fn by_api(
        &self,
        endpoint: &Endpoint,
        subject: &Digest,
        what: &str,
    ) -> Result<ByApi, RegistryError> {
        let mut pages = Pages::from(endpoint.referrers(subject), MOST_PAGES);
        let mut next = Some(endpoint.referrers(subject));
        let mut list = Listed::default();
        while let Some(url) = next {
            let Some(page) = self.referrers_page(endpoint, url, what).await? else {
                return list.ends_here(what);
            };
            list.add(&page, what)?;
            next = pages.after(&page, what)?;
        }
        Ok(ByApi::Listed(list.entries))
    }

    /// A page, or nothing when what answers is no referrers API. Registries without it say so in
    /// many ways: not only 404, but 400, 405 and 406, a redirect to a web site (GitHub's), or a
    /// web page with status 200 (Google's). The specification asks for a content type, so that
    /// the last can be told.
    async fn referrers_page(
        &self,
        endpoint: &Endpoint,
        url: reqwest::Url,
        what: &str,
    ) -> Result<Option<Page>, RegistryError> {
        let question = Question {
            endpoint,
            method: Method::GET,
            url,
            accept: INDEX,
            what,
            away: Away::Stay,
        };
        let page = self
            .ask(&question, async |reply| {
                if !reply.media_type().eq_ignore_ascii_case(INDEX) {
                    return Ok(None);
                }
                let page = Page::read(reply, BIGGEST_LIST, &self.limits).await?;
                Ok(Some(page))
            })
            .await;
        match page {
            Err(error) if says_no_api(&error) => Ok(None),
            page => page,
        }
    }

    async fn by_tag(
        &self,
        endpoint: &Endpoint,
        subject: &Digest,
        what: &str,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let tag = format!("sha256-{}", subject.hex());
        let document = self.document_at(endpoint, Version::Tag(&tag), what).await;
        match document {
            Err(RegistryError::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
            // Some registries (GitLab's) take the tag for the digest and send the image itself.
            Ok(document) if document.digest == *subject => Ok(Vec::new()),
            Ok(document) => index_entries(&document.bytes, what, endpoint.host.as_str()),
        }
    }
}

fn says_no_api(error: &RegistryError) -> bool {
    match error {
        RegistryError::NotFound { .. } | RegistryError::Downgrade { .. } => true,
        RegistryError::Server { status, .. } => matches!(status, 300..=399 | 400 | 405 | 406),
        _ => false,
    }
}

fn index_entries(body: &[u8], what: &str, host: &str) -> Result<Vec<Descriptor>, RegistryError> {
    let entries = match Content::parse(body) {
        Ok(Content::Index(index)) => Ok(index.manifests.into_iter().map(bare).collect()),
        Ok(Content::Manifest(_)) => Err(Malformation::NoIndex),
        Err(error) => Err(error.into()),
    };
    entries.map_err(|reason| RegistryError::Malformed {
        what: what.to_owned(),
        host: host.to_owned(),
        reason,
    })
}

/// Free words are the bulk of a list and nobody reads them here: a referrer's own manifest has
/// them, under a digest.
fn bare(entry: Descriptor) -> Descriptor {
    Descriptor {
        annotations: BTreeMap::new(),
        ..entry
    }
}
