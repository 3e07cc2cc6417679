//! What is known of an image once it was looked at, and the only way to such knowledge.
//!
//! A `Verified` comes out of the verifier and out of nothing else: it has no public constructor, no
//! setter and no way in from text. Whoever runs an image takes a `Trusted`, in which a waiver stays
//! visible for what it is.

use std::fmt;

use jiff::Timestamp;
use schedkit_core::{Digest, PinnedRef};
use serde::{Serialize, Serializer};

use super::candidate::{CandidateName, Source};
use crate::foreign::brief;
use crate::trust::Rule;

/// An image whose signature the policy accepts.
///
/// ```compile_fail
/// fn make(image: schedkit_core::PinnedRef) -> schedkit_image::signature::Verified {
///     schedkit_image::signature::Verified { image }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    #[serde(serialize_with = "as_text")]
    image: PinnedRef,
    signer: Signer,
    #[serde(serialize_with = "as_text")]
    rule: Rule,
    signature: CandidateName,
    evidence: Evidence,
    #[serde(serialize_with = "as_text")]
    policy: Digest,
}

/// Who signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Signer {
    /// The holder of a key.
    Key {
        /// SHA-256 of the key in DER form.
        #[serde(serialize_with = "as_text")]
        fingerprint: Digest,
        /// The file that the policy names.
        path: String,
    },
    /// Someone whom an identity provider vouched for.
    Identity {
        /// Who: an address of a workflow, or an e-mail address.
        subject: String,
        /// Who vouched.
        issuer: String,
    },
}

/// In which form the signature was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A Sigstore bundle (cosign v3).
    Bundle,
    /// "Simple signing" (cosign v2).
    SimpleSigning,
}

/// What was verified beside the signature itself. What was there and not looked at is not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The form.
    pub format: Format,
    /// The entry in a transparency log.
    pub log: Option<LogEvidence>,
    /// When the log says it took the signature in.
    pub integrated_time: Option<Timestamp>,
    /// When timestamp authorities say they saw the signature.
    pub timestamps: Vec<Timestamp>,
}

/// An entry that was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEvidence {
    /// The log's address in the trusted root.
    pub log: String,
    /// The entry's number.
    pub index: u64,
}

/// An image that runs although nobody verified it, because somebody said so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waived {
    #[serde(serialize_with = "as_text")]
    image: PinnedRef,
    reason: String,
}

/// An image that may run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "trust", rename_all = "lowercase")]
pub enum Trusted {
    /// Its signature was verified.
    Verified(Box<Verified>),
    /// Somebody waived that.
    Waived(Waived),
}

/// Lets an image through unverified. The reason is shown wherever the image is spoken of.
pub fn waive(image: PinnedRef, reason: &str) -> Waived {
    let reason = brief(reason);
    Waived { image, reason }
}

/// What the verifier found out about one candidate.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) signer: Signer,
    pub(super) rule: Rule,
    pub(super) evidence: Evidence,
}

impl Verified {
    pub(super) fn new(
        image: PinnedRef,
        signature: CandidateName,
        accepted: Accepted,
        policy: Digest,
    ) -> Self {
        let Accepted {
            signer,
            rule,
            evidence,
        } = accepted;
        Self {
            image,
            signer,
            rule,
            signature,
            evidence,
            policy,
        }
    }

    /// The image: exactly this digest was signed.
    pub fn image(&self) -> &PinnedRef {
        &self.image
    }

    /// Who signed it.
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Which line of the policy accepted it.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Where the signature was found.
    pub fn source(&self) -> Source {
        self.signature.source
    }

    /// Which signature it was.
    pub fn signature(&self) -> &CandidateName {
        &self.signature
    }

    /// What else was verified.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The fingerprint of the policy that decided.
    pub fn policy(&self) -> &Digest {
        &self.policy
    }
}

impl Waived {
    /// The image.
    pub fn image(&self) -> &PinnedRef {
        &self.image
    }

    /// Why nobody verified it.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Trusted {
    /// The image that may run.
    pub fn image(&self) -> &PinnedRef {
        match self {
            Self::Verified(verified) => verified.image(),
            Self::Waived(waived) => waived.image(),
        }
    }
}

impl From<Verified> for Trusted {
    fn from(verified: Verified) -> Self {
        Self::Verified(Box::new(verified))
    }
}

impl From<Waived> for Trusted {
    fn from(waived: Waived) -> Self {
        Self::Waived(waived)
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { fingerprint, path } => write!(f, "key {fingerprint} ({path})"),
            Self::Identity { subject, issuer } => write!(f, "{subject} ({issuer})"),
        }
    }
}

/// For values whose text is their form.
pub(super) fn as_text<T: fmt::Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
