//! All tags of a repository, page after page.

use reqwest::Method;
use schedkit_core::Tag;
use serde::Deserialize;

use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::http::RedirectPolicy;
use super::pages::{Page, Pages};
use super::problem::{BadResponse, Problem};
use super::request::{RegistryRequest, Requester};
use crate::untrusted;

const MAX_PAGE_BYTES: u64 = 1024 * 1024;
const MAX_PAGES: usize = 100;
const MAX_TAGS: usize = 50_000;

#[derive(Deserialize)]
struct List {
    // Go writes an empty list as null.
    tags: Option<Vec<String>>,
}

pub(super) async fn fetch(
    requester: &Requester,
    endpoint: &Endpoint,
    what: &str,
) -> Result<Vec<Tag>, RegistryError> {
    let mut pages = Pages::starting_at(endpoint.tags(), MAX_PAGES);
    let mut next = Some(endpoint.tags());
    let mut tags = Vec::new();
    while let Some(url) = next {
        let request = RegistryRequest {
            endpoint,
            method: Method::GET,
            url,
            accept: "application/json",
            what,
            redirects: RedirectPolicy::AnyHost,
        };
        let read = async |response| Page::read(response, MAX_PAGE_BYTES, requester.limits()).await;
        let page = requester.send(&request, read).await?;
        let error = |problem| RegistryError::new(what, &*page.host, problem);
        tags.extend(parse(&page.body).map_err(|fault| error(fault.into()))?);
        if tags.len() > MAX_TAGS {
            return Err(error(Problem::TooMany {
                limit: MAX_TAGS,
                items: "tags",
            }));
        }
        next = pages.after(&page).map_err(error)?;
    }
    Ok(tags)
}

fn parse(body: &[u8]) -> Result<Vec<Tag>, BadResponse> {
    let list: List = serde_json::from_slice(body)?;
    let names = list.tags.unwrap_or_default().into_iter();
    let tags = names.map(|name| {
        let tag = name.parse();
        tag.map_err(|_| BadResponse::Tag(untrusted::brief(&name)))
    });
    tags.collect()
}
