//! Finds signatures of an image and verifies them: the only way to a `Verified`.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use serde::Serialize;

use super::bundle::Bundle;
use super::concurrency::BoundedConcurrency;
use super::find::{Lookup, LookupResult, MAX_SIGNATURES, look_up};
use super::found::{FoundSignature, Material, SignatureId, as_text};
use super::refusal::Refusal;
use super::simple_signing::SimpleSignature;
use super::verdict::{Accepted, Verified};
use super::{by_certificate, by_key};
use crate::registry::{Registry, RegistryError};
use crate::trust::Policy;

/// For all requests together; the client has timeouts for each.
const TIMEOUT: Duration = Duration::from_secs(120);
const MAX_CONCURRENT_REQUESTS: usize = 16;

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
    /// A request failed, so a signature may have been missed.
    #[error("cannot tell whether {image} is signed")]
    RegistryFailed {
        image: PinnedRef,
        /// The first failure.
        #[source]
        source: RegistryError,
    },
    /// Not all signatures were read, so a good one may have been missed.
    #[error(
        "cannot tell whether {image} is signed by someone trusted: it has {found} referrers or signatures, and none of the {MAX_SIGNATURES} that were read is an accepted signature"
    )]
    TooMany { image: PinnedRef, found: usize },
    /// The search was not finished, so a signature may have been missed.
    #[error("cannot tell whether {image} is signed: the search took more than {} s", TIMEOUT.as_secs())]
    Timeout { image: PinnedRef },
}

impl VerifyError {
    /// Whether the image is known to be unsigned or signed by nobody trusted. Any other error
    /// leaves that open.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NoSignature { .. } | Self::Refused { .. } => true,
            Self::RegistryFailed { .. } | Self::TooMany { .. } | Self::Timeout { .. } => false,
        }
    }
}

/// Searches for a signature of exactly this digest that the policy accepts. The first one ends the
/// search. An index and the images in it are signed separately.
///
/// # Errors
/// When there is none, or when the search could not be completed.
pub async fn verify(
    registry: &impl Registry,
    policy: &Policy,
    image: &PinnedRef,
    now: Timestamp,
) -> Result<Verified, VerifyError> {
    let search = search(registry, policy, image, now);
    match tokio::time::timeout(TIMEOUT, search).await {
        Ok(result) => result,
        Err(_) => Err(VerifyError::Timeout {
            image: image.clone(),
        }),
    }
}

async fn search(
    registry: &impl Registry,
    policy: &Policy,
    image: &PinnedRef,
    now: Timestamp,
) -> Result<Verified, VerifyError> {
    let mut running = BoundedConcurrency::new(MAX_CONCURRENT_REQUESTS);
    // The `.sig` tag is requested only when no referrer is an accepted signature: nearly every
    // image is signed with cosign v3, and thousands of nodes save the request.
    let mut sources = [Lookup::Referrers, Lookup::SignatureTag].into_iter();
    let mut failed = FailedSearch::default();
    loop {
        let Some(result) = running.next().await else {
            match sources.next() {
                Some(lookup) => running.add(look_up(registry, image, lookup)),
                None => return Err(failed.into_error(image.clone())),
            }
            continue;
        };
        match result {
            LookupResult::Further { lookups, total } => {
                failed.most_listed = failed.most_listed.max(total);
                lookups
                    .into_iter()
                    .for_each(|lookup| running.add(look_up(registry, image, lookup)));
            }
            LookupResult::Signature(FoundSignature { id, material }) => {
                match verify_signature(policy, image, &material, now) {
                    Ok(accepted) => {
                        let policy = policy.fingerprint().clone();
                        return Ok(Verified::new(image.clone(), id, accepted, policy));
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

/// Verifies one signature. Depends only on its arguments, except that the library also reads the
/// machine's clock, and only to refuse.
fn verify_signature(
    policy: &Policy,
    image: &PinnedRef,
    material: &Material,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    match material {
        Material::Bundle(bytes) => {
            let bundle = Bundle::parse(bytes)?;
            bundle.check_payload(image.digest())?;
            if bundle.has_certificate() {
                by_certificate::verify_bundle(policy, &bundle, image.digest(), now)
            } else {
                by_key::verify_bundle(policy, &bundle, image.digest(), now)
            }
        }
        Material::SimpleSigning {
            payload,
            annotations,
        } => {
            let signature = SimpleSignature::parse(payload, annotations)?;
            signature.check_payload(image.digest())?;
            if signature.has_certificate() {
                by_certificate::verify_simple(policy, &signature, now)
            } else {
                by_key::verify_simple(policy, &signature, now)
            }
        }
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
    fn into_error(self, image: PinnedRef) -> VerifyError {
        if let Some(source) = self.first_failure {
            return VerifyError::RegistryFailed { image, source };
        }
        if self.most_listed > MAX_SIGNATURES {
            return VerifyError::TooMany {
                image,
                found: self.most_listed,
            };
        }
        if self.refused.is_empty() {
            return VerifyError::NoSignature { image };
        }
        // Responses arrive in a different order every time.
        let mut signatures = self.refused;
        signatures.sort_by_cached_key(|one| (one.id.clone(), one.refusal.to_string()));
        VerifyError::Refused { image, signatures }
    }
}

/// Refused signatures as one line.
struct Listed<'a>(&'a [RefusedSignature]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, RefusedSignature { id, refusal }) in self.0.iter().enumerate() {
            let between = if position == 0 { "" } else { "; " };
            write!(f, "{between}{id}: {refusal}")?;
        }
        Ok(())
    }
}
