//! Bad input that needs neither a kernel nor a real runtime: each gets its message, its remedy and
//! its exit code.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::fake_podman::{FakePodman, answer_always};
use crate::registry::{RegistryFixture, SIGNER};
use crate::{Fixture, Output};

/// What a gRPC server such as containerd sends first: an HTTP/2 SETTINGS frame.
const HTTP2: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0";
/// What a web server such as Podman's service answers to HTTP/2.
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400";

fn assert_failed(output: &Output, code: i32, parts: &[&str]) {
    assert_eq!(output.code, code, "{}{}", output.out, output.err);
    for part in parts {
        assert!(output.err.contains(part), "no {part:?} in {}", output.err);
    }
}

/// Podman's answer for an image that it has.
fn stored(registry: &RegistryFixture, repository: &str, architecture: &str) -> String {
    let (host, digest) = (&registry.server.address, &registry.digest);
    json!({
        "Id": "0123", "Os": "linux", "Architecture": architecture,
        "RepoDigests": [format!("{host}/{repository}@{digest}")],
    })
    .to_string()
}

#[test]
fn an_unreachable_runtime_is_named_with_its_remedy() {
    let registry = RegistryFixture::new();
    let policy = registry.trusting(SIGNER);
    for (driver, name, remedy) in [
        ("podman", "Podman", "systemctl enable --now podman.socket"),
        ("containerd", "containerd", "systemctl start containerd"),
    ] {
        let message = format!("{name} cannot be reached at none.sock");
        for command in [
            "run scx_one",
            "switch scx_one",
            "run scx_one --dry-run",
            "stop scx_one --dry-run",
            "logs",
            "ps",
            &format!("pull scx_one --trust-policy {policy}"),
        ] {
            let args = format!("-d {driver} --socket none.sock {command}");
            assert_failed(&registry.fixture.run(&args), 1, &[&message, remedy]);
        }
    }
}

#[test]
fn the_socket_of_the_other_runtime_is_detected() {
    let fixture = Fixture::new();
    answer_always(&fixture.path("grpc.sock"), HTTP2);
    answer_always(&fixture.path("http.sock"), BAD_REQUEST);
    for (driver, socket, right) in [
        ("podman", "grpc.sock", "/run/podman/podman.sock"),
        ("containerd", "http.sock", "/run/containerd/containerd.sock"),
    ] {
        for command in ["run scx_one", "ps"] {
            let args = format!("-d {driver} --socket {socket} {command}");
            let message = format!("what answers at {socket} is not");
            assert_failed(&fixture.run(&args), 1, &[&message, right]);
        }
    }
}

/// A name is never read as a file, nor a file as a name.
#[test]
fn a_file_with_the_name_of_a_scheduler_is_ignored() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    fixture.write("scx_one", "{}");
    fixture.write("unlike_any", "x");
    assert_eq!(fixture.run("info scx_one").code, 0);
    let run = fixture.run("run unlike_any --socket none.sock");
    assert_failed(&run, 1, &["unlike_any", "schedctl list"]);
    let run = fixture.run("run ./scx_one --socket none.sock");
    assert_failed(&run, 1, &["./scx_one"]);
}

/// Root would trust and run what others wrote. For another user it is that user's own business.
#[test]
fn root_uses_no_settings_file_that_others_may_write_to() {
    let fixture = Fixture::new();
    let file = fixture.path("config.toml");
    for (mode, is_safe) in [(0o600, true), (0o644, true), (0o664, false), (0o666, false)] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let output = fixture.run("config");
        let is_used = is_safe || !rustix::process::geteuid().is_root();
        assert_eq!(output.code == 0, is_used, "{mode:o}: {}", output.err);
        if !is_used {
            assert_failed(&output, 1, &["others may write to it", "chmod go-w"]);
        }
    }
}

#[test]
fn an_unsigned_image_is_pulled_only_with_a_waiver() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let image = stored(&registry, "team/bare", this_architecture());
    let podman = FakePodman::listen(&fixture.path("podman.sock"), move |_| (200, image.clone()));
    let pull = format!(
        "pull {}/team/bare:1.0 --socket podman.sock -o json",
        registry.server.address
    );
    let output = fixture.run(&pull);
    assert_failed(&output, 3, &["is not trusted", "is not signed"]);
    let refused = output.json();
    schedctl_schemas::check("error", &refused);
    assert_eq!(refused["error"]["exit_code"], 3);
    assert_eq!(podman.requests(), Vec::<String>::new());
    let output = fixture.run(&format!("{pull} --allow-unsigned"));
    assert_eq!(output.code, 0, "{}", output.err);
    let pulled = output.json();
    schedctl_schemas::check("pull", &pulled);
    assert_eq!(pulled["result"], "cached");
    assert_eq!(pulled["waiver"], "--allow-unsigned");
    assert!(pulled["signer"].is_null(), "{pulled}");
    let warning = pulled["warnings"][0].to_string();
    assert!(warning.contains("runs unverified"), "{warning}");
    assert!(!podman.requests().is_empty());
}

