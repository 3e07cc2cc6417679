//! The error for an image that the trust policy refuses. A type of its own because it has its own
//! exit code.

#[derive(Debug, thiserror::Error)]
#[error("{image} is not trusted: {reason}")]
pub(crate) struct UntrustedImage {
    pub(crate) image: String,
    pub(crate) reason: String,
}
