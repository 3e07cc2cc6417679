//! `--pull`, and what happens when the registry does not answer. The runtime is a fake, and this
//! machine need not be able to run a scheduler: what is compared is how far `run` gets.

use serde_json::{Value, json};

use crate::fake_podman::FakePodman;
use crate::registry::{RegistryFixture, SIGNER, STRANGER};

pub(crate) const NOT_VERIFIED: &str = "was not verified under this trust policy before";

/// A runtime with no container, and with or without the image.
pub(crate) fn podman(registry: &RegistryFixture, socket: &str, has_image: bool) {
    podman_with_labels(registry, socket, has_image, &json!({}));
}

fn podman_with_labels(registry: &RegistryFixture, socket: &str, has_image: bool, labels: &Value) {
    let (host, digest) = (&registry.server.address, &registry.digest);
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let image = json!({
        "Id": "0123", "Os": "linux", "Architecture": architecture,
        "RepoDigests": [format!("{host}/team/one@{digest}")], "Labels": labels,
    })
    .to_string();
    let path = registry.fixture.path(socket);
    FakePodman::listen(&path, move |request| match request {
        request if request.contains("/images/") && !has_image => (404, "{}".to_owned()),
        request if request.contains("/images/") => (200, image.clone()),
        request if request.contains("/containers/json") => (200, "[]".to_owned()),
        request if request.contains("/_ping") => (200, "OK".to_owned()),
        _ => (500, r#"{"message": "the test ends here"}"#.to_owned()),
    });
}

#[test]
fn what_was_verified_before_starts_without_its_registry() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let policy = registry.trusting(SIGNER);
    podman(&registry, "podman.sock", true);
    podman(&registry, "empty.sock", false);
    let run = |args: &str| {
        let args = format!("run scx_one --socket podman.sock --trust-policy {policy} {args}");
        fixture.run(&args)
    };
    let unknown = run("--pull never");
    assert_eq!(unknown.code, 1, "{}", unknown.err);
    assert!(unknown.err.contains(NOT_VERIFIED), "{}", unknown.err);

    let pull = format!("pull scx_one --socket podman.sock --trust-policy {policy}");
    let pulled = fixture.run(&pull);
    assert_eq!(pulled.code, 0, "{}", pulled.err);
    registry.server.stop();
    for when in ["never", "missing"] {
        let output = run(&format!("--pull {when}"));
        let err = &output.err;
        assert!(!err.contains(NOT_VERIFIED), "{when}: {err}");
        assert!(!err.contains("cannot get"), "{when}: {err}");
    }
    let output = run("");
    let warning = "may run nevertheless, because the signature of key sha256:";
    assert!(output.err.contains(warning), "{}", output.err);

    let args = format!("run scx_one --pull never --socket empty.sock --trust-policy {policy}");
    let not_stored = fixture.run(&args);
    assert!(not_stored.err.contains(NOT_VERIFIED), "{}", not_stored.err);
    // The same file with another key is another policy.
    fixture.write("key.pem", STRANGER);
    let other = run("--pull never");
    assert_eq!(other.code, 1, "{}", other.err);
    assert!(other.err.contains(NOT_VERIFIED), "{}", other.err);
}

/// The registry says so as well, but nobody asks it.
#[test]
fn the_minimum_kernel_of_a_stored_image_is_checked() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let policy = registry.trusting(SIGNER);
    let label = "org.schedkit.scheduler.kernel.min-version";
    for (socket, version) in [("old.sock", "99.1"), ("odd.sock", "\u{1b}[2Jnew\r")] {
        podman_with_labels(&registry, socket, true, &json!({ label: version }));
    }
    podman(&registry, "plain.sock", true);
    let pull = format!("pull scx_one --socket plain.sock --trust-policy {policy}");
    assert_eq!(fixture.run(&pull).code, 0);
    registry.server.stop();
    for (options, code) in [("--pull never", 1), ("--pull missing", 1), ("", 1)] {
        for (socket, part) in [
            ("old.sock", "image.kernel: "),
            ("odd.sock", ""),
            ("plain.sock", ""),
        ] {
            let args = format!("run scx_one {options} --socket {socket} --trust-policy {policy}");
            let output = fixture.run(&args);
            assert_eq!(output.code, code, "{args}: {}", output.err);
            assert!(output.err.contains(part), "{args}: {}", output.err);
            let refused = output.err.contains("99.1");
            assert_eq!(refused, socket == "old.sock", "{args}: {}", output.err);
            let is_unsafe = |c: char| c != '\n' && schedkit_core::sanitize::is_unsafe(c);
            assert!(!output.err.contains(is_unsafe), "{args}: {:?}", output.err);
        }
    }
}

#[test]
fn a_kept_verdict_does_not_override_a_refusal() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    podman(&registry, "podman.sock", true);
    let policy = registry.trusting(SIGNER);
    let pull = format!("pull scx_one --socket podman.sock --trust-policy {policy}");
    assert_eq!(fixture.run(&pull).code, 0);
    registry.trusting(STRANGER);
    for when in ["missing", "always"] {
        let args = format!(
            "enable scx_one --pull {when} --socket podman.sock --trust-policy {policy} -o json"
        );
        let output = fixture.run(&args);
        assert_eq!(output.code, 3, "{when}: {}", output.err);
        assert!(output.err.contains("is not trusted"), "{}", output.err);
    }
}

/// A waiver is for the run that has it.
#[test]
fn a_waiver_is_not_kept_as_a_verdict() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    podman(&registry, "podman.sock", true);
    let policy = registry.trusting(STRANGER);
    let trust = format!("scx_one --socket podman.sock --trust-policy {policy}");
    let waived = fixture.run(&format!("pull {trust} --allow-unsigned"));
    assert_eq!(waived.code, 0, "{}", waived.err);
    let output = fixture.run(&format!("run {trust} --pull never"));
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains(NOT_VERIFIED), "{}", output.err);
}

/// `team/bare` has the same bytes, and no signature: with the answer that they are not trusted, the
/// verdict that was kept is over.
#[test]
fn every_refusal_deletes_what_was_kept() {
    for command in ["verify", "pull --allow-unsigned"] {
        let registry = RegistryFixture::new();
        let fixture = &registry.fixture;
        podman(&registry, "podman.sock", true);
        let policy = registry.trusting(SIGNER);
        let options = format!("--socket podman.sock --trust-policy {policy}");
        let pull = format!("pull scx_one {options}");
        assert_eq!(fixture.run(&pull).code, 0);
        let kept = || {
            std::fs::read_dir(fixture.path("state/verdicts"))
                .unwrap()
                .count()
        };
        assert_eq!(kept(), 1);
        let host = &registry.server.address;
        let output = fixture.run(&format!("{command} {host}/team/bare:1.0 {options}"));
        assert!(
            output.err.contains("is not signed") || output.code == 3,
            "{}",
            output.err
        );
        assert_eq!(kept(), 0, "{command}");
    }
}
