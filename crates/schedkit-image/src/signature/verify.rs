//! Finds signatures of an image, verifies them, and compares the image with what was asked for: the
//! only way to a `Verified`.
//!
//! ```text
//! rule of the policy ─▶ digest not denied ─▶ signatures and attestations, until they are enough
//!                                                     └─▶ title, version: what was asked for?
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schedkit_core::{Digest, PinnedRef};
use serde::Serialize;

use super::asked::AskedImage;
use super::bundle::Bundle;
use super::concurrency::BoundedConcurrency;
use super::conformity::{self, Nonconformity};
use super::find::{Lookup, LookupResult, MAX_SIGNATURES, look_up};
use super::found::{FoundSignature, Material, SignatureId, as_text};
use super::progress::{Progress, Unmet};
use super::refusal::Refusal;
use super::simple_signing::SimpleSignature;
use super::verdict::{Accepted, AcceptedAttestation, AcceptedSignature, Signer, Verified};
use super::{attestation, by_certificate, by_key, claims};
use crate::registry::{Registry, RegistryError};
use crate::trust::{
    CertificateClaims, Policy, ProvenIdentity, ProvenSigner, Requirements, Rule, ScopedRule,
    SignerMismatch,
};

/// For all requests together; the client has timeouts for each.
const TIMEOUT: Duration = Duration::from_secs(120);
const MAX_CONCURRENT_REQUESTS: usize = 16;
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

/// Searches for signatures of exactly this digest until the rule that the policy has for the
/// repository is satisfied, and then checks that the image is what was asked for. An index and the
/// images in it are signed separately.
///
/// `asked` is a `&PinnedRef` for an image that was asked for by its reference.
///
/// Mirrors and registry are asked one after another, and whatever any of them has counts: an image
/// is not signed only when all of them were asked and answered.
///
/// # Errors
/// When the image is refused, or when the search could not be completed.
pub async fn verify<'a>(
    registry: &impl Registry,
    policy: &Policy,
    asked: impl Into<AskedImage<'a>>,
    now: Timestamp,
) -> Result<Verified, VerifyError> {
    let asked = asked.into();
    let image = asked.image;
    let denied = |why| VerifyError::Denied {
        image: image.clone(),
        why,
    };
    let rule = policy.rule_for(image.repository());
    let rule = rule.ok_or_else(|| denied(Denial::NoRule))?;
    if policy.denied().contains(image.digest()) || rule.denied.contains(image.digest()) {
        return Err(denied(Denial::Digest));
    }
    let Some(requirements) = rule.requirements() else {
        return Err(denied(Denial::Refused(rule.to_string())));
    };
    let judge = Judge {
        policy,
        rule,
        requirements,
        now,
    };
    let search = judge.verify(registry, &asked);
    match tokio::time::timeout(TIMEOUT, search).await {
        Ok(result) => result,
        Err(_) => Err(VerifyError::Timeout {
            image: image.clone(),
        }),
    }
}

/// A policy, with its rule for one image.
struct Judge<'a> {
    policy: &'a Policy,
    rule: &'a ScopedRule,
    requirements: &'a Requirements,
    now: Timestamp,
}

impl Judge<'_> {
    async fn verify(
        &self,
        registry: &impl Registry,
        asked: &AskedImage<'_>,
    ) -> Result<Verified, VerifyError> {
        let progress = search(registry, self, asked.image).await?;
        let image = asked.image.clone();
        match conformity::check(registry, self.policy, self.rule, asked).await {
            Ok(Ok(conformity)) => {
                let by = (self.policy, self.rule);
                let verified = Verified::new(image, progress.into_parts(), conformity, by);
                // A rule needs one signature at least.
                verified.ok_or_else(|| VerifyError::NoSignature {
                    image: asked.image.clone(),
                })
            }
            Ok(Err(why)) => Err(VerifyError::Nonconforming { image, why }),
            Err(source) => Err(VerifyError::NotCompared { image, source }),
        }
    }
}

