//! An answer: what its status means, and its body, never more of it than asked for.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::RegistryError;
use super::error::{CredentialsUsed, Said};
use super::limits::Limits;
use super::send::Landed;
use super::transport::{explain, host_of};
use crate::foreign;

/// Enough for a registry to say what is wrong.
const BIGGEST_COMPLAINT: usize = 8 * 1024;

/// A good answer whose body is still to be read.
#[derive(Debug)]
pub(super) struct Reply {
    response: Response,
    /// What was asked for, in an error's words.
    pub(super) what: String,
    /// Who answers in the end.
    pub(super) host: String,
}

/// A registry's own words about an error.
#[derive(Deserialize)]
struct Complaint {
    errors: Vec<ComplaintEntry>,
}

#[derive(Deserialize)]
struct ComplaintEntry {
    code: String,
}

/// A good answer, or the error that a status stands for.
pub(super) async fn accept(
    landed: Landed,
    what: &str,
    used: &CredentialsUsed,
) -> Result<Reply, RegistryError> {
    let Landed { response, url } = landed;
    let (what, host) = (what.to_owned(), host_of(&url));
    let status = response.status();
    let wait = retry_after(response.headers());
    match status {
        StatusCode::OK => Ok(Reply {
            response,
            what,
            host,
        }),
        StatusCode::NOT_FOUND => Err(RegistryError::not_found(&what, &host)),
        StatusCode::TOO_MANY_REQUESTS => Err(RegistryError::RateLimited { what, host, wait }),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(RegistryError::Unauthorized {
            what,
            host,
            used: used.clone(),
            said: complaint(response).await,
        }),
        other => Err(RegistryError::Server {
            what,
            host,
            status: other.as_u16(),
            said: complaint(response).await,
            wait,
        }),
    }
}

impl Reply {
    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// What the registry calls the body, fit to print.
    pub(super) fn media_type(&self) -> String {
        let header = self.headers().get(CONTENT_TYPE);
        let text = header.and_then(|header| header.to_str().ok());
        let text = text.and_then(|text| text.split(';').next());
        foreign::brief(text.unwrap_or_default())
    }

    /// How long the body is, says whoever sends it.
    pub(super) fn announced(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// The next piece of the body.
    pub(super) async fn piece(&mut self, limits: &Limits) -> Result<Option<Bytes>, RegistryError> {
        let piece = self.response.chunk().await;
        piece.map_err(|error| explain(error, &self.what, self.host.clone(), limits))
    }

    /// The whole body, of at most `limit` bytes.
    pub(super) async fn body(
        mut self,
        limit: u64,
        limits: &Limits,
    ) -> Result<Bytes, RegistryError> {
        if self.announced().is_some_and(|length| length > limit) {
            return Err(self.too_big(limit));
        }
        let mut body = BytesMut::new();
        while let Some(piece) = self.piece(limits).await? {
            if (body.len() + piece.len()) as u64 > limit {
                return Err(self.too_big(limit));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    fn too_big(self, limit: u64) -> RegistryError {
        let Self { what, host, .. } = self;
        RegistryError::TooBig { what, host, limit }
    }
}

/// Seconds only: a date would need a clock that agrees with theirs.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// The code of the first error in the body, if there is one to be found without effort.
async fn complaint(mut response: Response) -> Said {
    let mut body = BytesMut::new();
    while let Ok(Some(piece)) = response.chunk().await {
        if body.len() + piece.len() > BIGGEST_COMPLAINT {
            return Said::default();
        }
        body.extend_from_slice(&piece);
    }
    let complaint = serde_json::from_slice::<Complaint>(&body);
    let errors = complaint.map(|complaint| complaint.errors);
    let first = errors.unwrap_or_default().into_iter().next();
    first.map_or_else(Said::default, |entry| Said::code(&entry.code))
}
