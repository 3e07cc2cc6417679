//! One request and its answer: redirects, and a challenge answered once. Called by `ask`.
//!
//! Credentials go to the host that they are for and to nobody it points to; an encrypted
//! connection is never left for an open one.

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE,
};
use reqwest::{Method, Response, StatusCode, Url};

use super::RegistryError;
use super::challenge;
use super::client::Client;
use super::endpoint::Endpoint;
use super::error::{CredentialsUsed, Malformation, Said};
use super::limits::MOST_REDIRECTS;
use super::reply::{self, Reply};
use super::transport::{explain, host_of};
use crate::secret::Secret;

/// What is asked of one host.
#[derive(Debug, Clone)]
pub(super) struct Question<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'static str,
    /// In an error's words.
    pub(super) what: &'a str,
    pub(super) away: Away,
}

/// What to do when a host points to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Away {
    /// Go there, without credentials.
    Follow,
    /// Take the redirect itself for the answer.
    Stay,
}

/// One request on its way.
#[derive(Debug)]
pub(super) struct Route<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'static str,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) form: Option<Secret>,
    pub(super) what: &'a str,
    pub(super) away: Away,
}

/// An answer, and who gave it in the end.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) response: Response,
    pub(super) url: Url,
}

impl Client {
    /// Asks, answers a challenge once, and gives a good answer or an error.
    pub(super) async fn send(&self, question: &Question<'_>) -> Result<Reply, RegistryError> {
        let endpoint = question.endpoint;
        let known = self.authority.remembered(endpoint);
        let authorization = known.as_ref().map(|permit| permit.header.clone());
        let landed = self.follow(question.route(authorization)).await?;
        if !question.is_challenged(&landed) {
            let used = known.map_or(CredentialsUsed::None, |permit| permit.used);
            return question.accept(landed, used).await;
        }
        let challenge = question.challenge(&landed)?;
        drop(landed);
        let permit = self.answer(challenge, endpoint, question.what).await?;
        let again = question.route(Some(permit.header.clone()));
        let landed = self.follow(again).await?;
        let used = permit.used.clone();
        match question.is_challenged(&landed) {
            true => self.authority.forget(endpoint),
            false => self.authority.remember(endpoint, permit),
        }
        question.accept(landed, used).await
    }

    /// Goes where the answers point to, a few times at the most.
    pub(super) async fn follow(&self, mut route: Route<'_>) -> Result<Landed, RegistryError> {
        let start = route.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let response = self.request(&route, &start).await?;
            let Some(next) = redirect(&response, &route)? else {
                let url = route.url;
                return Ok(Landed { response, url });
            };
            if route.away == Away::Stay && next.origin() != start.origin() {
                let url = route.url;
                return Ok(Landed { response, url });
            }
            route.url = next;
        }
        Err(RegistryError::RedirectLoop {
            what: route.what.to_owned(),
            host: host_of(&start),
        })
    }

    async fn request(&self, route: &Route<'_>, start: &Url) -> Result<Response, RegistryError> {
        let config = self.hosts.of_url(&route.url);
        let client = self.transports.client(&route.url, config, &self.limits)?;
        let mut request = client.request(route.method.clone(), route.url.clone());
        request = request.header(ACCEPT, route.accept);
        let at_home = route.url.origin() == start.origin();
        if let Some(authorization) = route.authorization.clone().filter(|_| at_home) {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(form) = &route.form {
            request = request
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form.expose().to_owned());
        }
        let sent = request.send().await;
        sent.map_err(|error| explain(error, route.what, host_of(&route.url), &self.limits))
    }
}

impl<'a> Question<'a> {
    fn route(&self, authorization: Option<HeaderValue>) -> Route<'a> {
        Route {
            method: self.method.clone(),
            url: self.url.clone(),
            accept: self.accept,
            authorization,
            form: None,
            what: self.what,
            away: self.away,
        }
    }

    /// A challenge of a host that we were sent to is none of ours.
    fn is_challenged(&self, landed: &Landed) -> bool {
        let unauthorized = landed.response.status() == StatusCode::UNAUTHORIZED;
        unauthorized && self.endpoint.is_home_of(&landed.url)
    }

    /// The answer's meaning, given whom we came as; elsewhere we came as nobody.
    async fn accept(&self, landed: Landed, used: CredentialsUsed) -> Result<Reply, RegistryError> {
        let used = match self.endpoint.is_home_of(&landed.url) {
            true => used,
            false => CredentialsUsed::None,
        };
        reply::accept(landed, self.what, &used).await
    }

    fn challenge(&self, landed: &Landed) -> Result<challenge::Challenge, RegistryError> {
        let headers = landed.response.headers().get_all(WWW_AUTHENTICATE);
        let headers = headers.iter().filter_map(|header| header.to_str().ok());
        challenge::parse(headers).map_err(|error| match error {
            // A refusal that names no way in is a refusal.
            challenge::ChallengeError::None => RegistryError::Unauthorized {
                what: self.what.to_owned(),
                host: self.endpoint.host.to_string(),
                used: CredentialsUsed::None,
                said: Said::default(),
            },
            error => RegistryError::Malformed {
                what: self.what.to_owned(),
                host: self.endpoint.host.to_string(),
                reason: Malformation::Challenge(error),
            },
        })
    }
}

/// Where an answer points to, when it is one that does. What was posted is posted once.
fn redirect(response: &Response, route: &Route<'_>) -> Result<Option<Url>, RegistryError> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if !redirects || route.method == Method::POST {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|header| header.to_str().ok());
    let (what, host) = (route.what.to_owned(), host_of(&route.url));
    match target(&route.url, location.unwrap_or_default()) {
        Target::There(next) => Ok(Some(next)),
        Target::Open(to) => Err(RegistryError::Downgrade { what, host, to }),
        Target::Nowhere => Err(RegistryError::Malformed {
            what,
            host,
            reason: Malformation::Location,
        }),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Target {
    There(Url),
    /// A host without TLS, from one with.
    Open(String),
    Nowhere,
}

fn target(from: &Url, location: &str) -> Target {
    let next = from.join(location).ok();
    let next = next.filter(|next| matches!(next.scheme(), "http" | "https"));
    let Some(mut next) = next.filter(|_| !location.is_empty()) else {
        return Target::Nowhere;
    };
    if from.scheme() == "https" && next.scheme() == "http" {
        return Target::Open(host_of(&next));
    }
    // A name or password in an address would be sent as ours.
    let _ = next.set_username("");
    let _ = next.set_password(None);
    next.set_fragment(None);
    Target::There(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_to_addresses_and_never_out_of_tls() {
        let there = |url| Target::There(Url::parse(url).unwrap());
        for (from, location, expected) in [
            ("https://a.b/c", "/d", there("https://a.b/d")),
            (
                "https://a.b/c",
                "https://u:p@e.f/?q#x",
                there("https://e.f/?q"),
            ),
            ("http://a.b/c", "https://e.f/", there("https://e.f/")),
            ("http://a.b/c", "http://e.f/", there("http://e.f/")),
            (
                "https://a.b/c",
                "http://a.b/c",
                Target::Open("a.b".to_owned()),
            ),
            (
                "https://a.b/c",
                "http://e.f:1/",
                Target::Open("e.f:1".to_owned()),
            ),
            ("https://a.b/c", "", Target::Nowhere),
            ("https://a.b/c", "ftp://e.f/", Target::Nowhere),
            ("https://a.b/c", "https://", Target::Nowhere),
        ] {
            let from = Url::parse(from).unwrap();
            assert_eq!(target(&from, location), expected, "{location}");
        }
    }
}
