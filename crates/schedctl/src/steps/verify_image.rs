//! Resolves an image to its digest and verifies its signature. Every command that pulls an image
//! calls it.

use jiff::Timestamp;
use schedkit_core::{ImageRef, PinnedRef};
use schedkit_image::registry::{Client, resolve};
use schedkit_image::signature::{self, Trusted, Verified, VerifyError, waive};
use schedkit_image::trust::{Policy, PolicyError};

use crate::error_text;
use crate::output::{Printer, progress};
use crate::request::TrustRequirement;
use crate::settings::PolicySource;
use crate::untrusted_image::UntrustedImage;

/// Prints the policy's warnings.
pub(crate) fn read_policy(
    source: &PolicySource,
    printer: &mut Printer,
) -> Result<Policy, PolicyError> {
    let policy = match source {
        PolicySource::BuiltIn => Policy::built_in()?,
        PolicySource::File(path) => Policy::read(path)?,
    };
    for warning in policy.warnings() {
        printer.warn(format!("the trust policy's {warning}"));
    }
    Ok(policy)
}

pub(crate) async fn verify(
    image: &ImageRef,
    policy: &Policy,
    registry: &Client,
) -> anyhow::Result<(PinnedRef, Result<Verified, VerifyError>)> {
    let verifying = async {
        let pinned = resolve(registry, image).await?;
        let result = signature::verify(registry, policy, &pinned, Timestamp::now()).await;
        anyhow::Ok((pinned, result))
    };
    let note = format!("asking {}", image.repository().host());
    progress::with_spinner(&note, verifying).await
}

/// Only the result may be pulled.
pub(crate) async fn require_trust(
    image: &ImageRef,
    requirement: &TrustRequirement,
    registry: &Client,
    printer: &mut Printer,
) -> anyhow::Result<Trusted> {
    let policy = read_policy(&requirement.policy, printer)?;
    let (pinned, result) = verify(image, &policy, registry).await?;
    match (result, requirement.waiver) {
        (Ok(verified), _) => Ok(verified.into()),
        (Err(error), Some(waiver)) => {
            let reason = error_text::one_line(&error);
            printer.warn(format!(
                "{pinned} runs unverified because of {waiver}: {reason}"
            ));
            Ok(waive(pinned, waiver).into())
        }
        (Err(error), None) if error.is_refusal() => Err(UntrustedImage {
            image: pinned.to_string(),
            reason: error_text::one_line(&error),
        }
        .into()),
        (Err(error), None) => Err(error.into()),
    }
}
