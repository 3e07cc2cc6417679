//! Find, judge, answer: the one way from an image to `Verified`.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use serde::Serialize;

use super::bundle::Bundle;
use super::candidate::{Candidate, CandidateName, Material};
use super::crowd::Crowd;
use super::find::{self, Found, MOST_CANDIDATES, Step};
use super::refusal::Refusal;
use super::simple::SimpleSignature;
use super::verdict::{Accepted, Verified};
use super::{keyed, keyless};
use crate::registry::{Registry, RegistryError};
use crate::trust::Policy;

/// The client has limits for each request; this one is for all of them together.
const LONGEST: Duration = Duration::from_secs(120);
/// Questions to the registry at one time.
const AT_ONCE: usize = 16;

/// A candidate and why it does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedCandidate {
    /// Which one.
    #[serde(flatten)]
    pub name: CandidateName,
    /// Why.
    #[serde(rename = "reason", serialize_with = "super::verdict::as_text")]
    pub refusal: Refusal,
}

/// Why an image is not verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Nobody signed it.
    #[error("{image} is not signed: it has no referrer and no .sig tag with a signature")]
    NoSignature {
        /// The image.
        image: PinnedRef,
    },
    /// It is signed, and no signature is acceptable.
    #[error("no signature of {image} is accepted: {}", Listed(candidates))]
    Refused {
        /// The image.
        image: PinnedRef,
        /// Every signature, and what is wrong with it.
        candidates: Vec<RefusedCandidate>,
    },
    /// The registry could not be asked everything, so nobody knows.
    #[error("cannot tell whether {image} is signed")]
    Trouble {
        /// The image.
        image: PinnedRef,
        /// What went wrong first.
        #[source]
        source: RegistryError,
    },
    /// Not all of them were looked at, so nobody knows.
    #[error(
        "cannot tell whether {image} is signed by someone trusted: {found} things refer to it, and none of the {MOST_CANDIDATES} that were looked at is an accepted signature"
    )]
    TooMany {
        /// The image.
        image: PinnedRef,
        /// How many there are.
        found: usize,
    },
    /// The registry took too long, so nobody knows.
    #[error("cannot tell whether {image} is signed: looking took more than {} s", LONGEST.as_secs())]
    TooSlow {
        /// The image.
        image: PinnedRef,
    },
}

impl VerifyError {
    /// Whether this is an answer (not signed, or not by someone trusted) and not the lack of one.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NoSignature { .. } | Self::Refused { .. } => true,
            Self::Trouble { .. } | Self::TooMany { .. } | Self::TooSlow { .. } => false,
        }
    }
}

/// Looks for a signature of exactly this digest that the policy accepts. One suffices; the search
/// ends with it. An index and the images in it are signed each by itself.
///
/// # Errors
/// When there is none, or when the registry did not let us find out.
pub async fn verify(
    registry: &impl Registry,
    policy: &Policy,
    image: &PinnedRef,
    now: Timestamp,
) -> Result<Verified, VerifyError> {
    let search = search(registry, policy, image, now);
    match tokio::time::timeout(LONGEST, search).await {
        Ok(answer) => answer,
        Err(_) => Err(VerifyError::TooSlow {
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
    let mut crowd = Crowd::new(AT_ONCE);
    // The older place is looked at only when the newer one does not suffice: nearly every image
    // is signed in the newer way, and a question saved is one that thousands of nodes do not ask.
    let mut places = [Step::Referrers, Step::SignatureTag].into_iter();
    let mut failed = Failed::default();
    loop {
        let Some(found) = crowd.next().await else {
            match places.next() {
                Some(place) => crowd.add(find::ask(registry, image, place)),
                None => return Err(failed.into_error(image.clone())),
            }
            continue;
        };
        match found {
            Found::Steps { steps, total } => {
                failed.most = failed.most.max(total);
                steps
                    .into_iter()
                    .for_each(|step| crowd.add(find::ask(registry, image, step)));
            }
            Found::Candidate(Candidate { name, material }) => {
                match judge(policy, image, &material, now) {
                    Ok(accepted) => {
                        let policy = policy.fingerprint().clone();
                        return Ok(Verified::new(image.clone(), name, accepted, policy));
                    }
                    Err(refusal) => failed.candidates.push(RefusedCandidate { name, refusal }),
                }
            }
            Found::Refused(name, refusal) => {
                failed.candidates.push(RefusedCandidate { name, refusal });
            }
            Found::Nothing => {}
            Found::Trouble(trouble) => failed.trouble = failed.trouble.or(Some(trouble)),
        }
    }
}

/// Whether one candidate is a signature that the policy accepts: bytes in, answer out. The
/// library beneath looks at the machine's clock as well, and only ever to refuse.
fn judge(
    policy: &Policy,
    image: &PinnedRef,
    material: &Material,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    match material {
        Material::Bundle(bytes) => {
            let bundle = Bundle::parse(bytes)?;
            bundle.check_claim(image.digest())?;
            if bundle.has_certificate() {
                keyless::judge_bundle(policy, &bundle, image.digest(), now)
            } else {
                keyed::judge_bundle(policy, &bundle, image.digest(), now)
            }
        }
        Material::Simple {
            payload,
            annotations,
        } => {
            let signature = SimpleSignature::parse(payload, annotations)?;
            signature.check_claim(image.digest())?;
            if signature.has_certificate() {
                keyless::judge_simple(policy, &signature, now)
            } else {
                keyed::judge_simple(policy, &signature, now)
            }
        }
    }
}

/// What is known when nothing was accepted.
#[derive(Default)]
struct Failed {
    candidates: Vec<RefusedCandidate>,
    trouble: Option<RegistryError>,
    most: usize,
}

impl Failed {
    /// "Refused" is said only by someone who has seen everything.
    fn into_error(self, image: PinnedRef) -> VerifyError {
        if let Some(source) = self.trouble {
            return VerifyError::Trouble { image, source };
        }
        if self.most > MOST_CANDIDATES {
            return VerifyError::TooMany {
                image,
                found: self.most,
            };
        }
        if self.candidates.is_empty() {
            return VerifyError::NoSignature { image };
        }
        // They came in the order of the registry's answers, which is another one every time.
        let mut candidates = self.candidates;
        candidates.sort_by_cached_key(|one| (one.name.clone(), one.refusal.to_string()));
        VerifyError::Refused { image, candidates }
    }
}

/// Candidates as one line.
struct Listed<'a>(&'a [RefusedCandidate]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, RefusedCandidate { name, refusal }) in self.0.iter().enumerate() {
            let between = if position == 0 { "" } else { "; " };
            write!(f, "{between}{name}: {refusal}")?;
        }
        Ok(())
    }
}
