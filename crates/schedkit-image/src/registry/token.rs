//! The answer to a challenge: a token from the registry's token server, or name and password.
//! Called by `send` after a 401; remembers what was accepted, so that one question pays for all.
//!
//! Nothing here looks at a clock: a token that has run out is found out by the next 401, which
//! costs one request and is answered once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderValue;
use reqwest::{Method, Url};
use serde::Deserialize;

use super::challenge::{Bearer, Challenge};
use super::client::Client;
use super::credentials::{Credentials, Login};
use super::endpoint::Endpoint;
use super::error::{CredentialsUsed, Malformation, RegistryError, Said};
use super::reply;
use super::send::{Away, Route};
use super::transport::host_of;
use crate::secret::Secret;

const BIGGEST_ANSWER: u64 = 64 * 1024;

/// What opens a repository on a host, and where we have it from.
#[derive(Debug, Clone)]
pub(super) struct Permit {
    /// Marked as sensitive: no library prints it.
    pub(super) header: HeaderValue,
    pub(super) used: CredentialsUsed,
}

/// Our logins and what they were exchanged for.
#[derive(Debug)]
pub(super) struct Authority {
    credentials: Credentials,
    permits: Mutex<HashMap<(String, String), Permit>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<Secret>,
    access_token: Option<Secret>,
}

impl Authority {
    pub(super) fn new(credentials: Credentials) -> Self {
        let permits = Mutex::default();
        Self {
            credentials,
            permits,
        }
    }

    pub(super) fn remembered(&self, endpoint: &Endpoint) -> Option<Permit> {
        let permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        permits.get(&key(endpoint)).cloned()
    }

    pub(super) fn remember(&self, endpoint: &Endpoint, permit: Permit) {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        permits.insert(key(endpoint), permit);
    }

    pub(super) fn forget(&self, endpoint: &Endpoint) {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        permits.remove(&key(endpoint));
    }
}

fn key(endpoint: &Endpoint) -> (String, String) {
    (endpoint.host.to_string(), endpoint.path.clone())
}

impl Client {
    /// What to show to whoever sent this challenge. Makes one request at the most.
    pub(super) async fn answer(
        &self,
        challenge: Challenge,
        endpoint: &Endpoint,
        what: &str,
    ) -> Result<Permit, RegistryError> {
        let host = endpoint.host.as_str();
        let patience = self.limits.helper;
        let credentials = &self.authority.credentials;
        let found = credentials.find(host, &endpoint.path, patience).await;
        let (login, used) = found.map_err(|source| RegistryError::Credentials {
            host: host.to_owned(),
            source,
        })?;
        let header = match (challenge, &login) {
            (Challenge::Bearer(bearer), _) => self.token(bearer, endpoint, &login, &used).await?,
            (Challenge::Basic, Login::Password { user, password }) => basic(user, password),
            (Challenge::Basic, Login::Nobody | Login::Identity(_)) => None,
        };
        let header = header.ok_or_else(|| RegistryError::Unauthorized {
            what: what.to_owned(),
            host: host.to_owned(),
            used: used.clone(),
            said: Said::default(),
        })?;
        Ok(Permit { header, used })
    }

    async fn token(
        &self,
        bearer: Bearer,
        endpoint: &Endpoint,
        login: &Login,
        used: &CredentialsUsed,
    ) -> Result<Option<HeaderValue>, RegistryError> {
        let what = format!("a token for {}/{}", endpoint.host, endpoint.path);
        let host = host_of(&bearer.realm);
        if endpoint.is_encrypted() && bearer.realm.scheme() != "https" {
            return Err(RegistryError::Downgrade {
                what,
                host: endpoint.host.to_string(),
                to: host,
            });
        }
        let route = token_route(bearer, endpoint, login, &what);
        let landed = self.follow(route).await?;
        let answer = reply::accept(landed, &what, used).await;
        // That there is no token says nothing about whether there is an image.
        let answer = answer.map_err(|error| match error {
            RegistryError::NotFound { .. } => RegistryError::Server {
                what: what.clone(),
                host: host.clone(),
                status: 404,
                said: Said::default(),
                wait: None,
            },
            other => other,
        })?;
        let body = answer.body(BIGGEST_ANSWER, &self.limits).await?;
        let malformed = |reason| RegistryError::Malformed {
            what: what.clone(),
            host: host.clone(),
            reason,
        };
        let answer = serde_json::from_slice::<TokenAnswer>(&body);
        let answer = answer.map_err(|error| malformed(error.into()))?;
        let token = answer.token.or(answer.access_token);
        let token = token.filter(|token| !token.expose().is_empty());
        let header = token.and_then(|token| sensitive("Bearer", token.expose()));
        header
            .map(Some)
            .ok_or_else(|| malformed(Malformation::Token))
    }
}

