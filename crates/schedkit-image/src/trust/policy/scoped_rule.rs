//! One rule of a policy: what images of a scope need.

use std::collections::BTreeSet;
use std::fmt;

use schedkit_core::Digest;

use super::scope::Scope;
use crate::trust::version::Version;

#[derive(Debug)]
pub struct ScopedRule {
    /// Its place in the file's list, from 0.
    pub position: usize,
    pub scope: Scope,
    pub decision: Decision,
    /// In addition to those of the whole policy.
    pub denied: BTreeSet<Digest>,
}

#[derive(Debug)]
pub enum Decision {
    /// Every image is refused.
    Refuse,
    Require(Requirements),
}

#[derive(Debug)]
pub struct Requirements {
    /// Positions in the policy's list of signers, ascending.
    pub signers: Vec<usize>,
    /// How many of the signers must have signed.
    pub needed: usize,
    pub attestations: Vec<RequiredAttestation>,
    pub minimum_version: Option<Version>,
    pub title: TitleRule,
}

/// An attestation that one of these signers must have made about the image.
#[derive(Debug)]
pub struct RequiredAttestation {
    pub predicate_type: String,
    /// Positions in the policy's list of signers, ascending.
    pub signers: Vec<usize>,
}

/// Whether an image that has a title must have the name that it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleRule {
    /// The name in the catalog, or the last part of the repository's path.
    AsAsked,
    /// Only if it was asked for by its name in the catalog.
    AsInCatalog,
    Any,
}

impl ScopedRule {
    pub fn requirements(&self) -> Option<&Requirements> {
        match &self.decision {
            Decision::Refuse => None,
            Decision::Require(requirements) => Some(requirements),
        }
    }
}

impl fmt::Display for ScopedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rules[{}] ({})", self.position, self.scope)
    }
}
