//! Finds signatures of an image, verifies them, and compares the image with what was asked for: the
//! only way to a `Verified`.
//!
//! ```text
//! rule of the policy ─▶ digest not denied ─▶ signatures and attestations, until they are enough
//!                                                     └─▶ title, version: what was asked for?
//! ```

use jiff::Timestamp;

use super::asked::AskedImage;
use super::conformity;
use super::judge::Judge;
use super::search::search;
use super::verdict::Verified;
use super::verify_error::{Denial, TIMEOUT, VerifyError};
use crate::registry::Registry;
use crate::trust::Policy;

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
    let verifying = search_and_compare(registry, &judge, &asked);
    match tokio::time::timeout(TIMEOUT, verifying).await {
        Ok(result) => result,
        Err(_) => Err(VerifyError::Timeout {
            image: image.clone(),
        }),
    }
}

async fn search_and_compare(
    registry: &impl Registry,
    judge: &Judge<'_>,
    asked: &AskedImage<'_>,
) -> Result<Verified, VerifyError> {
    let progress = search(registry, judge, asked.image).await?;
    let image = asked.image.clone();
    match conformity::check(registry, judge.policy, judge.rule, asked).await {
        Ok(Ok(conformity)) => {
            let by = (judge.policy, judge.rule);
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
