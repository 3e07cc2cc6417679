//! What the machine's settings file forbids, and what the audit log says: as root, with the settings of
//! whoever uses `sudo`.

use serde_json::Value;

use crate::kept_verdicts::{NOT_VERIFIED, podman};
use crate::registry::{RegistryFixture, SIGNER};
use crate::{Fixture, Output};

/// Runs schedctl as root on a machine with these rules. `/var/log` is the folder `log`.
fn run_with_rules(fixture: &Fixture, rules: &str, variables: &str, args: &str) -> Output {
    let log = fixture.path("log");
    std::fs::create_dir_all(&log).unwrap();
    let prepare = format!(
        "umask 022 && mount -t tmpfs etc /etc && mkdir /etc/schedctl && \
         echo '{rules}' > /etc/schedctl/config.toml && mount -t tmpfs lib /var/lib && \
         mount --bind {} /var/log && export {variables} IT=runs",
        log.display()
    );
    fixture.run_with_own_state(&prepare, args)
}

/// The lines of the audit log.
fn audited(fixture: &Fixture) -> Vec<Value> {
    let log = std::fs::read_to_string(fixture.path("log/schedctl/audit.log")).unwrap_or_default();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn a_forbidden_waiver_is_refused_and_recorded() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let policy = registry.trusting(SIGNER);
    podman(&registry, "podman.sock", true);
    let rules = "forbid = [\"allow-unsigned\"]";
    for (count, (command, variables, flag)) in [
        ("run", "", "--allow-unsigned"),
        ("switch", "", "--allow-unsigned"),
        ("pull", "", "--allow-unsigned"),
        ("enable", "", "--allow-unsigned"),
        ("run", "SCHEDCTL_ALLOW_UNSIGNED=1", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let args = format!("{command} scx_one --socket podman.sock -o json {flag}");
        let output = run_with_rules(fixture, rules, variables, &args);
        assert_eq!(output.code, 3, "{args}: {}", output.err);
        let document = output.json();
        schedctl_schemas::check("error", &document);
        let message = document["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("forbids \"allow-unsigned\""),
            "{args}: {message}"
        );
        let lines = audited(fixture);
        assert_eq!(lines.len(), count + 1, "{args}");
        let line = lines.last().unwrap();
        assert_eq!(line["verdict"], "forbidden", "{line}");
        assert_eq!(line["asked"], "scx_one", "{line}");
        assert_eq!(line["reason"], message, "{line}");
    }
    // What is signed is not concerned, and is recorded there as well.
    let pull = format!("pull scx_one --socket podman.sock --trust-policy {policy}");
    let pulled = run_with_rules(fixture, rules, "", &pull);
    assert_eq!(pulled.code, 0, "{}", pulled.err);
    let lines = audited(fixture);
    assert_eq!(lines.last().unwrap()["verdict"], "accepted");
}

#[test]
fn another_policy_than_the_machines_is_refused_and_recorded() {
    let registry = RegistryFixture::new();
    let policy = registry.trusting(SIGNER);
    let rules = "forbid = [\"trust-policy\"]";
    for (variables, flag) in [
        ("", format!("--trust-policy {policy}")),
        (&*format!("SCHEDCTL_TRUST_POLICY={policy}"), String::new()),
    ] {
        let pull = format!("pull scx_one {flag}");
        let output = run_with_rules(&registry.fixture, rules, variables, &pull);
        assert_eq!(output.code, 3, "{}", output.err);
        assert!(
            output.err.contains("only the machine's own trust policy"),
            "{}",
            output.err
        );
    }
    let lines = audited(&registry.fixture);
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["verdict"] == "forbidden"));
}

/// It may be forged.
#[test]
fn a_kept_verdict_of_the_users_does_not_count_where_something_is_forbidden() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let policy = registry.trusting(SIGNER);
    podman(&registry, "podman.sock", true);
    let options = format!("scx_one --socket podman.sock --trust-policy {policy}");
    let pulled = fixture.run(&format!("pull {options}"));
    assert_eq!(pulled.code, 0, "{}", pulled.err);
    let run = format!("run {options} --pull never");
    let free = run_with_rules(fixture, "", "", &run);
    assert!(!free.err.contains(NOT_VERIFIED), "{}", free.err);
    let rules = "forbid = [\"allow-unsigned\"]";
    let output = run_with_rules(fixture, rules, "", &run);
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains(NOT_VERIFIED), "{}", output.err);
}

/// The runtime goes no further: the lines are written before anything is pulled or run.
#[test]
fn a_waiver_is_recorded_with_the_reason_why_it_was_needed() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    podman(&registry, "podman.sock", true);
    let (host, digest) = (&registry.server.address, &registry.digest);
    let rules = "forbid = [\"trust-policy\"]";
    for (count, (args, reason)) in [
        (format!("pull {host}/team/bare:1.0"), "is not signed"),
        (
            format!("run {host}/team/one@{digest} --pull never"),
            "no registry was asked",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let args = format!("{args} --allow-unsigned --socket podman.sock");
        let output = run_with_rules(fixture, rules, "", &args);
        let lines = audited(fixture);
        assert_eq!(lines.len(), count + 1, "{}", output.err);
        let line = lines.last().unwrap();
        assert_eq!(line["verdict"], "waived", "{line}");
        assert_eq!(line["waiver"], "--allow-unsigned", "{line}");
        let image = line["image"].as_str().unwrap();
        assert!(image.ends_with(digest), "{line}");
        let found = line["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{line}");
    }
}
