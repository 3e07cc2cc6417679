//! Judges one signature by the rule that the policy has for the image: whose it is, and what it counts
//! for. No I/O.

use jiff::Timestamp;
use schedkit_core::PinnedRef;

use super::bundle::Bundle;
use super::found::{Material, SignatureId};
use super::progress::Progress;
use super::refusal::Refusal;
use super::simple_signing::SimpleSignature;
use super::verdict::{Accepted, AcceptedAttestation, AcceptedSignature, Signer};
use super::{attestation, by_certificate, by_key, claims};
use crate::trust::{
    CertificateClaims, Policy, ProvenIdentity, ProvenSigner, Requirements, Rule, ScopedRule,
    SignerMismatch,
};

/// A policy, with its rule for one image.
pub(super) struct Judge<'a> {
    pub(super) policy: &'a Policy,
    pub(super) rule: &'a ScopedRule,
    pub(super) requirements: &'a Requirements,
    pub(super) now: Timestamp,
}

/// A signature or an attestation of someone whom the rule names.
pub(super) enum Judged {
    Signature {
        accepted: Accepted,
        counts_for: Vec<usize>,
    },
    Attestation {
        predicate_type: String,
        signer: Signer,
        rule: Rule,
    },
}

impl Judged {
    pub(super) fn add_to(self, progress: &mut Progress<'_>, id: SignatureId) {
        match self {
            Self::Signature {
                accepted,
                counts_for,
            } => progress.add_signature(AcceptedSignature {
                id,
                accepted,
                counts_for,
            }),
            Self::Attestation {
                predicate_type,
                signer,
                rule,
            } => progress.add_attestation(AcceptedAttestation {
                predicate_type,
                signer,
                rule,
                id,
            }),
        }
    }
}

/// An attestation that the rule asks for, and whom it may be from.
struct Wanted<'a> {
    predicate_type: String,
    signers: &'a [usize],
}

fn wanted<'a>(progress: &Progress<'a>, bundle: &Bundle, image: &PinnedRef) -> Option<Wanted<'a>> {
    let predicate_type = attestation::predicate_type(bundle.payload(), image.digest())?;
    let signers = progress.wanted(&predicate_type)?;
    Some(Wanted {
        predicate_type,
        signers,
    })
}

impl Judge<'_> {
    /// Verifies one signature. Depends only on its arguments, except that the library also reads the
    /// machine's clock, and only to refuse.
    pub(super) fn verify_signature(
        &self,
        progress: &Progress<'_>,
        image: &PinnedRef,
        material: &Material,
    ) -> Result<Judged, Refusal> {
        let (signers, now) = (self.policy.signer_policy(), self.now);
        match material {
            Material::Bundle(bytes) => {
                let bundle = Bundle::parse(bytes)?;
                let attested = match bundle.check_payload(image.digest()) {
                    Ok(()) => None,
                    Err(refusal) => Some(wanted(progress, &bundle, image).ok_or(refusal)?),
                };
                let accepted = if bundle.has_certificate() {
                    by_certificate::verify_bundle(signers, &bundle, image.digest(), now)
                } else {
                    by_key::verify_bundle(signers, &bundle, image.digest(), now)
                }?;
                let der = bundle.certificate().map(|der| claims::read(der.as_bytes()));
                self.accept(accepted, &der.unwrap_or_default(), attested)
            }
            Material::SimpleSigning {
                payload,
                annotations,
            } => {
                let signature = SimpleSignature::parse(payload, annotations)?;
                signature.check_payload(image.digest())?;
                let accepted = if signature.has_certificate() {
                    by_certificate::verify_simple(signers, &signature, now)
                } else {
                    by_key::verify_simple(signers, &signature, now)
                }?;
                let der = signature.certificate();
                let claims = der.map(|der| claims::read(der.as_bytes()));
                self.accept(accepted, &claims.unwrap_or_default(), None)
            }
        }
    }

    /// Whether the rule names the signer of a proven signature.
    fn accept(
        &self,
        accepted: Accepted,
        claims: &CertificateClaims,
        attested: Option<Wanted<'_>>,
    ) -> Result<Judged, Refusal> {
        let who = match (&accepted.signer, &accepted.rule) {
            (Signer::Identity { subject, issuer }, _) => ProvenIdentity::Certificate {
                issuer,
                subject,
                claims,
            },
            (Signer::Key { .. }, Rule::Key(position)) => ProvenIdentity::Key(*position),
            (Signer::Key { .. }, Rule::Identity(_) | Rule::Signer(_)) => {
                return Err(Refusal::WrongKey);
            }
        };
        let evidence = &accepted.evidence;
        let proven_time = evidence.timestamps.iter().max().copied();
        let proven_time = evidence.integrated_time.or(proven_time);
        let time = proven_time.unwrap_or(self.now);
        let signers = match &attested {
            Some(wanted) => wanted.signers,
            None => &self.requirements.signers,
        };
        let counted = self.policy.counts_for(signers, &ProvenSigner { who, time });
        let counts_for = counted.map_err(|mismatch| {
            let rule = self.rule.to_string();
            Refusal::Signer(mismatch.unwrap_or(SignerMismatch::NotInRule { rule }))
        })?;
        let first = counts_for
            .iter()
            .find_map(|at| self.policy.signers().get(*at));
        let rule = first.map_or(accepted.rule, |signer| signer.name.clone());
        Ok(match attested {
            Some(Wanted { predicate_type, .. }) => Judged::Attestation {
                predicate_type,
                signer: accepted.signer,
                rule,
            },
            None => Judged::Signature {
                accepted: Accepted { rule, ..accepted },
                counts_for,
            },
        })
    }
}
