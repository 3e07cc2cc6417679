//! Answers a registry's challenge: with a token from its token server, or with name and password.
//! Accepted authorizations are kept for later requests to the same repository.
//!
//! No clock is read here: an expired token is noticed by the next 401, which costs one request and
//! is answered once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderValue;
use reqwest::{Method, Url};
use serde::Deserialize;

use super::challenge::{Bearer, Challenge};
use super::credentials::{Credentials, Login, LoginSource};
use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::host_name::host_and_port;
use super::http::{Http, HttpRequest, RedirectPolicy};
use super::problem::{BadResponse, ErrorCode, Problem};
use super::response::check_status;
use crate::secret::Secret;

const MAX_TOKEN_RESPONSE_BYTES: u64 = 64 * 1024;

/// The header that authorizes requests to a repository, and where its login was found.
#[derive(Debug, Clone)]
pub(super) struct Authorization {
    /// Marked as sensitive: no library prints it.
    pub(super) header: HeaderValue,
    pub(super) login: LoginSource,
}

/// Looks up credentials and keeps accepted authorizations, by host and repository.
#[derive(Debug)]
pub(super) struct Authenticator {
    credentials: Credentials,
    accepted: Mutex<HashMap<(String, String), Authorization>>,
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Option<Secret>,
    access_token: Option<Secret>,
}

impl Authenticator {
    pub(super) fn new(credentials: Credentials) -> Self {
        let accepted = Mutex::default();
        Self {
            credentials,
            accepted,
        }
    }

    pub(super) fn cached(&self, endpoint: &Endpoint) -> Option<Authorization> {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.get(&key(endpoint)).cloned()
    }

    pub(super) fn cache(&self, endpoint: &Endpoint, authorization: Authorization) {
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.insert(key(endpoint), authorization);
    }

    pub(super) fn forget(&self, endpoint: &Endpoint) {
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.remove(&key(endpoint));
    }

    /// The authorization for whoever sent this challenge. Sends at most one request.
    pub(super) async fn answer(
        &self,
        http: &Http,
        challenge: Challenge,
        endpoint: &Endpoint,
        what: &str,
    ) -> Result<Authorization, RegistryError> {
        let host = endpoint.host.as_str();
        let found = self
            .credentials
            .find(host, &endpoint.path, http.limits.helper)
            .await;
        let (login, source) =
            found.map_err(|error| RegistryError::new(what, host, Problem::Credentials(error)))?;
        let header = match (challenge, &login) {
            (Challenge::Bearer(bearer), _) => {
                Some(token(http, bearer, endpoint, &login, &source).await?)
            }
            (Challenge::Basic, Login::Password { user, password }) => basic(user, password),
            (Challenge::Basic, Login::Anonymous | Login::Identity(_)) => None,
        };
        match header {
            Some(header) => Ok(Authorization {
                header,
                login: source,
            }),
            None => {
                let code = ErrorCode::default();
                let login = source;
                let problem = Problem::Unauthorized { login, code };
                Err(RegistryError::new(what, host, problem))
            }
        }
    }
}

fn key(endpoint: &Endpoint) -> (String, String) {
    (endpoint.host.to_string(), endpoint.path.clone())
}

async fn token(
    http: &Http,
    bearer: Bearer,
    endpoint: &Endpoint,
    login: &Login,
    source: &LoginSource,
) -> Result<HeaderValue, RegistryError> {
    let what = format!("a token for {}/{}", endpoint.host, endpoint.path);
    let host = host_and_port(&bearer.realm);
    if endpoint.is_encrypted() && bearer.realm.scheme() != "https" {
        let problem = Problem::Downgrade { to: host };
        return Err(RegistryError::new(what, endpoint.host.as_str(), problem));
    }
    let request = token_request(bearer, endpoint, login, &what);
    let response = http.send(request).await?;
    let response = check_status(response, &what, source).await;
    let response = response.map_err(|error| match error.is_not_found() {
        // A missing token does not mean that the image is missing.
        true => {
            let problem = Problem::Status {
                status: 404,
                code: ErrorCode::default(),
                retry_after: None,
            };
            RegistryError::new(&*what, &*host, problem)
        }
        false => error,
    })?;
    let body = response
        .body(MAX_TOKEN_RESPONSE_BYTES, &http.limits)
        .await?;
    read_token(&body).map_err(|fault| RegistryError::new(what, host, fault.into()))
}

