//! Verifies the image of a scheduler that runs already, if another trust policy accepted it. Called
//! by `run` and `switch` before they report that there is nothing to do.

use anyhow::Context;
use schedkit_core::ImageRef;
use schedkit_image::registry::Client;
use schedkit_runtime::{Driver, Trust};

use crate::container::RuntimeContainer;
use crate::output::Printer;
use crate::request::TrustRequirement;
use crate::settings::Settings;
use crate::steps::verify_image::{ImageCheck, read_policy};

/// Asks the registry only if the policy has changed since the start.
pub(crate) async fn verify_running(
    running: &RuntimeContainer,
    requirement: &TrustRequirement,
    settings: &Settings,
    driver: &impl Driver,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if requirement.waiver.is_some() {
        return Ok(());
    }
    let record = &running.container.record;
    let policy = read_policy(&requirement.policy, printer)?;
    if is_accepted_by(record.trust.as_ref(), &policy.fingerprint().to_string()) {
        return Ok(());
    }
    let name = running.scheduler();
    let image = record.image.as_deref().unwrap_or_default();
    let image: Result<ImageRef, _> = image.parse();
    let image = image.with_context(|| format!("the image of {name} cannot be verified"))?;
    let check = ImageCheck {
        reference: &image,
        pin: None,
        trust: requirement,
        registry: &Client::new(settings.registry.clone()),
        verdicts: settings.verdicts.as_ref(),
        driver,
    };
    check.ask(&policy, printer).await?;
    Ok(())
}

fn is_accepted_by(trust: Option<&Trust>, fingerprint: &str) -> bool {
    match trust {
        Some(Trust::Verified { policy, .. }) => policy == fingerprint,
        Some(Trust::Waived(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_policy_has_accepted_it() {
        let verified = Trust::Verified {
            signer: "somebody".to_owned(),
            policy: "one".to_owned(),
        };
        assert!(is_accepted_by(Some(&verified), "one"));
        assert!(!is_accepted_by(Some(&verified), "two"));
        let waived = Trust::Waived("asked".to_owned());
        assert!(!is_accepted_by(Some(&waived), "one"));
        assert!(!is_accepted_by(None, "one"));
    }
}
