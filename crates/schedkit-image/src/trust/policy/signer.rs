//! One signer of a policy: a key or an identity, with what else its signatures need.

use std::fmt;

use jiff::Timestamp;

use super::claims::{CertificateClaims, RequiredClaim};
use crate::trust::rule::Rule;
use crate::trust::signer_policy::SignerPolicy;
use crate::untrusted::brief;

#[derive(Debug)]
pub struct PolicySigner {
    /// How the file names it.
    pub name: Rule,
    pub authority: Authority,
    pub claims: Vec<RequiredClaim>,
    pub validity: Validity,
}

/// A position in the lists of [`SignerPolicy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    Key(usize),
    Identity(usize),
}

/// When a signer is accepted; both ends are included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Validity {
    pub not_before: Option<Timestamp>,
    pub not_after: Option<Timestamp>,
}

/// Whose signature was proven, and when it was made.
#[derive(Debug)]
pub(crate) struct ProvenSigner<'a> {
    pub(crate) who: ProvenIdentity<'a>,
    /// What a log or a timestamp authority proves; without one the time of the verification.
    pub(crate) time: Timestamp,
}

#[derive(Debug)]
pub(crate) enum ProvenIdentity<'a> {
    /// The position of the key in the policy.
    Key(usize),
    Certificate {
        issuer: &'a str,
        subject: &'a str,
        claims: &'a CertificateClaims,
    },
}

/// Why a proven signature does not count for a signer, or for no signer of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignerMismatch {
    #[error("its signer is none of those that {rule} names")]
    NotInRule { rule: String },
    #[error("{signer} needs the claim {claim}, and its certificate has {found}")]
    Claim {
        signer: String,
        claim: String,
        found: String,
    },
    #[error("it counts as made at {time}, and {signer} is accepted {validity}")]
    Validity {
        signer: String,
        time: Timestamp,
        validity: Validity,
    },
}

impl Validity {
    pub fn contains(&self, time: Timestamp) -> bool {
        self.not_before.is_none_or(|start| start <= time)
            && self.not_after.is_none_or(|end| time <= end)
    }
}

impl PolicySigner {
    /// `None` if it is somebody else.
    pub(super) fn check(
        &self,
        signers: &SignerPolicy,
        proven: &ProvenSigner<'_>,
    ) -> Option<Result<(), SignerMismatch>> {
        let is_same = match (self.authority, &proven.who) {
            (Authority::Key(position), ProvenIdentity::Key(other)) => position == *other,
            (
                Authority::Identity(position),
                ProvenIdentity::Certificate {
                    issuer, subject, ..
                },
            ) => {
                let identity = signers.identities().get(position);
                identity.is_some_and(|identity| identity.matches(issuer, subject))
            }
            _ => false,
        };
        is_same.then(|| self.check_conditions(proven))
    }

    fn check_conditions(&self, proven: &ProvenSigner<'_>) -> Result<(), SignerMismatch> {
        let none = CertificateClaims::default();
        let claims = match &proven.who {
            ProvenIdentity::Certificate { claims, .. } => claims,
            ProvenIdentity::Key(_) => &none,
        };
        if let Some(unmet) = self.claims.iter().find(|required| !required.is_met(claims)) {
            let found = claims.get(unmet.claim).map(brief);
            return Err(SignerMismatch::Claim {
                signer: self.name.to_string(),
                claim: unmet.to_string(),
                found: found.unwrap_or_else(|| "none".to_owned()),
            });
        }
        match self.validity.contains(proven.time) {
            true => Ok(()),
            false => Err(SignerMismatch::Validity {
                signer: self.name.to_string(),
                time: proven.time,
                validity: self.validity,
            }),
        }
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.not_before, self.not_after) {
            (None, None) => f.write_str("at any time"),
            (Some(start), None) => write!(f, "from {start}"),
            (None, Some(end)) => write!(f, "until {end}"),
            (Some(start), Some(end)) => write!(f, "from {start} until {end}"),
        }
    }
}
