//! One HTTP request and its redirects. Knows nothing of registries or tokens.
//!
//! Credentials are sent to the host that they are for and to no host it redirects to; a TLS
//! connection is never followed by one without TLS.

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Method, Response, Url};

use super::error::RegistryError;
use super::host_config::Hosts;
use super::host_name::host_and_port;
use super::limits::Limits;
use super::problem::{BadResponse, MAX_REDIRECTS, Problem};
use super::transport::{Transports, explain};
use crate::secret::Secret;

/// Sends requests as the configuration of their hosts says.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) hosts: Hosts,
    pub(super) limits: Limits,
    pub(super) transports: Transports,
}

/// What to do when a response redirects to another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectPolicy {
    /// Follow it, without credentials.
    AnyHost,
    /// Return the redirect itself as the response.
    SameHost,
}

#[derive(Debug)]
pub(super) struct HttpRequest<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'static str,
    pub(super) authorization: Option<HeaderValue>,
    /// Sent as `application/x-www-form-urlencoded`.
    pub(super) form: Option<Secret>,
    /// What is requested, for errors.
    pub(super) what: &'a str,
    pub(super) redirects: RedirectPolicy,
}

/// The response after all redirects, and the URL that sent it.
#[derive(Debug)]
pub(super) struct FinalResponse {
    pub(super) response: Response,
    pub(super) url: Url,
}

impl Http {
    pub(super) async fn send(
        &self,
        mut request: HttpRequest<'_>,
    ) -> Result<FinalResponse, RegistryError> {
        let first = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_one(&request, &first).await?;
            let url = request.url.clone();
            let Some(next) = redirect(&response, &request)? else {
                return Ok(FinalResponse { response, url });
            };
            let same_host = next.origin() == first.origin();
            if request.redirects == RedirectPolicy::SameHost && !same_host {
                return Ok(FinalResponse { response, url });
            }
            request.url = next;
        }
        let host = host_and_port(&first);
        Err(RegistryError::new(
            request.what,
            host,
            Problem::RedirectLoop,
        ))
    }

    async fn send_one(
        &self,
        request: &HttpRequest<'_>,
        first: &Url,
    ) -> Result<Response, RegistryError> {
        let host = host_and_port(&request.url);
        let config = self.hosts.of_url(&request.url);
        let client = self.transports.client(&request.url, config, &self.limits);
        let client = client.map_err(|problem| RegistryError::new(request.what, &*host, problem))?;
        let mut builder = client.request(request.method.clone(), request.url.clone());
        builder = builder.header(ACCEPT, request.accept);
        let same_host = request.url.origin() == first.origin();
        if let Some(authorization) = request.authorization.clone().filter(|_| same_host) {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        if let Some(form) = &request.form {
            builder = builder
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form.expose().to_owned());
        }
        let sent = builder.send().await;
        sent.map_err(|error| {
            let problem = explain(error, &host, &self.limits);
            RegistryError::new(request.what, host, problem)
        })
    }
}

/// The URL that a response redirects to. A form is sent once: its redirect is not followed.
fn redirect(response: &Response, request: &HttpRequest<'_>) -> Result<Option<Url>, RegistryError> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if !is_redirect || request.method == Method::POST {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|header| header.to_str().ok());
    match target(&request.url, location.unwrap_or_default()) {
        Ok(next) => Ok(Some(next)),
        Err(problem) => {
            let host = host_and_port(&request.url);
            Err(RegistryError::new(request.what, host, problem))
        }
    }
}

fn target(from: &Url, location: &str) -> Result<Url, Problem> {
    let next = from.join(location).ok();
    let next = next.filter(|next| matches!(next.scheme(), "http" | "https"));
    let Some(mut next) = next.filter(|_| !location.is_empty()) else {
        return Err(BadResponse::Location.into());
    };
    if from.scheme() == "https" && next.scheme() == "http" {
        let to = host_and_port(&next);
        return Err(Problem::Downgrade { to });
    }
    // A name or password in a URL would be sent as ours.
    let _ = next.set_username("");
    let _ = next.set_password(None);
    next.set_fragment(None);
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_need_a_url_and_never_leave_tls() {
        let no_url = "the response cannot be used";
        let no_tls = |host: &str| format!("it refers to {host}, which has no TLS: not followed");
        for (from, location, expected) in [
            ("https://a.b/c", "/d", Ok("https://a.b/d")),
            (
                "https://a.b/c",
                "https://u:p@e.f/?q#x",
                Ok("https://e.f/?q"),
            ),
            ("http://a.b/c", "https://e.f/", Ok("https://e.f/")),
            ("http://a.b/c", "http://e.f/", Ok("http://e.f/")),
            ("https://a.b/c", "http://a.b/c", Err(no_tls("a.b"))),
            ("https://a.b/c", "http://e.f:1/", Err(no_tls("e.f:1"))),
            ("https://a.b/c", "", Err(no_url.to_owned())),
            ("https://a.b/c", "ftp://e.f/", Err(no_url.to_owned())),
            ("https://a.b/c", "https://", Err(no_url.to_owned())),
        ] {
            let from = Url::parse(from).unwrap();
            let found = target(&from, location).map_err(|problem| problem.to_string());
            let expected = expected.map(|url| Url::parse(url).unwrap());
            assert_eq!(found, expected, "{location}");
        }
    }
}
