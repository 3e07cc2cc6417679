//! Verifies the image of a scheduler that runs already, if another trust policy accepted it. Called
//! by `run` and `switch` before they report that there is nothing to do.

use anyhow::Context;
use schedkit_core::ImageRef;
use schedkit_image::registry::Client;
use schedkit_runtime::{Driver, Trust};

use crate::container::RuntimeContainer;
use crate::output::Printer;
use crate::request::StartRequest;
use crate::settings::Settings;
use crate::steps::find_image::catalog_name;
use crate::steps::read_policy::read_fresh_policy;
use crate::steps::verify_image::{ImageCheck, Needs};

/// Asks for a verdict, as `--pull` has it, only if the policy has changed since the start.
pub(crate) async fn verify_running(
    running: &RuntimeContainer,
    request: &StartRequest,
    settings: &Settings,
    driver: &impl Driver,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let requirement = &request.image.trust;
    if requirement.waiver.is_some() {
        return Ok(());
    }
    let record = &running.container.record;
    let policy = read_fresh_policy(&requirement.policy, &settings.trust_root, printer)?;
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
        catalog_name: catalog_name(&name, &image),
        trust: requirement,
        registry: &Client::new(settings.registry.clone()),
        verdicts: settings.verdicts.as_ref(),
        driver,
        audit: settings.audit.as_ref(),
    };
    let no_needs = async |_: Needs<'_>| Ok(());
    check
        .require_trust_by(&policy, request.pull, no_needs, printer)
        .await?;
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
    use clap::Parser;
    use schedctl_args::args::{Args, Format};
    use schedkit_runtime::driver::Runtime;

    use super::*;
    use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
    use crate::fixtures::runtime_container;
    use crate::request::{Command, Request};
    use crate::settings::config_file::ConfigFile;
    use crate::settings::environment::Environment;

    /// Nothing listens where its image is from.
    #[tokio::test]
    async fn with_never_no_registry_is_asked() {
        let line = ["schedctl", "run", "scx_one", "--pull", "never"];
        let args = Args::try_parse_from(line).unwrap();
        let request = Request::new(args, Environment::empty(), ConfigFile::default(), None);
        let Request { command, settings } = request.unwrap();
        let Command::Start(start) = command else {
            panic!("{command:?}");
        };
        let mut running = runtime_container(Runtime::Podman, "aaaa", "scx_one");
        let image = format!("127.0.0.1:1/team/one@sha256:{}", "a".repeat(64));
        running.container.record.image = Some(image);
        let runtime = FakeRuntime::new(Behaviour::Attaches);
        let mut printer = Printer::new(Format::Text);
        let verified = verify_running(&running, &start, &settings, &runtime, &mut printer).await;
        let error = verified.unwrap_err().to_string();
        assert!(error.contains("was not verified under this"), "{error}");
    }

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
