//! Searches all places of a repository for signatures of an image, until the policy's rule is met. An
//! image is refused only when all its signatures were read.

use std::collections::BTreeSet;

use schedkit_core::{Digest, PinnedRef};

use super::concurrency::BoundedConcurrency;
use super::find::{Lookup, LookupResult, MAX_SIGNATURES, look_up};
use super::found::FoundSignature;
use super::judge::Judge;
use super::progress::Progress;
use super::refusal::Refusal;
use super::verify_error::{RefusedSignature, VerifyError};
use crate::registry::{Registry, RegistryError};
use crate::trust::ScopedRule;

const MAX_CONCURRENT_REQUESTS: usize = 16;

/// Adds up signatures until they are enough.
///
/// # Errors
/// When all that was found is not enough, or when not all could be read.
pub(super) async fn search<'a>(
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
                match judge.verify_signature(&progress, image, &material) {
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
