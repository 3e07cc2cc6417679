//! What can go wrong with one request to a registry, with the remedy where there is one.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use schedkit_core::Digest;

use super::challenge::ChallengeError;
use super::content::ContentError;
use super::credentials::{CredentialsError, LoginSource};
use super::reach::NotPublic;
use crate::untrusted::ReadError;

/// Redirects that are followed for one request.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Whether the same request can succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    Backoff,
    /// After the time that the registry named.
    After(Duration),
}

/// What went wrong with a request. Its text follows "cannot get REQUEST from HOST: ".
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("it was not found: check the name")]
    NotFound,
    /// From the registry, or from the server that issues its tokens.
    #[error("access denied{code}: the request was sent {login}; {}", login.remedy())]
    Unauthorized { login: LoginSource, code: ErrorCode },
    #[error("cannot look up credentials")]
    Credentials(#[source] CredentialsError),
    #[error("cannot connect; is the host name right, and is the registry running?")]
    Unreachable(#[source] Box<reqwest::Error>),
    #[error("the connection broke before the response was complete")]
    Disconnected(#[source] Box<reqwest::Error>),
    #[error(
        "no trusted TLS connection; set `ca` to its certificate authority or, if the registry has no TLS, set `security = \"plain-http\"` in section `[registry.\"{host}\"]` of the configuration"
    )]
    Tls {
        /// The name of the host in the configuration.
        host: String,
        #[source]
        source: Box<reqwest::Error>,
    },
    #[error("cannot prepare the connection")]
    Setup(#[source] SetupError),
    #[error("it has more than {limit} bytes")]
    TooBig { limit: u64 },
    #[error("the list has more than {limit} {items}")]
    TooMany {
        limit: usize,
        /// "pages", "tags", "referrers".
        items: &'static str,
    },
    #[error("the content has the digest {found}, not {expected}")]
    WrongDigest { expected: Digest, found: Digest },
    #[error("the content has {found} bytes, not {expected}")]
    WrongLength {
        /// The size in the descriptor.
        expected: u64,
        /// When reading stopped early, at least this many.
        found: u64,
    },
    #[error("no response within {limit:?}")]
    Timeout { limit: Duration },
    #[error("too many requests{}; logging in often raises the limit", Wait(*retry_after))]
    RateLimited { retry_after: Option<Duration> },
    /// Any other HTTP status than 200.
    #[error("the response has HTTP status {status}{code}")]
    Status {
        status: u16,
        code: ErrorCode,
        retry_after: Option<Duration>,
    },
    #[error("the response cannot be used")]
    BadResponse(#[source] BadResponse),
    /// See [`Reach`](super::Reach).
    #[error("not asked")]
    NotPublic(#[source] NotPublic),
    #[error("more than {MAX_REDIRECTS} redirects")]
    RedirectLoop,
    #[error("it refers to {to}, which has no TLS: not followed")]
    Downgrade {
        /// The host without TLS.
        to: String,
    },
    /// The blob arrived, and its [`Sink`](super::Sink) failed.
    #[error("cannot write it")]
    Sink(#[source] io::Error),
}

impl Problem {
    pub(super) fn retry(&self) -> Retry {
        match self {
            Self::Unreachable(_) | Self::Disconnected(_) | Self::Timeout { .. } => Retry::Backoff,
            Self::RateLimited { retry_after }
            | Self::Status {
                status: 500 | 502 | 503 | 504,
                retry_after,
                ..
            } => retry_after.map_or(Retry::Backoff, Retry::After),
            Self::NotFound
            | Self::Unauthorized { .. }
            | Self::Credentials(_)
            | Self::Tls { .. }
            | Self::Setup(_)
            | Self::TooBig { .. }
            | Self::TooMany { .. }
            | Self::WrongDigest { .. }
            | Self::WrongLength { .. }
            | Self::Status { .. }
            | Self::BadResponse(_)
            | Self::NotPublic(_)
            | Self::RedirectLoop
            | Self::Downgrade { .. }
            | Self::Sink(_) => Retry::Never,
        }
    }
}

/// Why a response with a good status cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadResponse {
    /// The text is not quoted: tokens come as JSON, too.
    #[error("not the expected JSON, at line {line}, column {column}")]
    Json { line: usize, column: usize },
    #[error("its header Docker-Content-Digest holds no SHA-256 digest")]
    Digest,
    #[error("its challenge (WWW-Authenticate) cannot be answered")]
    Challenge(#[source] ChallengeError),
    #[error("it holds no usable token")]
    Token,
    #[error("it lists {0:?}, which is not a tag")]
    Tag(String),
    #[error("its next page was read before, or belongs to another list")]
    NextPage,
    #[error("it names a next page, and the request for that page returns no list")]
    LostPage,
    #[error("it is a redirect without a usable address")]
    Location,
    #[error("it is not an image index")]
    Content(#[source] ContentError),
    #[error("it is a single image, not a list of images")]
    NoIndex,
}

impl From<BadResponse> for Problem {
    fn from(fault: BadResponse) -> Self {
        Self::BadResponse(fault)
    }
}

impl From<ContentError> for BadResponse {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Malformed(error) => error.into(),
            other => Self::Content(other),
        }
    }
}

impl From<serde_json::Error> for BadResponse {
    fn from(error: serde_json::Error) -> Self {
        Self::Json {
            line: error.line(),
            column: error.column(),
        }
    }
}

/// Why a connection was not even attempted.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A well-formed host name such as xn--a.example that is no part of a URL.
    #[error("the host name cannot be part of a URL")]
    Address,
    #[error("cannot use {} with its certificate authority", path.display())]
    CaFile {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("{} with its certificate authority {reason}", path.display())]
    Ca {
        path: PathBuf,
        /// A predicate: "holds no certificate".
        reason: &'static str,
    },
    /// The address is not repeated: it may hold a password.
    #[error("the address of the proxy is not a URL: check {variable}")]
    Proxy { variable: &'static str },
    #[error("this machine has no certificate authorities (install ca-certificates)")]
    NoRoots,
    #[error("TLS cannot be set up")]
    Tls(#[source] Box<rustls::Error>),
    #[error("HTTP cannot be set up")]
    Http(#[source] Box<reqwest::Error>),
}

/// The code in the body of an error response, such as `DENIED`. The message beside it is not
/// kept: it can repeat what we sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCode(Option<String>);

impl ErrorCode {
    /// Takes capital letters and `_` only; anything else was not meant as a code.
    pub(super) fn parse(text: &str) -> Self {
        let is_allowed = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        let is_code = (1..=40).contains(&text.len()) && text.bytes().all(is_allowed);
        Self(is_code.then(|| text.to_owned()))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(code) => write!(f, " ({code})"),
            None => Ok(()),
        }
    }
}

struct Wait(Option<Duration>);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(wait) => write!(f, ", try again in {} s", wait.as_secs()),
            None => Ok(()),
        }
    }
}
