//! Verifies the image of a scheduler that runs already, if another trust policy accepted it, or
//! records that this is waived. Called by `run` and `switch` before they report that there is nothing
//! to do.

use anyhow::Context;
use schedkit_core::{ImageRef, PinnedRef};
use schedkit_image::registry::Client;
use schedkit_image::signature::waive;
use schedkit_runtime::{Driver, Trust};

use crate::container::RuntimeContainer;
use crate::output::Printer;
use crate::request::StartRequest;
use crate::settings::Settings;
use crate::steps::find_image::catalog_name;
use crate::steps::verify_image::{ImageCheck, Needs, read_policy};

/// Asks for a verdict, as `--pull` has it, only if the policy has changed since the start.
pub(crate) async fn verify_running(
    running: &RuntimeContainer,
    request: &StartRequest,
    settings: &Settings,
    driver: &impl Driver,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let requirement = &request.image.trust;
    let record = &running.container.record;
    let policy = read_policy(&requirement.policy, printer)?;
    if is_accepted_by(record.trust.as_ref(), &policy.fingerprint().to_string()) {
        return Ok(());
    }
    let name = running.scheduler();
    let image = record.image.as_deref().unwrap_or_default();
    let image: Result<ImageRef, _> = image.parse();
    let unusable = || format!("the image of {name} cannot be verified");
    let image = image.with_context(unusable)?;
    let check = ImageCheck {
        reference: &image,
        pin: None,
        catalog_name: catalog_name(&name, &image),
        trust: requirement,
        registry: &Client::new(settings.registry.clone()),
        verdicts: settings.verdicts.as_ref(),
        driver,
        audit: request.audit(settings),
    };
    if let Some(waiver) = requirement.waiver {
        let digest = image.digest().cloned().with_context(unusable)?;
        let waived = waive(PinnedRef::new(image.repository().clone(), digest), waiver);
        return check.record_waiver(&policy, &waived, "it runs already");
    }
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
    use crate::audit_log::AuditLog;
    use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
    use crate::fixtures::runtime_container;
    use crate::request::{Command, Request};
    use crate::settings::config_file::ConfigFile;
    use crate::settings::environment::Environment;

    /// Of a scheduler that was not verified under this policy. Nothing listens where its image is from.
    async fn run(flags: &str, audit: Option<AuditLog>) -> anyhow::Result<()> {
        let line = format!("schedctl run scx_one {flags}");
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        let request = Request::new(args, Environment::empty(), ConfigFile::default(), None);
        let Request {
            command,
            mut settings,
        } = request.unwrap();
        settings.audit = audit;
        let Command::Start(start) = command else {
            panic!("{command:?}");
        };
        let mut running = runtime_container(Runtime::Podman, "aaaa", "scx_one");
        let image = format!("127.0.0.1:1/team/one@sha256:{}", "a".repeat(64));
        running.container.record.image = Some(image);
        let runtime = FakeRuntime::new(Behaviour::Attaches);
        let mut printer = Printer::new(Format::Text);
        verify_running(&running, &start, &settings, &runtime, &mut printer).await
    }

    #[tokio::test]
    async fn with_never_no_registry_is_asked() {
        let error = run("--pull never", None).await.unwrap_err().to_string();
        assert!(error.contains("was not verified under this"), "{error}");
    }

    #[tokio::test]
    async fn a_waiver_for_what_runs_already_is_recorded_but_not_by_a_dry_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let log = || Some(AuditLog::at(&path));
        run("--allow-unsigned --dry-run", log()).await.unwrap();
        assert!(!path.exists());
        run("--allow-unsigned", log()).await.unwrap();
        let line = std::fs::read_to_string(&path).unwrap();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["verdict"], "waived");
        assert_eq!(line["waiver"], "--allow-unsigned");
        assert_eq!(line["reason"], "it runs already");
        assert!(line["policy"].is_string(), "{line}");
        // A folder in place of the file.
        let unwritable = AuditLog::at(folder.path());
        let refused = run("--allow-unsigned", Some(unwritable)).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("only if that is recorded"), "{refused}");
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