#[test]
fn a_signed_image_is_pulled_by_digest() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let policy = registry.trusting(SIGNER);
    let image = stored(&registry, "team/one", this_architecture());
    let podman = FakePodman::listen(&fixture.path("podman.sock"), move |_| (200, image.clone()));
    let args = format!("pull scx_one --trust-policy {policy} --socket podman.sock -o json");
    let output = fixture.run(&args);
    assert_eq!(
        (output.code, output.err.as_str()),
        (0, ""),
        "{}",
        output.out
    );
    schedctl_schemas::check("pull", &output.json());
    let hex = registry.digest.trim_start_matches("sha256:");
    assert!(podman.requests().iter().all(|line| line.contains(hex)));
}

#[test]
fn an_image_of_another_architecture_is_refused() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let other = match this_architecture() {
        "arm64" => "amd64",
        _ => "arm64",
    };
    // By the image's metadata, before it is pulled.
    let name = if other == "arm64" { "arm" } else { "bare" };
    let args = format!(
        "doctor --image {}/team/{name}:1.0 -o json --socket none.sock",
        registry.server.address
    );
    let document = fixture.run(&args).json();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|one| one["id"] == "image.architecture");
    let check = check.unwrap();
    assert_eq!(check["status"], "fail", "{check}");
    assert!(check["detail"].to_string().contains(other), "{check}");
    // By the runtime, after the pull.
    let image = stored(&registry, "team/bare", other);
    let _podman = FakePodman::listen(&fixture.path("podman.sock"), move |_| (200, image.clone()));
    let args = format!(
        "pull {}/team/bare:1.0 --allow-unsigned --socket podman.sock",
        registry.server.address
    );
    assert_failed(&fixture.run(&args), 1, &[other, this_architecture()]);
}

#[test]
fn a_full_disk_is_reported_with_its_remedy() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let _podman = FakePodman::listen(&fixture.path("podman.sock"), |line| {
        match line.starts_with("POST") {
            true => {
                let error = "writing blob: write /var/lib/containers: no space left on device";
                (200, json!({ "error": error }).to_string() + "\n")
            }
            false => (404, json!({"message": "no such image"}).to_string()),
        }
    });
    let args = format!(
        "pull {}/team/bare:1.0 --allow-unsigned --socket podman.sock",
        registry.server.address
    );
    let parts = ["no space is left on Podman's disk", "What to do:"];
    assert_failed(&fixture.run(&args), 1, &parts);
}

/// The manifest claims a configuration of 5 GiB; the registry sends a small one.
#[test]
fn a_huge_claimed_size_is_refused_without_reading() {
    let registry = RegistryFixture::new();
    let image = format!("{}/team/huge:1.0", registry.server.address);
    let output = registry.fixture.run(&format!("info {image}"));
    assert_failed(&output, 1, &["team/huge", "bytes"]);
}

pub(crate) fn this_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Names, images and labels of a container, as text and as JSON.
#[test]
fn no_control_character_of_a_container_reaches_a_terminal() {
    let fixture = Fixture::new();
    let hostile = "\r\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{85}\u{7f}\u{202e}";
    let list = json!([{
        "Id": "0123456789abcdef", "Names": [format!("schedkit-{hostile}")],
        "Image": format!("a.example/{hostile}"), "ImageID": hostile, "State": hostile,
        "Labels": {"provider": "schedkit", "io.schedkit.scheduler": hostile, "x": hostile},
    }]);
    let list = list.to_string();
    let _podman = FakePodman::listen(&fixture.path("podman.sock"), move |_| (200, list.clone()));
    for command in [
        "ps",
        "ps -o json",
        "logs other",
        "stop other --dry-run -o json",
    ] {
        let output = fixture.run(&format!("{command} --socket podman.sock"));
        let all = output.out + &output.err;
        assert!(all.contains("schedkit-"), "{command}: {all}");
        let is_unsafe = |c: char| c != '\n' && schedkit_core::sanitize::is_unsafe(c);
        assert!(!all.contains(is_unsafe), "{command}: {all:?}");
    }
}