/// With a name and password, or as nobody, tokens are got; an identity is exchanged for them.
fn token_route<'a>(bearer: Bearer, endpoint: &Endpoint, login: &Login, what: &'a str) -> Route<'a> {
    let ours = || format!("repository:{}:pull", endpoint.path);
    let scope = bearer.scope.unwrap_or_else(ours);
    let service = bearer.service.unwrap_or_default();
    let mut route = Route {
        method: Method::GET,
        url: bearer.realm,
        accept: "application/json",
        authorization: None,
        form: None,
        what,
        away: Away::Stay,
    };
    match login {
        Login::Identity(token) => {
            route.method = Method::POST;
            route.form = Some(form(&[
                ("grant_type", "refresh_token"),
                ("service", &service),
                ("client_id", "schedkit"),
                ("scope", &scope),
                ("refresh_token", token.expose()),
            ]));
        }
        Login::Nobody | Login::Password { .. } => {
            let mut query = route.url.query_pairs_mut();
            if !service.is_empty() {
                query.append_pair("service", &service);
            }
            query.append_pair("scope", &scope);
        }
    }
    if let Login::Password { user, password } = login {
        route.authorization = basic(user, password);
    }
    route
}

fn form(pairs: &[(&str, &str)]) -> Secret {
    // The address is only there for its query, which is written like a form.
    let text = Url::parse("form:/").map(|mut url| {
        url.query_pairs_mut().extend_pairs(pairs);
        url.query().unwrap_or_default().to_owned()
    });
    Secret::new(text.unwrap_or_default())
}

fn basic(user: &str, password: &Secret) -> Option<HeaderValue> {
    let pair = Secret::new(format!("{user}:{}", password.expose()));
    let encoded = Secret::new(STANDARD.encode(pair.expose()));
    sensitive("Basic", encoded.expose())
}

/// `None` when the text has characters that no header can have.
fn sensitive(scheme: &str, text: &str) -> Option<HeaderValue> {
    let text = Secret::new(format!("{scheme} {text}"));
    let mut header = HeaderValue::from_str(text.expose()).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Settings;
    use crate::registry::challenge::parse;
    use crate::registry::endpoint::endpoints;

    #[tokio::test]
    async fn an_encrypted_registry_cannot_send_us_to_an_open_token_server() {
        let settings = Settings::default();
        let repository = "a.b/c".parse().unwrap();
        let endpoints = endpoints(&settings.hosts, &repository, 1).unwrap();
        let challenge = parse([r#"Bearer realm="http://e.f/token""#]).unwrap();
        let client = Client::new(settings);
        let answer = client.answer(challenge, &endpoints[0], "c").await;
        let Err(RegistryError::Downgrade { host, to, .. }) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!((host.as_str(), to.as_str()), ("a.b", "e.f"));
    }

    #[test]
    fn forms_are_written_so_that_nothing_can_slip_out_of_its_field() {
        let form = form(&[("a", "x&b=y z"), ("c", "ü")]);
        assert_eq!(form.expose(), "a=x%26b%3Dy+z&c=%C3%BC");
    }

    #[test]
    fn headers_do_not_show_what_they_carry() {
        let header = basic("me", &Secret::new("hunter2".to_owned())).unwrap();
        assert_eq!(header.as_bytes(), b"Basic bWU6aHVudGVyMg==");
        assert!(!format!("{header:?}").contains("bWU6"));
        assert!(sensitive("Bearer", "a\nb").is_none());
    }
}
