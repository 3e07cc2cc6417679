//! One catalog over HTTP: bounded in size and time, and only when it has changed.
//!
//! Called by [`super::source`]. Never retries: a person waits, and there is a cache.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use reqwest::header::{ETAG, IF_NONE_MATCH};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};

use super::parse::LARGEST;

/// From the first packet to the last; a machine without network must not feel slow.
const WHOLE: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(2);
const MOST_REDIRECTS: usize = 3;
const LONGEST_ETAG: usize = 256;

/// Where the project publishes its catalog.
const PUBLISHED: &str = "https://raw.githubusercontent.com/schedkit/plumbing/main/manifest.json";

/// An address over `http` or `https`. Prints without its query, which may be a token.
#[derive(Clone, PartialEq, Eq)]
pub struct CatalogUrl(String);

/// Why a text is no address of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Not an address, or of another kind.
    #[error("a catalog's address begins with https:// or http:// and a host")]
    NotHttp,
    /// It would end up in shell histories and process lists.
    #[error("a catalog's address carries no user and no password")]
    Password,
}

/// Why a catalog did not come.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// No connection, cut off, or too slow.
    #[error("cannot fetch it")]
    Http(#[from] reqwest::Error),
    /// Another answer than the one asked for.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// More than any catalog needs.
    #[error("it has more than {LARGEST} bytes")]
    TooBig,
    /// Not text.
    #[error("it is not UTF-8 text")]
    NotText,
}

/// The server's mark of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ETag(String);

/// What came.
#[derive(Debug)]
pub(super) enum Answer {
    New { text: String, etag: Option<ETag> },
    Unchanged,
}

impl CatalogUrl {
    /// The address that is asked when nobody names one.
    pub fn published() -> Self {
        Self(PUBLISHED.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CatalogUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let url = Url::parse(text).map_err(|_| UrlError::NotHttp)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(UrlError::NotHttp);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::Password);
        }
        Ok(Self(url.into()))
    }
}

impl fmt::Display for CatalogUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let public = self.0.split(['?', '#']).next().unwrap_or_default();
        f.write_str(&crate::foreign::brief(public))
    }
}

impl fmt::Debug for CatalogUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ETag {
    /// Only what can be sent back as it came.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fits = text.len() <= LONGEST_ETAG;
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        (fits && visible && !text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Asks once. `known` is the version that is here already.
pub(super) async fn download(
    url: &CatalogUrl,
    known: Option<&ETag>,
) -> Result<Answer, DownloadError> {
    let mut request = client(url)?.get(url.as_str());
    if let Some(etag) = known {
        request = request.header(IF_NONE_MATCH, etag.as_str());
    }
    let response = request.send().await.map_err(reqwest::Error::without_url)?;
    match response.status() {
        StatusCode::NOT_MODIFIED if known.is_some() => Ok(Answer::Unchanged),
        StatusCode::OK => {
            let etag = response.headers().get(ETAG);
            let etag = etag.and_then(|value| ETag::parse(value.to_str().ok()?));
            let text = body(response).await?;
            Ok(Answer::New { text, etag })
        }
        other => Err(DownloadError::Status(other)),
    }
}

/// What began with TLS stays with TLS, wherever it is sent on to.
fn client(url: &CatalogUrl) -> Result<Client, DownloadError> {
    // Fails when somebody was here before, and that is all that is wanted.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let client = Client::builder()
        .user_agent(concat!("schedctl/", env!("CARGO_PKG_VERSION")))
        .timeout(WHOLE)
        .connect_timeout(CONNECT)
        .redirect(Policy::limited(MOST_REDIRECTS))
        .referer(false)
        .https_only(url.as_str().starts_with("https:"))
        .build()?;
    Ok(client)
}

async fn body(mut response: Response) -> Result<String, DownloadError> {
    let mut bytes = Vec::new();
    while let Some(piece) = response
        .chunk()
        .await
        .map_err(reqwest::Error::without_url)?
    {
        if bytes.len() + piece.len() > LARGEST {
            return Err(DownloadError::TooBig);
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| DownloadError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_and_keeps_its_secrets() {
        assert_eq!(PUBLISHED.parse(), Ok(CatalogUrl::published()));
        let url: CatalogUrl = "https://example.org/c.json?token=secret".parse().unwrap();
        assert_eq!(format!("{url} {url:?}").matches("secret").count(), 0);
        assert!(url.as_str().ends_with("?token=secret"));
        for (text, error) in [
            ("/etc/catalog.json", UrlError::NotHttp),
            ("ftp://example.org/c", UrlError::NotHttp),
            ("https://", UrlError::NotHttp),
            ("https://me:secret@example.org/c", UrlError::Password),
        ] {
            assert_eq!(text.parse::<CatalogUrl>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_mark_that_cannot_be_sent_back_is_none() {
        assert!(ETag::parse("W/\"abc\"").is_some());
        for bad in ["", "a b", "a\r\nHost: b", "é", &"x".repeat(257)] {
            assert_eq!(ETag::parse(bad), None, "{bad:?}");
        }
    }
}
