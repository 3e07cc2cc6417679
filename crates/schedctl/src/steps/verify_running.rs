//! Verifies the image of a scheduler that runs already, if another trust policy accepted it, or if it
//! was not compared with the name that it is asked for as, or records that this is waived. Called by
//! `run` and `switch` before they report that there is nothing to do.

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
use crate::steps::read_policy::read_fresh_policy;
use crate::steps::verify_image::{ImageCheck, Needs};

/// Asks for a verdict, as `--pull` has it, only if that of the start does not answer the question.
/// `asked_as` is the name that a catalog led from.
pub(crate) async fn verify_running(
    running: &RuntimeContainer,
    asked_as: Option<&str>,
    request: &StartRequest,
    settings: &Settings,
    driver: &impl Driver,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let requirement = &request.image.trust;
    let record = &running.container.record;
    let policy = read_fresh_policy(&requirement.policy, &settings.trust_root, printer)?;
    let name = running.scheduler();
    let image = record.image.as_deref().unwrap_or_default();
    let image: Result<ImageRef, _> = image.parse();
    let unusable = || format!("the image of {name} cannot be verified");
    let image = image.with_context(unusable)?;
    let started_as = catalog_name(&name, &image);
    let asked_as = asked_as.or(started_as);
    let title = |name| policy.name_to_check(image.repository(), name);
    let kept = |title| {
        let kept = settings.verdicts.as_ref()?.find_as(&image, &policy, title);
        kept.ok().flatten()
    };
    let is_accepted = is_accepted_by(record.trust.as_ref(), &policy.fingerprint().to_string());
    let is_compared = title(asked_as) == title(started_as) || kept(title(asked_as)).is_some();
    if is_accepted && is_compared {
        return Ok(());
    }
    let check = ImageCheck {
        reference: &image,
        pin: None,
        catalog_name: asked_as,
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
    use schedkit_image::signature::VerdictStore;
    use schedkit_image::trust::BuiltIn;
    use schedkit_runtime::driver::Runtime;

    use super::*;
    use crate::audit_log::AuditLog;
    use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
    use crate::fixtures::runtime_container;
    use crate::request::{Command, Request};
    use crate::settings::config_file::ConfigFile;
    use crate::settings::environment::Environment;

    const REPOSITORY: &str = "127.0.0.1:1/team/scx_one";

    /// Of a scheduler that runs and was accepted by this policy; nothing listens where its image is
    /// from.
    async fn outcome(
        options: &[&str],
        asked_as: Option<&str>,
        policy: Option<&str>,
        verdicts: Option<VerdictStore>,
        audit: Option<AuditLog>,
    ) -> Result<(), String> {
        let line = ["schedctl", "run", "scx_one"];
        let args = Args::try_parse_from(line.iter().chain(options)).unwrap();
        let request = Request::new(args, Environment::empty(), ConfigFile::default(), None);
        let Request {
            command,
            mut settings,
        } = request.unwrap();
        settings.audit = audit;
        let Command::Start(start) = command else {
            panic!("{command:?}");
        };
        settings.verdicts = verdicts;
        let mut running = runtime_container(Runtime::Podman, "aaaa", "scx_one");
        let record = &mut running.container.record;
        record.image = Some(format!("{REPOSITORY}@sha256:{}", "a".repeat(64)));
        record.trust = policy.map(|policy| Trust::Verified {
            signer: "somebody".to_owned(),
            policy: policy.to_owned(),
        });
        let (runtime, mut printer) = (
            FakeRuntime::new(Behaviour::Attaches),
            Printer::new(Format::Text),
        );
        let verified = verify_running(
            &running,
            asked_as,
            &start,
            &settings,
            &runtime,
            &mut printer,
        );
        verified.await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn with_never_no_registry_is_asked() {
        let error = outcome(&["--pull", "never"], None, None, None, None)
            .await
            .unwrap_err();
        assert!(error.contains("was not verified under this"), "{error}");
    }

    /// A reference says nothing about the title where a policy has no rules.
    #[tokio::test]
    async fn what_was_started_by_its_reference_is_verified_for_the_name() {
        let by_signers = BuiltIn::SchedkitOrganisation;
        let fingerprint = by_signers.policy().unwrap().fingerprint().to_string();
        let options = ["--pull", "never", "--trust-policy", by_signers.name()];
        let by_name = async |verdicts| {
            let name = Some("scx_one");
            outcome(&options, name, Some(&fingerprint), verdicts, None).await
        };
        let by_reference = outcome(&options, None, Some(&fingerprint), None, None).await;
        assert_eq!(by_reference, Ok(()));
        let error = by_name(None).await.unwrap_err();
        assert!(error.contains("was not verified under this"), "{error}");

        let folder = tempfile::tempdir().unwrap();
        let kept = serde_json::json!({
            "reference": REPOSITORY, "repository": REPOSITORY,
            "digest": format!("sha256:{}", "a".repeat(64)), "signer": "somebody",
            "policy": fingerprint, "verified_at": "2026-01-02T03:04:05Z",
            "title": {"compared-with": "scx_one"},
        });
        std::fs::write(folder.path().join("kept.json"), kept.to_string()).unwrap();
        let owner = rustix::process::geteuid().as_raw();
        let store = || Some(VerdictStore::at(folder.path(), owner));
        assert_eq!(by_name(store()).await, Ok(()));
        let other = kept.to_string().replace("scx_one\"}", "scx_two\"}");
        std::fs::write(folder.path().join("kept.json"), other).unwrap();
        assert!(by_name(store()).await.is_err());
        // Where the policy has rules, the reference says as much as the name.
        let rules = BuiltIn::Schedkit.policy().unwrap();
        let fingerprint = rules.fingerprint().to_string();
        let outcome = outcome(
            &["--pull", "never"],
            Some("scx_one"),
            Some(&fingerprint),
            None,
            None,
        )
        .await;
        assert_eq!(outcome, Ok(()));
    }

    #[tokio::test]
    async fn a_waiver_for_what_runs_already_is_recorded_but_not_by_a_dry_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let log = || Some(AuditLog::at(&path));
        let waived = ["--allow-unsigned", "--dry-run"];
        outcome(&waived, None, None, None, log()).await.unwrap();
        assert!(!path.exists());
        let waived = &waived[..1];
        outcome(waived, None, None, None, log()).await.unwrap();
        let line = std::fs::read_to_string(&path).unwrap();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["verdict"], "waived");
        assert_eq!(line["waiver"], "--allow-unsigned");
        assert_eq!(line["reason"], "it runs already");
        assert!(line["policy"].is_string(), "{line}");
        // A folder in place of the file.
        let unwritable = AuditLog::at(folder.path());
        let refused = outcome(waived, None, None, None, Some(unwritable)).await;
        let refused = refused.unwrap_err();
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
