//! What is wrong with an answer, or with our own side, when an error needs a second sentence.

use std::path::PathBuf;

use crate::foreign::ReadError;
use crate::registry::challenge::ChallengeError;
use crate::registry::content::ContentError;

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
pub enum Malformation {
    /// Not the JSON it should be. The text stays out of it: tokens come as JSON, too.
    #[error("not the JSON that it should be, at line {line}, column {column}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A digest in a header.
    #[error("its header Docker-Content-Digest holds no SHA-256 digest")]
    Digest,
    /// The challenge of a 401.
    #[error("its challenge (WWW-Authenticate) cannot be answered")]
    Challenge(#[source] ChallengeError),
    /// A token with characters that no token has, or none.
    #[error("it holds no usable token")]
    Token,
    /// A tag that no registry can have.
    #[error("it lists {0:?}, which is no tag")]
    Tag(String),
    /// A page that was there already, or one of another list.
    #[error("its next page is one that was there already, or of another list")]
    NextPage,
    /// A page that was promised and is something else, or nothing.
    #[error("it names a next page and does not send one")]
    LostPage,
    /// A redirect to nowhere.
    #[error("it redirects to no address")]
    Location,
    /// Neither manifest nor index.
    #[error("it is no image index")]
    Content(#[source] ContentError),
    /// One image where a list is expected.
    #[error("it is one image and no list of them")]
    NoIndex,
}

impl From<ContentError> for Malformation {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Malformed(error) => error.into(),
            other => Self::Content(other),
        }
    }
}

impl From<serde_json::Error> for Malformation {
    fn from(error: serde_json::Error) -> Self {
        Self::Json {
            line: error.line(),
            column: error.column(),
        }
    }
}

/// Why no connection could even be begun.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A host that is well formed and still none.
    #[error("it is no address")]
    Address,
    /// The file with its certificate authority, not read.
    #[error("cannot use {} with its certificate authority", path.display())]
    CaFile {
        /// As configured.
        path: PathBuf,
        /// What is wrong with the file.
        #[source]
        source: ReadError,
    },
    /// The file with its certificate authority, read and of no use.
    #[error("{} with its certificate authority {reason}", path.display())]
    Ca {
        /// As configured.
        path: PathBuf,
        /// In words that follow the path.
        reason: &'static str,
    },
    /// A proxy's address. It is not repeated here: it may hold a password.
    #[error("the address of the proxy is none; look at {variable}")]
    Proxy {
        /// Where such an address is usually said.
        variable: &'static str,
    },
    /// This machine trusts nobody.
    #[error("this machine has no certificate authorities (install ca-certificates)")]
    NoRoots,
    /// TLS refuses its settings.
    #[error("TLS cannot be set up")]
    Tls(#[source] Box<rustls::Error>),
    /// The HTTP library refuses its settings.
    #[error("HTTP cannot be set up")]
    Http(#[source] Box<reqwest::Error>),
}