fn read_token(body: &[u8]) -> Result<HeaderValue, BadResponse> {
    let response = serde_json::from_slice::<TokenResponse>(body)?;
    let token = response.token.or(response.access_token);
    let token = token.filter(|token| !token.expose().is_empty());
    let header = token.and_then(|token| sensitive("Bearer", token.expose()));
    header.ok_or(BadResponse::Token)
}

/// Tokens are fetched with GET, anonymously or with name and password; an identity token is
/// exchanged with POST.
fn token_request<'a>(
    bearer: Bearer,
    endpoint: &Endpoint,
    login: &Login,
    what: &'a str,
) -> HttpRequest<'a> {
    let default_scope = || format!("repository:{}:pull", endpoint.path);
    let scope = bearer.scope.unwrap_or_else(default_scope);
    let service = bearer.service.unwrap_or_default();
    let mut request = HttpRequest {
        method: Method::GET,
        url: bearer.realm,
        accept: "application/json",
        authorization: None,
        form: None,
        what,
        redirects: RedirectPolicy::SameHost,
    };
    match login {
        Login::Identity(token) => {
            request.method = Method::POST;
            request.form = Some(form(&[
                ("grant_type", "refresh_token"),
                ("service", &service),
                ("client_id", "schedkit"),
                ("scope", &scope),
                ("refresh_token", token.expose()),
            ]));
        }
        Login::Anonymous | Login::Password { .. } => {
            let mut query = request.url.query_pairs_mut();
            if !service.is_empty() {
                query.append_pair("service", &service);
            }
            query.append_pair("scope", &scope);
        }
    }
    if let Login::Password { user, password } = login {
        request.authorization = basic(user, password);
    }
    request
}

fn form(pairs: &[(&str, &str)]) -> Secret {
    // A query is encoded like a form, so a URL without a host does the encoding.
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
    use crate::registry::challenge::parse;
    use crate::registry::endpoint::endpoints;
    use crate::registry::reach::Reach;
    use crate::registry::transport::{Proxies, Transports};

    #[tokio::test]
    async fn a_registry_with_tls_cannot_name_a_token_server_without_tls() {
        let http = Http {
            hosts: Default::default(),
            limits: Default::default(),
            transports: Transports::new(Proxies::default(), Reach::default()),
        };
        let repository = "a.b/c".parse().unwrap();
        let endpoints = endpoints(&http.hosts, &repository, 1, "c").unwrap();
        let challenge = parse([r#"Bearer realm="http://e.f/token""#]).unwrap();
        let authenticator = Authenticator::new(Credentials::none());
        let outcome = authenticator
            .answer(&http, challenge, &endpoints[0], "c")
            .await;
        let error = outcome.unwrap_err();
        assert_eq!(error.host(), "a.b");
        assert!(
            matches!(error.problem(), Problem::Downgrade { to } if to == "e.f"),
            "{error}"
        );
    }

    #[test]
    fn values_of_a_form_are_escaped() {
        let form = form(&[("a", "x&b=y z"), ("c", "ü")]);
        assert_eq!(form.expose(), "a=x%26b%3Dy+z&c=%C3%BC");
    }

    #[test]
    fn debug_output_hides_the_header_value() {
        let header = basic("me", &Secret::new("hunter2".to_owned())).unwrap();
        assert_eq!(header.as_bytes(), b"Basic bWU6aHVudGVyMg==");
        assert!(!format!("{header:?}").contains("bWU6"));
        assert!(sensitive("Bearer", "a\nb").is_none());
    }
}
