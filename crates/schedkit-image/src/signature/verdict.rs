//! The result of a verification.
//!
//! Only the verifier creates a `Verified`, and only the store of kept verdicts a `Kept`: they have no
//! public constructor, no setter and no `Deserialize`. Code that runs an image takes a `Trusted`, in which a waiver stays visible.

use std::fmt;

use jiff::Timestamp;
use schedkit_core::{Digest, PinnedRef};
use serde::Serialize;

use super::conformity::{Conformity, TitleCheck};
use super::found::{SignatureId, SignatureSource, as_text};
use crate::trust::{Policy, PolicyFormat, Rule, ScopedRule};
use crate::untrusted::brief;

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
    signature: SignatureId,
    evidence: Evidence,
    further_signatures: Vec<FurtherSignature>,
    attestations: Vec<AcceptedAttestation>,
    /// The rule of the policy for images of this repository; `None` if it has no rules.
    policy_rule: Option<String>,
    title: TitleCheck,
    version: Option<String>,
    #[serde(serialize_with = "as_text")]
    policy: Digest,
}

/// A signature beside the first, where a rule needs several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FurtherSignature {
    pub signer: Signer,
    #[serde(serialize_with = "as_text")]
    pub rule: Rule,
    pub signature: SignatureId,
    pub evidence: Evidence,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Signer {
    Key {
        /// SHA-256 of the key in DER form.
        #[serde(serialize_with = "as_text")]
        fingerprint: Digest,
        /// The file that the policy names.
        path: String,
    },
    /// Someone whom an identity provider authenticated.
    Identity {
        /// The URI of a workflow, or an e-mail address.
        subject: String,
        /// The identity provider.
        issuer: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A Sigstore bundle (cosign v3).
    Bundle,
    /// "Simple signing" (cosign v2).
    SimpleSigning,
}

/// What was verified in addition to the signature. Anything that was ignored is not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub format: Format,
    pub log: Option<LogEvidence>,
    /// When the log recorded the signature.
    pub integrated_time: Option<Timestamp>,
    /// From timestamp authorities.
    pub timestamps: Vec<Timestamp>,
}

/// A verified entry in a transparency log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEvidence {
    /// The log's URL in the trusted root.
    pub log: String,
    pub index: u64,
}

/// An image whose signature the same policy accepted earlier. Only a
/// [`VerdictStore`](super::VerdictStore) creates it.
///
/// ```compile_fail
/// fn make(image: schedkit_core::PinnedRef) -> schedkit_image::signature::Kept {
///     schedkit_image::signature::Kept { image }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    #[serde(serialize_with = "as_text")]
    image: PinnedRef,
    signer: String,
    #[serde(serialize_with = "as_text")]
    policy: Digest,
    verified_at: Timestamp,
}

/// An image that may run unverified because the user waived the verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waived {
    #[serde(serialize_with = "as_text")]
    image: PinnedRef,
    reason: String,
}

/// An image that may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "trust", rename_all = "lowercase")]
pub enum Trusted {
    Verified(Box<Verified>),
    /// Verified earlier, under the same policy.
    Kept(Box<Kept>),
    Waived(Waived),
}

/// Allows an image to run unverified. The reason is shown wherever the image is.
pub fn waive(image: PinnedRef, reason: &str) -> Waived {
    let reason = brief(reason);
    Waived { image, reason }
}

/// Why one signature was accepted.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) signer: Signer,
    pub(super) rule: Rule,
    pub(super) evidence: Evidence,
}

/// An accepted signature.
#[derive(Debug)]
pub(super) struct AcceptedSignature {
    pub(super) id: SignatureId,
    pub(super) accepted: Accepted,
    /// The signers of the policy that it may count for.
    pub(super) counts_for: Vec<usize>,
}

/// An attestation that a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptedAttestation {
    pub predicate_type: String,
    pub signer: Signer,
    /// The entry of the policy that accepts its signer.
    #[serde(serialize_with = "as_text")]
    pub rule: Rule,
    #[serde(flatten)]
    pub id: SignatureId,
}

impl Verified {
    /// The first signature is the one that was accepted first; there is at least one.
    pub(super) fn new(
        image: PinnedRef,
        (signatures, attestations): (Vec<AcceptedSignature>, Vec<AcceptedAttestation>),
        conformity: Conformity,
        (policy, policy_rule): (&Policy, &ScopedRule),
    ) -> Option<Self> {
        let mut signatures = signatures.into_iter().map(FurtherSignature::from);
        let FurtherSignature {
            signer,
            rule,
            signature,
            evidence,
        } = signatures.next()?;
        let has_rules = policy.format() == PolicyFormat::Rules;
        let Conformity { title, version } = conformity;
        Some(Self {
            image,
            signer,
            rule,
            signature,
            evidence,
            further_signatures: signatures.collect(),
            attestations,
            policy_rule: has_rules.then(|| policy_rule.to_string()),
            title,
            version,
            policy: policy.fingerprint().clone(),
        })
    }

    /// Exactly this digest was signed.
    pub fn image(&self) -> &PinnedRef {
        &self.image
    }

    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// The entry of the policy that accepted it.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    pub fn source(&self) -> SignatureSource {
        self.signature.source
    }

    /// The accepted signature.
    pub fn signature(&self) -> &SignatureId {
        &self.signature
    }

    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Of others, where the rule needs several signers.
    pub fn further_signatures(&self) -> &[FurtherSignature] {
        &self.further_signatures
    }

    /// Those that the rule asks for.
    pub fn attestations(&self) -> &[AcceptedAttestation] {
        &self.attestations
    }

    /// The policy's rule for the image, such as `rules[0] (ghcr.io/schedkit)`.
    pub fn policy_rule(&self) -> Option<&str> {
        self.policy_rule.as_deref()
    }

    pub fn title(&self) -> &TitleCheck {
        &self.title
    }

    /// Its version, if the policy has a minimum.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The fingerprint of the policy.
    pub fn policy(&self) -> &Digest {
        &self.policy
    }
}

impl From<AcceptedSignature> for FurtherSignature {
    fn from(signature: AcceptedSignature) -> Self {
        let AcceptedSignature {
            id,
            accepted,
            counts_for: _,
        } = signature;
        let Accepted {
            signer,
            rule,
            evidence,
        } = accepted;
        Self {
            signer,
            rule,
            signature: id,
            evidence,
        }
    }
}

impl Kept {
    /// For what the store has kept of a [`Verified`].
    pub(super) fn new(
        image: PinnedRef,
        signer: String,
        policy: Digest,
        verified_at: Timestamp,
    ) -> Self {
        Self {
            image,
            signer,
            policy,
            verified_at,
        }
    }

    /// Exactly this digest was signed.
    pub fn image(&self) -> &PinnedRef {
        &self.image
    }

    /// Printable.
    pub fn signer(&self) -> &str {
        &self.signer
    }

    /// The fingerprint of the policy.
    pub fn policy(&self) -> &Digest {
        &self.policy
    }

    pub fn verified_at(&self) -> Timestamp {
        self.verified_at
    }
}

impl Waived {
    pub fn image(&self) -> &PinnedRef {
        &self.image
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Trusted {
    pub fn image(&self) -> &PinnedRef {
        match self {
            Self::Verified(verified) => verified.image(),
            Self::Kept(kept) => kept.image(),
            Self::Waived(waived) => waived.image(),
        }
    }
}

impl From<Verified> for Trusted {
    fn from(verified: Verified) -> Self {
        Self::Verified(Box::new(verified))
    }
}

impl From<Kept> for Trusted {
    fn from(kept: Kept) -> Self {
        Self::Kept(Box::new(kept))
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
