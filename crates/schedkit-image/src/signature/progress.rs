//! What has been accepted of an image so far, and whether that is enough for the policy's rule.
//!
//! A signature counts for one signer of the rule, and each key or certificate identity once, however
//! often it signed. An attestation counts for its predicate type.

use std::fmt;

use super::verdict::{AcceptedAttestation, AcceptedSignature};
use crate::trust::{Requirements, distinct_signers};
use crate::untrusted::brief;

/// What an image lacks although it has something that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    Signatures { needed: usize, found: usize },
    Attestation { predicate_type: String },
}

pub(super) struct Progress<'a> {
    requirements: &'a Requirements,
    /// Of the policy, not of the rule.
    signers: usize,
    signatures: Vec<AcceptedSignature>,
    attestations: Vec<AcceptedAttestation>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(requirements: &'a Requirements, signers: usize) -> Self {
        Self {
            requirements,
            signers,
            signatures: Vec::new(),
            attestations: Vec::new(),
        }
    }

    /// The signers of whom an attestation with this predicate type is wanted.
    pub(super) fn wanted(&self, predicate_type: &str) -> Option<&'a [usize]> {
        let mut attestations = self.requirements.attestations.iter();
        let wanted = attestations.find(|one| one.predicate_type == predicate_type);
        wanted.map(|one| one.signers.as_slice())
    }

    /// A second signature of the same key or identity adds what it counts for: its claims may differ.
    pub(super) fn add_signature(&mut self, new: AcceptedSignature) {
        let mut known = self.signatures.iter_mut();
        match known.find(|known| known.accepted.signer == new.accepted.signer) {
            Some(known) => {
                known.counts_for.extend(new.counts_for);
                known.counts_for.sort_unstable();
                known.counts_for.dedup();
            }
            None => self.signatures.push(new),
        }
    }

    pub(super) fn add_attestation(&mut self, new: AcceptedAttestation) {
        let mut known = self.attestations.iter();
        if !known.any(|known| known.predicate_type == new.predicate_type) {
            self.attestations.push(new);
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.unmet().is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.signatures.is_empty() && self.attestations.is_empty()
    }

    pub(super) fn unmet(&self) -> Vec<Unmet> {
        let needed = self.requirements.needed;
        let found = self.found();
        let signatures = (found < needed).then_some(Unmet::Signatures { needed, found });
        let attestations = self.requirements.attestations.iter();
        let missing = attestations.filter(|required| {
            let mut found = self.attestations.iter();
            !found.any(|one| one.predicate_type == required.predicate_type)
        });
        let missing = missing.map(|required| Unmet::Attestation {
            predicate_type: required.predicate_type.clone(),
        });
        signatures.into_iter().chain(missing).collect()
    }

    fn found(&self) -> usize {
        let counts = self.signatures.iter().map(|one| one.counts_for.clone());
        distinct_signers(&counts.collect::<Vec<_>>(), self.signers)
    }

    pub(super) fn into_parts(self) -> (Vec<AcceptedSignature>, Vec<AcceptedAttestation>) {
        (self.signatures, self.attestations)
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signatures { needed: 1, .. } => f.write_str("an accepted signature"),
            Self::Signatures { needed, found } => {
                write!(
                    f,
                    "signatures of {needed} different signers ({found} found)"
                )
            }
            Self::Attestation { predicate_type } => {
                let predicate_type = brief(predicate_type);
                write!(f, "an accepted attestation {predicate_type}")
            }
        }
    }
}
