//! Asks a registry about one image: the only place where images are resolved and verified.

use jiff::Timestamp;
use schedkit_core::{ImageRef, PinnedRef};
use schedkit_image::registry::{Registry, RegistryError, resolve};
use schedkit_image::signature::{VerifyError, verify};
use schedkit_image::trust::Policy;
use sked_plan::verification::Verdict;

use crate::error_chain::chain;

/// The digest that a reference has now.
pub(super) async fn digest_of(
    registry: &impl Registry,
    image: &ImageRef,
) -> Result<PinnedRef, RegistryError> {
    match image.digest() {
        // What it names cannot change.
        Some(digest) => Ok(PinnedRef::new(image.repository().clone(), digest.clone())),
        None => resolve(registry, image).await,
    }
}

/// Whether the policy accepts an image.
pub(super) async fn judge(
    registry: &impl Registry,
    policy: &Policy,
    image: &PinnedRef,
    now: Timestamp,
) -> Verdict {
    match verify(registry, policy, image, now).await {
        Ok(verified) => Verdict::Accepted {
            resolved: verified.image().to_string(),
            signer: verified.signer().to_string(),
            policy: verified.policy().to_string(),
            // As the API has times.
            at: Timestamp::from_second(now.as_second()).unwrap_or(now),
        },
        Err(error) => failed(&error),
    }
}

fn failed(error: &VerifyError) -> Verdict {
    let why = chain(error);
    match error {
        VerifyError::NoSignature { .. } => Verdict::Unsigned(why),
        VerifyError::NotEnough { signatures, .. } if signatures.is_empty() => {
            Verdict::Unsigned(why)
        }
        _ if error.is_refusal() => Verdict::Refused(why),
        _ => Verdict::Trouble(why),
    }
}