async fn search<'a>(
    registry: &impl Registry,
    judge: &Judge<'a>,
    image: &PinnedRef,
) -> Result<Progress<'a>, VerifyError> {
    let mut progress = Progress::new(judge.requirements, judge.policy.signers().len());
    let mut running = BoundedConcurrency::new(MAX_CONCURRENT_REQUESTS);
    // The `.sig` tag is requested only when no referrer is an accepted signature: nearly every
    // image is signed with cosign v3, and thousands of nodes save the request. For the same reason
    // the registry is asked only when its mirrors have no accepted signature.
    let places = 0..registry.places(image.repository());
    let mut sources =
        places.flat_map(|place| [Lookup::Referrers { place }, Lookup::SignatureTag { place }]);
    let mut seen = BTreeSet::new();
    let mut failed = FailedSearch::default();
    loop {
        let Some(result) = running.next().await else {
            match sources.next() {
                Some(lookup) => running.add(look_up(registry, image, lookup)),
                None => return Err(failed.into_error(image.clone(), judge.rule, &progress)),
            }
            continue;
        };
        match result {
            LookupResult::Further { lookups, total } => {
                failed.most_listed = failed.most_listed.max(total);
                lookups
                    .into_iter()
                    .filter(|lookup| is_first(lookup, &mut seen))
                    .for_each(|lookup| running.add(look_up(registry, image, lookup)));
            }
            LookupResult::Signature(FoundSignature { id, material }) => {
                match verify_signature(judge, &progress, image, &material) {
                    Ok(judged) => {
                        judged.add_to(&mut progress, id);
                        if progress.is_complete() {
                            return Ok(progress);
                        }
                    }
                    Err(refusal) => failed.refused.push(RefusedSignature { id, refusal }),
                }
            }
            LookupResult::Refused(id, refusal) => {
                failed.refused.push(RefusedSignature { id, refusal });
            }
            LookupResult::Nothing => {}
            LookupResult::RegistryFailed(error) => {
                failed.first_failure = failed.first_failure.or(Some(error));
            }
        }
    }
}

/// Whether no earlier place listed the same. Layers are told apart by more than their digest, because
/// their annotations hold the signature.
fn is_first(lookup: &Lookup, seen: &mut BTreeSet<Digest>) -> bool {
    match lookup {
        Lookup::Referrer(referrer) => seen.insert(referrer.digest.clone()),
        Lookup::Layer(_) | Lookup::Referrers { .. } | Lookup::SignatureTag { .. } => true,
    }
}

/// A signature or an attestation of someone whom the rule names.
enum Judged {
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
    fn add_to(self, progress: &mut Progress<'_>, id: SignatureId) {
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

/// Verifies one signature. Depends only on its arguments, except that the library also reads the
/// machine's clock, and only to refuse.
fn verify_signature(
    judge: &Judge<'_>,
    progress: &Progress<'_>,
    image: &PinnedRef,
    material: &Material,
) -> Result<Judged, Refusal> {
    let (signers, now) = (judge.policy.signer_policy(), judge.now);
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
            judge.accept(accepted, &der.unwrap_or_default(), attested)
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
            judge.accept(accepted, &claims.unwrap_or_default(), None)
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

/// What was found by a search that accepted no signature.
#[derive(Default)]
struct FailedSearch {
    refused: Vec<RefusedSignature>,
    first_failure: Option<RegistryError>,
    /// The length of the longest list of signatures.
    most_listed: usize,
}

impl FailedSearch {
    /// The image is refused only when all its signatures were read.
    fn into_error(
        self,
        image: PinnedRef,
        rule: &ScopedRule,
        progress: &Progress<'_>,
    ) -> VerifyError {
        if let Some(source) = self.first_failure {
            return VerifyError::RegistryFailed { image, source };
        }
        if self.most_listed > MAX_SIGNATURES {
            return VerifyError::TooMany {
                image,
                found: self.most_listed,
            };
        }
        if self.refused.is_empty() && progress.is_empty() {
            return VerifyError::NoSignature { image };
        }
        // Responses arrive in a different order every time. Attestations are the least likely to
        // be what somebody looks for.
        let mut signatures = self.refused;
        signatures.sort_by_cached_key(|one| {
            let is_attestation = matches!(one.refusal, Refusal::OtherPredicate(_));
            (is_attestation, one.id.clone(), one.refusal.to_string())
        });
        signatures.dedup();
        if progress.is_empty() {
            return VerifyError::Refused { image, signatures };
        }
        VerifyError::NotEnough {
            image,
            rule: rule.to_string(),
            unmet: progress.unmet(),
            signatures,
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
