//! The meaning of a response's status, and its body, never more of it than the limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::credentials::LoginSource;
use super::error::RegistryError;
use super::host_name::host_and_port;
use super::http::FinalResponse;
use super::limits::Limits;
use super::problem::{ErrorCode, Problem};
use super::transport::explain;
use crate::untrusted;

const MAX_ERROR_BODY_BYTES: usize = 8 * 1024;

/// A response with status 200 whose body is still to be read.
#[derive(Debug)]
pub(super) struct SuccessResponse {
    response: Response,
    /// What was requested, for errors.
    what: String,
    /// The host that sent the response, after redirects.
    pub(super) host: String,
}

/// The body of an error response, as the distribution specification has it.
#[derive(Deserialize)]
struct ErrorBody {
    errors: Vec<ErrorEntry>,
}

#[derive(Deserialize)]
struct ErrorEntry {
    code: String,
}

/// A response with status 200, or the error that its status stands for. `login` is the one that
/// the request was sent with.
pub(super) async fn check_status(
    response: FinalResponse,
    what: &str,
    login: &LoginSource,
) -> Result<SuccessResponse, RegistryError> {
    let FinalResponse { response, url } = response;
    let host = host_and_port(&url);
    let retry_after = retry_after(response.headers());
    let problem = match response.status() {
        StatusCode::OK => {
            let what = what.to_owned();
            return Ok(SuccessResponse {
                response,
                what,
                host,
            });
        }
        StatusCode::NOT_FOUND => Problem::NotFound,
        StatusCode::TOO_MANY_REQUESTS => Problem::RateLimited { retry_after },
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Problem::Unauthorized {
            login: login.clone(),
            code: error_code(response).await,
        },
        other => Problem::Status {
            status: other.as_u16(),
            code: error_code(response).await,
            retry_after,
        },
    };
    Err(RegistryError::new(what, host, problem))
}

impl SuccessResponse {
    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The `Content-Type`, fit to print.
    pub(super) fn media_type(&self) -> String {
        let header = self.headers().get(CONTENT_TYPE);
        let text = header.and_then(|header| header.to_str().ok());
        let text = text.and_then(|text| text.split(';').next());
        untrusted::brief(text.unwrap_or_default())
    }

    pub(super) fn content_length(&self) -> Option<u64> {
        self.response.content_length()
    }

    pub(super) fn error(&self, problem: impl Into<Problem>) -> RegistryError {
        RegistryError::new(&*self.what, &*self.host, problem.into())
    }

    /// The next chunk of the body.
    pub(super) async fn chunk(&mut self, limits: &Limits) -> Result<Option<Bytes>, RegistryError> {
        let chunk = self.response.chunk().await;
        chunk.map_err(|error| self.error(explain(error, &self.host, limits)))
    }

    /// The whole body, of at most `limit` bytes.
    pub(super) async fn body(
        mut self,
        limit: u64,
        limits: &Limits,
    ) -> Result<Bytes, RegistryError> {
        if self.content_length().is_some_and(|length| length > limit) {
            return Err(self.error(Problem::TooBig { limit }));
        }
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk(limits).await? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(self.error(Problem::TooBig { limit }));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }
}

/// Seconds only: a date would need a clock that agrees with the registry's.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// The code of the first error in the body, if the body is small and has one.
async fn error_code(mut response: Response) -> ErrorCode {
    let mut body = BytesMut::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if body.len() + chunk.len() > MAX_ERROR_BODY_BYTES {
            return ErrorCode::default();
        }
        body.extend_from_slice(&chunk);
    }
    let parsed = serde_json::from_slice::<ErrorBody>(&body);
    let errors = parsed.map(|body| body.errors).unwrap_or_default();
    let first = errors.into_iter().next();
    first.map_or_else(ErrorCode::default, |entry| ErrorCode::parse(&entry.code))
}
