//! Downloads a catalog over HTTPS if it has changed, with limits for size and time.
//!
//! Never retries: a person waits, and there is a cache.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use reqwest::header::{ETAG, IF_NONE_MATCH};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};

use super::parse::MAX_BYTES;

/// For the whole download.
const TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_REDIRECTS: usize = 3;
const MAX_ETAG_BYTES: usize = 256;

/// Where the project publishes its catalog.
const PUBLISHED: &str = "https://raw.githubusercontent.com/schedkit/plumbing/main/manifest.json";

/// A URL with `https`. Prints without its query, which may be a token.
#[derive(Clone, PartialEq, Eq)]
pub struct CatalogUrl(String);

/// Why a text is no URL of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("the URL of a catalog starts with https:// and a host")]
    NotHttps,
    #[error(
        "the URL of a catalog starts with https://: over plain http anybody on the way could choose the \
         images; use https, or download the file and name it"
    )]
    PlainHttp,
    /// Shell histories and process lists would show it.
    #[error("the URL of a catalog must not contain a user or a password")]
    Password,
}

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("cannot download it")]
    Http(#[from] reqwest::Error),
    #[error("the server responded with {0}")]
    Status(StatusCode),
    #[error("it has more than {MAX_BYTES} bytes")]
    TooBig,
    #[error("it is not UTF-8 text")]
    NotText,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ETag(String);

#[derive(Debug)]
pub(super) enum Download {
    New { text: String, etag: Option<ETag> },
    Unchanged,
}

impl CatalogUrl {
    /// The project's published catalog, the default.
    pub fn published() -> Self {
        Self(PUBLISHED.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The server of a test has no certificate.
    #[cfg(test)]
    pub(super) fn of_test_server(url: String) -> Self {
        Self(url)
    }
}

impl FromStr for CatalogUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let url = Url::parse(text).map_err(|_| UrlError::NotHttps)?;
        if url.scheme() == "http" {
            return Err(UrlError::PlainHttp);
        }
        if url.scheme() != "https" || !url.has_host() {
            return Err(UrlError::NotHttps);
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
        f.write_str(&crate::untrusted::brief(public))
    }
}

impl fmt::Debug for CatalogUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ETag {
    /// `None` when the text cannot be sent back unchanged.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fits = text.len() <= MAX_ETAG_BYTES;
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        (fits && visible && !text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// `known` is the version in the cache.
pub(super) async fn download(
    url: &CatalogUrl,
    known: Option<&ETag>,
) -> Result<Download, DownloadError> {
    let mut request = client(url)?.get(url.as_str());
    if let Some(etag) = known {
        request = request.header(IF_NONE_MATCH, etag.as_str());
    }
    let response = request.send().await.map_err(reqwest::Error::without_url)?;
    match response.status() {
        StatusCode::NOT_MODIFIED if known.is_some() => Ok(Download::Unchanged),
        StatusCode::OK => {
            let etag = response.headers().get(ETAG);
            let etag = etag.and_then(|value| ETag::parse(value.to_str().ok()?));
            let text = body(response).await?;
            Ok(Download::New { text, etag })
        }
        other => Err(DownloadError::Status(other)),
    }
}

/// Never follows a redirect without TLS. Only a test's server is asked without.
fn client(url: &CatalogUrl) -> Result<Client, DownloadError> {
    // Fails when a provider is installed already, which is fine.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let client = Client::builder()
        .user_agent(concat!("schedctl/", env!("CARGO_PKG_VERSION")))
        .timeout(TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::limited(MAX_REDIRECTS))
        .referer(false)
        .https_only(url.as_str().starts_with("https:"))
        .build()?;
    Ok(client)
}

async fn body(mut response: Response) -> Result<String, DownloadError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(reqwest::Error::without_url)?
    {
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(DownloadError::TooBig);
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| DownloadError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_https_and_prints_without_its_query() {
        assert_eq!(PUBLISHED.parse(), Ok(CatalogUrl::published()));
        let url: CatalogUrl = "https://example.org/c.json?token=secret".parse().unwrap();
        assert_eq!(format!("{url} {url:?}").matches("secret").count(), 0);
        assert!(url.as_str().ends_with("?token=secret"));
        for (text, error) in [
            ("/etc/catalog.json", UrlError::NotHttps),
            ("ftp://example.org/c", UrlError::NotHttps),
            ("https://", UrlError::NotHttps),
            ("http://example.org/c", UrlError::PlainHttp),
            ("HTTP://localhost/c", UrlError::PlainHttp),
            ("https://me:secret@example.org/c", UrlError::Password),
        ] {
            assert_eq!(text.parse::<CatalogUrl>(), Err(error), "{text}");
        }
    }

    #[test]
    fn an_etag_that_cannot_be_sent_back_is_none() {
        assert!(ETag::parse("W/\"abc\"").is_some());
        for bad in ["", "a b", "a\r\nHost: b", "é", &"x".repeat(257)] {
            assert_eq!(ETag::parse(bad), None, "{bad:?}");
        }
    }
}
