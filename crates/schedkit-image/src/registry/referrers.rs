//! The manifests that refer to an image: from the referrers API, else from the tag `sha256-<hex>`.
//!
//! Both are requested at the same time: half of the registries in use have no referrers API, and
//! finding that out first would cost each of their users a round trip. Where there is an API, only
//! its list counts.

mod list;

use std::pin::pin;

use reqwest::{Method, Url};
use schedkit_core::{Digest, PinnedRef};
use tokio::select;

use list::MAX_REFERRERS;

use super::content::Descriptor;
use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::http::RedirectPolicy;
use super::manifest::{self, ManifestRef};
use super::pages::{Page, Pages};
use super::problem::{BadResponse, Problem};
use super::request::{RegistryRequest, Requester};

const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
/// For all pages together, and so for a single one.
const MAX_LIST_BYTES: u64 = 4 * 1024 * 1024;
/// Registries send as few as a hundred entries a page.
const MAX_PAGES: usize = 200;

enum ApiResult {
    Listed(Vec<Descriptor>),
    /// The registry has no referrers API.
    NoApi,
}

/// The pages that were read so far.
#[derive(Default)]
struct PartialList {
    entries: Vec<Descriptor>,
    bytes: u64,
    /// The host that sent the last page; none before the first.
    sender: Option<String>,
}

impl PartialList {
    fn add(&mut self, page: &Page) -> Result<(), Problem> {
        self.bytes += page.body.len() as u64;
        if self.bytes > MAX_LIST_BYTES {
            let limit = MAX_LIST_BYTES;
            return Err(Problem::TooBig { limit });
        }
        self.entries.extend(list::parse(&page.body)?);
        check_number(&self.entries)?;
        self.sender = Some(page.host.clone());
        Ok(())
    }

    /// The next page is missing. A registry that sent one before has the API: `NoApi` would throw
    /// away the signatures that it listed already.
    fn without_next_page(self, what: &str) -> Result<ApiResult, RegistryError> {
        match self.sender {
            None => Ok(ApiResult::NoApi),
            Some(host) => Err(RegistryError::new(what, host, BadResponse::LostPage.into())),
        }
    }
}

pub(super) async fn fetch(
    requester: &Requester,
    endpoint: &Endpoint,
    image: &PinnedRef,
    what: &str,
) -> Result<Vec<Descriptor>, RegistryError> {
    let mut by_api = pin!(by_api(requester, endpoint, image.digest(), what));
    let mut by_tag = pin!(by_tag(requester, endpoint, image.digest(), what));
    select! {
        biased;
        listed = &mut by_api => match listed? {
            ApiResult::Listed(list) => Ok(list),
            ApiResult::NoApi => by_tag.await,
        },
        tagged = &mut by_tag => match by_api.await? {
            ApiResult::Listed(list) => Ok(list),
            ApiResult::NoApi => tagged,
        },
    }
}

async fn by_api(
    requester: &Requester,
    endpoint: &Endpoint,
    subject: &Digest,
    what: &str,
) -> Result<ApiResult, RegistryError> {
    let mut pages = Pages::starting_at(endpoint.referrers(subject), MAX_PAGES);
    let mut next = Some(endpoint.referrers(subject));
    let mut list = PartialList::default();
    while let Some(url) = next {
        let Some(page) = fetch_page(requester, endpoint, url, what).await? else {
            return list.without_next_page(what);
        };
        let error = |problem| RegistryError::new(what, &*page.host, problem);
        list.add(&page).map_err(error)?;
        next = pages.after(&page).map_err(error)?;
    }
    Ok(ApiResult::Listed(list.entries))
}

/// A page, or `None` when the response does not come from a referrers API. Registries without one
/// differ: they send not only 404, but 400, 405 and 406, a redirect to a web site (GitHub's), or a
/// web page with status 200 (Google's). The content type that the specification requires tells the
/// last from a list.
async fn fetch_page(
    requester: &Requester,
    endpoint: &Endpoint,
    url: Url,
    what: &str,
) -> Result<Option<Page>, RegistryError> {
    let request = RegistryRequest {
        endpoint,
        method: Method::GET,
        url,
        accept: INDEX_TYPE,
        what,
        redirects: RedirectPolicy::SameHost,
    };
    let page = requester
        .send(&request, async |response| {
            if !response.media_type().eq_ignore_ascii_case(INDEX_TYPE) {
                return Ok(None);
            }
            let page = Page::read(response, MAX_LIST_BYTES, requester.limits()).await?;
            Ok(Some(page))
        })
        .await;
    match page {
        Err(error) if means_no_api(error.problem()) => Ok(None),
        page => page,
    }
}

async fn by_tag(
    requester: &Requester,
    endpoint: &Endpoint,
    subject: &Digest,
    what: &str,
) -> Result<Vec<Descriptor>, RegistryError> {
    let tag = format!("sha256-{}", subject.hex());
    let document = manifest::fetch(requester, endpoint, ManifestRef::Tag(&tag), what).await;
    match document {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
        // Some registries (GitLab's) take the tag for the digest and send the image itself.
        Ok(document) if document.digest == *subject => Ok(Vec::new()),
        Ok(document) => {
            let listed = || -> Result<Vec<Descriptor>, Problem> {
                let entries = list::parse(&document.bytes)?;
                check_number(&entries)?;
                Ok(entries)
            };
            let host = endpoint.host.as_str();
            listed().map_err(|problem| RegistryError::new(what, host, problem))
        }
    }
}

fn check_number(entries: &[Descriptor]) -> Result<(), Problem> {
    if entries.len() > MAX_REFERRERS {
        return Err(Problem::TooMany {
            limit: MAX_REFERRERS,
            items: "referrers",
        });
    }
    Ok(())
}

fn means_no_api(problem: &Problem) -> bool {
    match problem {
        Problem::NotFound | Problem::Downgrade { .. } => true,
        Problem::Status { status, .. } => matches!(status, 300..=399 | 400 | 405 | 406),
        _ => false,
    }
}
