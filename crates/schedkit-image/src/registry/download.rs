//! Fetches files from web servers that are no registries, with the certificate authorities, proxies,
//! redirects and timeouts of the registry client. Never sends credentials.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::{Method, StatusCode, Url};
use tokio::time::{sleep, timeout};

use super::client::ClientConfig;
use super::credentials::LoginSource;
use super::error::RegistryError;
use super::host_name::host_and_port;
use super::http::{Http, HttpRequest, RedirectPolicy};
use super::problem::Problem;
use super::reach::Reach;
use super::response::check_status;
use super::transport::Transports;

/// Clones share their connections.
#[derive(Debug, Clone)]
pub struct FileClient {
    http: Arc<Http>,
}

impl FileClient {
    /// Without the credentials of the configuration.
    pub fn new(config: ClientConfig) -> Self {
        let ClientConfig {
            hosts,
            credentials: _,
            proxies,
            limits,
        } = config;
        let transports = Transports::new(proxies, Reach::default());
        let http = Http {
            hosts,
            limits,
            transports,
        };
        Self {
            http: Arc::new(http),
        }
    }

    /// A file of at most `limit` bytes; `what` names it in errors.
    pub(crate) async fn get(
        &self,
        url: &Url,
        what: &str,
        limit: u64,
    ) -> Result<Bytes, RegistryError> {
        let limits = &self.http.limits;
        let outcome = timeout(limits.request, self.get_with_retries(url, what, limit)).await;
        outcome.unwrap_or_else(|_| {
            let limit = limits.request;
            let host = host_and_port(url);
            Err(RegistryError::new(what, host, Problem::Timeout { limit }))
        })
    }

    async fn get_with_retries(
        &self,
        url: &Url,
        what: &str,
        limit: u64,
    ) -> Result<Bytes, RegistryError> {
        let limits = &self.http.limits;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let error = match self.get_once(url, what, limit).await {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            match limits.backoff(error.problem(), attempt, limits.attempts) {
                Some(backoff) => sleep(backoff).await,
                None => return Err(error),
            }
        }
    }

    async fn get_once(&self, url: &Url, what: &str, limit: u64) -> Result<Bytes, RegistryError> {
        let request = HttpRequest {
            method: Method::GET,
            url: url.clone(),
            accept: "*/*",
            authorization: None,
            form: None,
            what,
            redirects: RedirectPolicy::AnyHost,
        };
        let response = self.http.send(request).await?;
        // Object stores answer so about files that are not there.
        if response.response.status() == StatusCode::FORBIDDEN {
            let host = host_and_port(&response.url);
            return Err(RegistryError::new(what, host, Problem::NotFound));
        }
        let response = check_status(response, what, &LoginSource::Nowhere).await?;
        response.body(limit, &self.http.limits).await
    }
}
