//! A request until it succeeds: host after host, attempt after attempt, within its time. Answers
//! one challenge per attempt.

use std::time::Duration;

use reqwest::header::{HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, StatusCode, Url};
use schedkit_core::Repository;
use tokio::time::{sleep, timeout};

use super::authentication::Authenticator;
use super::challenge::{self, Challenge, ChallengeError};
use super::credentials::LoginSource;
use super::endpoint::{Endpoint, endpoints};
use super::error::RegistryError;
use super::http::{FinalResponse, Http, HttpRequest, RedirectPolicy};
use super::limits::Limits;
use super::problem::{BadResponse, ErrorCode, Problem};
use super::response::{SuccessResponse, check_status};

/// Sends requests to registries and their mirrors.
#[derive(Debug)]
pub(super) struct Requester {
    pub(super) http: Http,
    pub(super) authenticator: Authenticator,
}

/// One request to one host.
#[derive(Debug, Clone)]
pub(super) struct RegistryRequest<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'static str,
    /// What is requested, for errors.
    pub(super) what: &'a str,
    pub(super) redirects: RedirectPolicy,
}

impl Requester {
    pub(super) fn limits(&self) -> &Limits {
        &self.http.limits
    }

    /// Runs `request` on the mirrors, then on the registry, until one succeeds; each gets `limit`.
    /// The error is that of the last host, with the errors of the mirrors before it. Content that no
    /// host has is not found; if one of them failed otherwise, it may have the content.
    pub(super) async fn on_first_host<T>(
        &self,
        repository: &Repository,
        what: &str,
        limit: Duration,
        mut request: impl AsyncFnMut(&Endpoint) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let attempts = self.limits().attempts;
        let mut failed = Vec::new();
        for endpoint in endpoints(&self.http.hosts, repository, attempts, what)? {
            match in_time(&endpoint, what, limit, request(&endpoint)).await {
                Ok(value) => return Ok(value),
                Err(error) => failed.push(error),
            }
        }
        let last = failed.pop().unwrap_or_else(|| {
            let host = repository.host().as_str();
            RegistryError::new(what, host, Problem::NotFound)
        });
        let is_found_nowhere =
            last.is_not_found() && failed.iter().all(RegistryError::is_not_found);
        Err(match is_found_nowhere {
            true => last,
            false => last.after_mirrors(failed),
        })
    }

    /// Runs `request` on the mirror or registry at this position, and on no other.
    pub(super) async fn on_host<T>(
        &self,
        repository: &Repository,
        position: usize,
        what: &str,
        limit: Duration,
        mut request: impl AsyncFnMut(&Endpoint) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let attempts = self.limits().attempts;
        let endpoints = endpoints(&self.http.hosts, repository, attempts, what)?;
        let Some(endpoint) = endpoints.get(position) else {
            let host = repository.host().as_str();
            return Err(RegistryError::new(what, host, Problem::NotFound));
        };
        in_time(endpoint, what, limit, request(endpoint)).await
    }

    /// Sends a request to one host, again when that can help. Reading the body is part of the
    /// attempt: a response that breaks off is requested again.
    pub(super) async fn send<T>(
        &self,
        request: &RegistryRequest<'_>,
        mut read: impl AsyncFnMut(SuccessResponse) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let outcome = match self.send_once(request).await {
                Ok(response) => read(response).await,
                Err(error) => Err(error),
            };
            let error = match outcome {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let attempts = request.endpoint.attempts;
            match self.limits().backoff(error.problem(), attempt, attempts) {
                Some(backoff) => sleep(backoff).await,
                None => return Err(error),
            }
        }
    }

    /// One attempt. A challenge is answered once.
    async fn send_once(
        &self,
        request: &RegistryRequest<'_>,
    ) -> Result<SuccessResponse, RegistryError> {
        let endpoint = request.endpoint;
        let cached = self.authenticator.cached(endpoint);
        let header = cached.as_ref().map(|cached| cached.header.clone());
        let response = self.http.send(request.to_http(header)).await?;
        if !request.is_challenged(&response) {
            let login = cached.map_or(LoginSource::Nowhere, |cached| cached.login);
            return request.check_status(response, login).await;
        }
        let challenge = request.challenge(&response)?;
        drop(response);
        let authorization = self
            .authenticator
            .answer(&self.http, challenge, endpoint, request.what)
            .await?;
        let header = Some(authorization.header.clone());
        let response = self.http.send(request.to_http(header)).await?;
        let login = authorization.login.clone();
        match request.is_challenged(&response) {
            true => self.authenticator.forget(endpoint),
            false => self.authenticator.cache(endpoint, authorization),
        }
        request.check_status(response, login).await
    }
}

async fn in_time<T>(
    endpoint: &Endpoint,
    what: &str,
    limit: Duration,
    request: impl Future<Output = Result<T, RegistryError>>,
) -> Result<T, RegistryError> {
    let outcome = timeout(limit, request).await;
    outcome.unwrap_or_else(|_| {
        let host = endpoint.host.as_str();
        Err(RegistryError::new(what, host, Problem::Timeout { limit }))
    })
}

impl<'a> RegistryRequest<'a> {
    fn to_http(&self, authorization: Option<HeaderValue>) -> HttpRequest<'a> {
        HttpRequest {
            method: self.method.clone(),
            url: self.url.clone(),
            accept: self.accept,
            authorization,
            form: None,
            what: self.what,
            redirects: self.redirects,
        }
    }

    /// A challenge of a host that the registry redirected to is not answered.
    fn is_challenged(&self, response: &FinalResponse) -> bool {
        let unauthorized = response.response.status() == StatusCode::UNAUTHORIZED;
        unauthorized && self.endpoint.is_same_host(&response.url)
    }

    /// `login` was sent to this host only: a host that it redirected to got no credentials.
    async fn check_status(
        &self,
        response: FinalResponse,
        login: LoginSource,
    ) -> Result<SuccessResponse, RegistryError> {
        let login = match self.endpoint.is_same_host(&response.url) {
            true => login,
            false => LoginSource::Nowhere,
        };
        check_status(response, self.what, &login).await
    }

    fn challenge(&self, response: &FinalResponse) -> Result<Challenge, RegistryError> {
        let headers = response.response.headers().get_all(WWW_AUTHENTICATE);
        let headers = headers.iter().filter_map(|header| header.to_str().ok());
        challenge::parse(headers).map_err(|error| {
            let problem = match error {
                // A 401 without a challenge cannot be answered, so it is a refusal.
                ChallengeError::None => Problem::Unauthorized {
                    login: LoginSource::Nowhere,
                    code: ErrorCode::default(),
                },
                error => BadResponse::Challenge(error).into(),
            };
            RegistryError::new(self.what, self.endpoint.host.as_str(), problem)
        })
    }
}
