//! All tags of a repository, page after page.

use reqwest::Method;
use schedkit_core::Tag;
use serde::Deserialize;

use super::RegistryError;
use super::client::Client;
use super::endpoint::Endpoint;
use super::error::Malformation;
use super::pages::{Page, Pages};
use super::send::{Away, Question};
use crate::foreign;

const BIGGEST_PAGE: u64 = 1024 * 1024;
const MOST_PAGES: usize = 100;
const MOST_TAGS: usize = 50_000;

#[derive(Deserialize)]
struct List {
    // Go writes an empty list as null.
    tags: Option<Vec<String>>,
}

impl Client {
    pub(super) async fn tags_at(
        &self,
        endpoint: &Endpoint,
        what: &str,
    ) -> Result<Vec<Tag>, RegistryError> {
        let mut pages = Pages::from(endpoint.tags(), MOST_PAGES);
        let mut next = Some(endpoint.tags());
        let mut tags = Vec::new();
        while let Some(url) = next {
            let question = Question {
                endpoint,
                method: Method::GET,
                url,
                accept: "application/json",
                what,
                away: Away::Follow,
            };
            let read = async |reply| Page::read(reply, BIGGEST_PAGE, &self.limits).await;
            let page = self.ask(&question, read).await?;
            let on_page = parse(&page.body).map_err(|reason| RegistryError::Malformed {
                what: what.to_owned(),
                host: page.host.clone(),
                reason,
            })?;
            tags.extend(on_page);
            if tags.len() > MOST_TAGS {
                return Err(RegistryError::TooMany {
                    what: what.to_owned(),
                    host: page.host,
                    limit: MOST_TAGS,
                    of: "tags",
                });
            }
            next = pages.after(&page, what)?;
        }
        Ok(tags)
    }
}

fn parse(body: &[u8]) -> Result<Vec<Tag>, Malformation> {
    let list: List = serde_json::from_slice(body)?;
    let names = list.tags.unwrap_or_default().into_iter();
    let tags = names.map(|name| {
        let tag = name.parse();
        tag.map_err(|_| Malformation::Tag(foreign::brief(&name)))
    });
    tags.collect()
}
