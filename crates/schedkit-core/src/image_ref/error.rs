//! Why a text is not an image reference.

use crate::digest::DigestError;

/// The limits of host, path, tag and digest together.
pub(super) const MAX_LENGTH: usize = 1024;

/// Why a text is not an image reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageRefError {
    #[error("an image reference is empty")]
    Empty,
    #[error("an image reference has at most {MAX_LENGTH} characters")]
    TooLong,
    /// A short name, without a host.
    #[error(
        "an image reference begins with its registry's host, as in ghcr.io/schedkit/scx_lavd (short names are not accepted)"
    )]
    NoHost,
    #[error("{0:?} is not a registry host")]
    Host(String),
    #[error(
        "{0:?} is not an image path: lower-case letters, digits and single separators ('.', '_', '__', '-') between them, parts separated by '/'"
    )]
    Path(String),
    #[error(
        "{0:?} is not a tag: up to 128 letters, digits, '.', '_' and '-', not beginning with '.' or '-'"
    )]
    Tag(String),
    #[error("the digest after '@' is wrong")]
    Digest(#[source] DigestError),
}
