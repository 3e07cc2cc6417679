//! Why an image is not verified, in one sentence.

use std::fmt;
use std::time::Duration;

use schedkit_core::PinnedRef;
use serde::Serialize;

use super::conformity::Nonconformity;
use super::find::MAX_SIGNATURES;
use super::found::{SignatureId, as_text};
use super::progress::Unmet;
use super::refusal::Refusal;
use crate::registry::RegistryError;

/// For all requests together; the client has timeouts for each.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);
/// Refused signatures that the text of an error lists.
const MAX_LISTED: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedSignature {
    #[serde(flatten)]
    pub id: SignatureId,
    #[serde(rename = "reason", serialize_with = "as_text")]
    pub refusal: Refusal,
}

/// Why an image is not verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("{image} is not signed: it has no referrer and no .sig tag with a signature")]
    NoSignature { image: PinnedRef },
    #[error("no signature of {image} is accepted: {}", Listed(signatures))]
    Refused {
        image: PinnedRef,
        signatures: Vec<RefusedSignature>,
    },
    #[error("{image} is refused whoever signed it: {why}")]
    Denied { image: PinnedRef, why: Denial },
    #[error(
        "{image} lacks what {rule} of the policy needs: {}{}",
        All(unmet),
        Others(signatures)
    )]
    NotEnough {
        image: PinnedRef,
        rule: String,
        unmet: Vec<Unmet>,
        signatures: Vec<RefusedSignature>,
    },
    #[error("{image} is not what was asked for: {why}")]
    Nonconforming {
        image: PinnedRef,
        why: Nonconformity,
    },
    /// A request failed, so a signature may have been missed.
    #[error("cannot tell whether {image} is signed")]
    RegistryFailed {
        image: PinnedRef,
        /// The first failure.
        #[source]
        source: RegistryError,
    },
    /// Its signatures are accepted, and its labels could not be fetched.
    #[error("cannot tell whether {image} is what was asked for")]
    NotCompared {
        image: PinnedRef,
        #[source]
        source: RegistryError,
    },
    /// Not all signatures were read, so a good one may have been missed.
    #[error(
        "cannot tell whether {image} is signed by someone trusted: it has {found} referrers or signatures, and the {MAX_SIGNATURES} that were read are not enough for the policy; remove old attestations, or copy the image with its signature to a repository of its own"
    )]
    TooMany { image: PinnedRef, found: usize },
    /// The search was not finished, so a signature may have been missed.
    #[error("cannot tell whether {image} is signed: the search took more than {} s", TIMEOUT.as_secs())]
    Timeout { image: PinnedRef },
}

/// Why no signature of an image could be enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("no rule of the policy covers its repository")]
    NoRule,
    #[error("{0} of the policy refuses every image")]
    Refused(String),
    #[error("the policy denies its digest")]
    Digest,
}

impl VerifyError {
    /// Whether the image is known to be unsigned or signed by nobody trusted. Any other error
    /// leaves that open.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NoSignature { .. }
            | Self::Refused { .. }
            | Self::Denied { .. }
            | Self::NotEnough { .. }
            | Self::Nonconforming { .. } => true,
            Self::RegistryFailed { .. }
            | Self::NotCompared { .. }
            | Self::TooMany { .. }
            | Self::Timeout { .. } => false,
        }
    }
}

/// The first refused signatures as one line.
struct Listed<'a>(&'a [RefusedSignature]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, RefusedSignature { id, refusal }) in
            self.0.iter().take(MAX_LISTED).enumerate()
        {
            let between = if position == 0 { "" } else { "; " };
            write!(f, "{between}{id}: {refusal}")?;
        }
        match self.0.len().saturating_sub(MAX_LISTED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// Those that were refused beside accepted ones.
struct Others<'a>(&'a [RefusedSignature]);

impl fmt::Display for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            refused => write!(f, "; refused: {}", Listed(refused)),
        }
    }
}

/// What is missing, as one list.
struct All<'a>(&'a [Unmet]);

impl fmt::Display for All<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, unmet) in self.0.iter().enumerate() {
            let between = if position == 0 { "" } else { " and " };
            write!(f, "{between}{unmet}")?;
        }
        Ok(())
    }
}
