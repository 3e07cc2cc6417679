//! What a certificate of Fulcio says about the build that it was issued to, and what a signer of a
//! policy must have there.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::trust::pattern::Pattern;

/// One extension of the certificate each. The names are those of the policy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// `https://github.com/my-org/my-repo`.
    Repository,
    /// The number of the repository's owner, which no other owner ever gets.
    OwnerId,
    /// `refs/heads/main`, `refs/tags/v1.0`.
    Ref,
    /// The workflow that was started, with its ref: the subject is the one that signed, which may be
    /// reusable.
    Workflow,
    /// `github-hosted` or `self-hosted`.
    Runner,
}

/// Why a text is no claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a claim is one of repository, ownerId, ref, workflow, runner")]
pub struct ClaimError;

/// What a verified certificate says. A claim that it lacks, or has twice, is not here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateClaims(pub(crate) BTreeMap<Claim, String>);

/// What a claim must be.
#[derive(Debug, Clone)]
pub struct RequiredClaim {
    pub claim: Claim,
    pub value: Pattern,
}

impl Claim {
    pub(crate) const ALL: [Self; 5] = [
        Self::Repository,
        Self::OwnerId,
        Self::Ref,
        Self::Workflow,
        Self::Runner,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::OwnerId => "ownerId",
            Self::Ref => "ref",
            Self::Workflow => "workflow",
            Self::Runner => "runner",
        }
    }
}

impl FromStr for Claim {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, ClaimError> {
        let mut all = Self::ALL.into_iter();
        all.find(|claim| claim.name() == text).ok_or(ClaimError)
    }
}

impl CertificateClaims {
    pub(super) fn get(&self, claim: Claim) -> Option<&str> {
        self.0.get(&claim).map(String::as_str)
    }
}

impl RequiredClaim {
    pub(super) fn is_met(&self, claims: &CertificateClaims) -> bool {
        let value = claims.get(self.claim);
        value.is_some_and(|value| self.value.matches(value))
    }
}

impl fmt::Display for RequiredClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.claim.name(), self.value)
    }
}
