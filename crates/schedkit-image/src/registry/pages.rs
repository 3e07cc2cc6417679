//! Lists in several pages. Parses the `Link` header; the next page must belong to the same list on
//! the same host.

use std::collections::BTreeSet;

use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};

use super::error::RegistryError;
use super::limits::Limits;
use super::problem::{BadResponse, Problem};
use super::response::SuccessResponse;

/// The pages of one list, each of which is requested once.
#[derive(Debug)]
pub(super) struct Pages {
    first: Url,
    seen: BTreeSet<String>,
    max: usize,
}

#[derive(Debug)]
pub(super) struct Page {
    pub(super) body: Bytes,
    /// The target of its `Link` header.
    next: Option<String>,
    pub(super) host: String,
}

impl Page {
    /// Reads a page of at most `limit` bytes.
    pub(super) async fn read(
        response: SuccessResponse,
        limit: u64,
        limits: &Limits,
    ) -> Result<Self, RegistryError> {
        let next = next_target(response.headers()).map(str::to_owned);
        let host = response.host.clone();
        let body = response.body(limit, limits).await?;
        Ok(Self { body, next, host })
    }
}

impl Pages {
    pub(super) fn starting_at(first: Url, max: usize) -> Self {
        let seen = BTreeSet::from([first.to_string()]);
        Self { first, seen, max }
    }

    /// The URL of the page after this one.
    pub(super) fn after(&mut self, page: &Page) -> Result<Option<Url>, Problem> {
        let Some(target) = &page.next else {
            return Ok(None);
        };
        let next = resolve(&self.first, target);
        let next = next.filter(|next| self.seen.insert(next.to_string()));
        let next = next.ok_or(BadResponse::NextPage)?;
        if self.seen.len() > self.max {
            return Err(Problem::TooMany {
                limit: self.max,
                items: "pages",
            });
        }
        Ok(Some(next))
    }
}

/// The URL of the page after the one with this URL and these `Link` headers: a page of the same list
/// on the same host.
pub fn next_page(page: &str, headers: &[&str]) -> Option<String> {
    let target = next_link(headers.iter().copied())?;
    let next = resolve(&Url::parse(page).ok()?, target)?;
    Some(next.into())
}

fn resolve(first: &Url, target: &str) -> Option<Url> {
    let next = first.join(target).ok();
    let mut next =
        next.filter(|next| next.origin() == first.origin() && next.path() == first.path())?;
    // A name or password in a URL would be sent as ours.
    let _ = next.set_username("");
    let _ = next.set_password(None);
    next.set_fragment(None);
    Some(next)
}

fn next_target(headers: &HeaderMap) -> Option<&str> {
    let headers = headers.get_all(LINK).iter();
    next_link(headers.filter_map(|header| header.to_str().ok()))
}

/// The target of the link whose relation is `next`.
fn next_link<'a>(texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    texts.flat_map(links).find_map(|(target, parameters)| {
        let next = parameters.split(';').any(is_next);
        next.then_some(target)
    })
}

/// `<TARGET>; PARAMETERS`, separated by commas.
fn links(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('<').skip(1).filter_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        Some((target, parameters.trim_end_matches([',', ' '])))
    })
}

fn is_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    name.trim().eq_ignore_ascii_case("rel")
        && value.trim().trim_matches('"').eq_ignore_ascii_case("next")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target(text: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(LINK, text.parse().ok()?);
        next_target(&headers).map(str::to_owned)
    }

    #[test]
    fn the_next_page_is_the_link_with_that_relation() {
        for (text, expected) in [
            (
                r#"</v2/a/tags/list?last=x&n=1>; rel="next""#,
                Some("/v2/a/tags/list?last=x&n=1"),
            ),
            ("<?last=x>; REL=next", Some("?last=x")),
            (
                r#"</a,b>; rel="prev", </c>; title="x"; rel="next""#,
                Some("/c"),
            ),
            (r#"</a>; rel="prev""#, None),
            ("</a>", None),
            ("</a; rel=next", None),
            ("rel=next", None),
            ("", None),
        ] {
            assert_eq!(target(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_next_page_belongs_to_the_same_list() {
        const PAGE: &str = "https://r.example/v2/a/tags/list?n=1";
        let next = |target: &str| next_page(PAGE, &[&format!("<{target}>; rel=next")]);
        let list = "https://r.example/v2/a/tags/list";
        for (target, expected) in [
            ("?n=1&last=b", Some(format!("{list}?n=1&last=b"))),
            ("/v2/a/tags/list?x#y", Some(format!("{list}?x"))),
            (
                "https://me:secret@r.example/v2/a/tags/list?x",
                Some(format!("{list}?x")),
            ),
            ("http://r.example/v2/a/tags/list?x", None),
            ("https://r.example:8443/v2/a/tags/list?x", None),
            ("//evil.example/v2/a/tags/list?x", None),
            ("../other/tags/list", None),
        ] {
            assert_eq!(next(target), expected, "{target}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[ -~]*|[<>;,="relnxt ]{0,40}"#) {
            let _ = target(&text);
            let _ = next_page("https://r.example/v2/a/tags/list", &[&text]);
        }
    }
}
