//! What users, images, registries and runtimes get wrong: each has an error that names the cause and
//! a remedy, and nothing half-made is left.

use lab::oci::{Blob, Image};
use lab::{CommandOutput, Daemon};
use serde_json::{Value, json};

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};
use testkit::schema;

/// It ended with this code and has these parts in its error.
fn must_fail(output: &CommandOutput, code: i32, parts: &[&str]) {
    assert_eq!(output.status, code, "{}", output.text());
    for part in parts {
        assert!(
            output.stderr.contains(part),
            "no {part:?} in {}",
            output.text()
        );
    }
}

/// The names of the images that a runtime holds of ours.
fn images(machine: &Machine, driver: &str) -> String {
    match driver {
        "podman" => machine.shell("podman images --all --format '{{.Repository}} {{.Digest}}'"),
        _ => machine.shell("ctr --namespace schedkit images list --quiet"),
    }
}

#[test]
fn a_runtime_that_is_not_there_is_named_with_its_remedy() {
    let machine = machine_with_bpfland();
    for (driver, daemon, name, remedy) in [
        (
            "podman",
            Daemon::Podman,
            "Podman",
            "systemctl enable --now podman.socket",
        ),
        (
            "containerd",
            Daemon::Containerd,
            "containerd",
            "systemctl start containerd",
        ),
    ] {
        machine.stop_daemon(daemon);
        let socket = format!("/run/{driver}/{driver}.sock");
        for args in [
            &["run", "scx_lab"][..],
            &["switch", "scx_lab"],
            &["stop", "scx_lab"],
            &["logs"],
            &["ps"],
            &["pull", "scx_lab"],
        ] {
            let output = machine.schedctl(&[&["-d", driver], args].concat());
            must_fail(&output, 1, &[name, &socket, remedy]);
        }
        machine.start_daemon(daemon);
    }
}

#[test]
fn a_socket_of_the_other_runtime_is_noticed() {
    let machine = machine_with_bpfland();
    for (driver, other) in [("podman", "containerd"), ("containerd", "podman")] {
        let socket = format!("/run/{other}/{other}.sock");
        let output = machine.schedctl(&["-d", driver, "--socket", &socket, "run", "scx_lab"]);
        let right = format!("/run/{driver}/{driver}.sock");
        must_fail(&output, 1, &[&socket, &right]);
    }
}

#[test]
fn without_root_the_error_says_so() {
    let machine = machine_with_bpfland();
    let nobody = |args: &str| {
        let script = format!("setpriv --reuid=65534 --regid=65534 --clear-groups schedctl {args}");
        machine.node().shell(&script).unwrap()
    };
    for driver in DRIVERS {
        for verb in ["run scx_lab", "stop scx_lab", "ps", "logs", "pull scx_lab"] {
            must_fail(&nobody(&format!("-d {driver} {verb}")), 1, &[" as root"]);
        }
        // Everybody may read what the kernel runs.
        let output = nobody(&format!("-d {driver} status"));
        must_fail(&output, 1, &["Permission denied", " as root"]);
        assert!(output.stdout.contains("disabled"), "{}", output.text());
    }
}

/// A name is never read as a file, nor a file as a name.
#[test]
fn a_file_that_is_called_like_a_scheduler_changes_nothing() {
    let machine = machine_with_bpfland();
    let folder = machine.shell("mktemp -d");
    let at = |script: &str| {
        machine
            .node()
            .shell(&format!("cd {folder} && {script}"))
            .unwrap()
    };
    let output = at("echo '{}' >scx_lab && echo x >scx_none && schedctl run scx_lab");
    assert_eq!(output.status, 0, "{}", output.text());
    assert!(machine.ops().is_some());
    assert_eq!(at("schedctl stop scx_lab").status, 0);
    must_fail(
        &at("schedctl run scx_none"),
        1,
        &["scx_none", "schedctl list"],
    );
    must_fail(&at("schedctl run ./scx_lab"), 1, &["./scx_lab"]);
    machine.shell(&format!("rm -r {folder}"));
}

#[test]
fn arguments_reach_the_scheduler_unchanged() {
    let machine = machine_with_bpfland();
    let odd = "1h  2m\n3s";
    for driver in DRIVERS {
        let run = ["-d", driver, "run", "scx_lab", "--no-wait"];
        let args = ["--fault", "slow-attach", "--after", odd];
        machine.must(&[&run[..], &["--"], &args].concat());
        let (_, ps) = machine.json(&["-d", driver, "ps"]);
        schema::check(&ps, &["ps"]);
        let container = &ps["containers"][0];
        assert_eq!(container["args"], json!(args), "{ps:#}");
        let pid = container["pid"].as_u64().unwrap();
        let line = machine.shell(&format!("tr '\\0' '|' </proc/{pid}/cmdline"));
        let end = format!("|{}|", args.join("|"));
        assert!(line.ends_with(&end), "{line:?}");
        machine.must(&["stop", "scx_lab"]);
    }
}

#[test]
fn an_image_without_an_entrypoint_is_refused() {
    let machine = machine_with_bpfland();
    machine.push_configured("odd/mute", "1", "amd64", &json!({"Env": ["PATH=/"]}));
    let image = machine.image("odd/mute:1");
    for driver in DRIVERS {
        let output = machine.schedctl(&["-d", driver, "run", &image, "--allow-unsigned"]);
        must_fail(&output, 1, &["odd/mute", "ENTRYPOINT"]);
        machine.must_be_idle(driver);
    }
}

#[test]
fn an_image_for_another_processor_is_refused_before_it_is_pulled() {
    let machine = machine_with_bpfland();
    let config = json!({"Entrypoint": ["/scx_lab"]});
    machine.push_configured("odd/arm", "1", "arm64", &config);
    let image = machine.image("odd/arm:1");
    for driver in DRIVERS {
        let output = machine.schedctl(&["-d", driver, "run", &image, "--allow-unsigned"]);
        must_fail(&output, 1, &["arm64", "amd64"]);
        assert!(!images(&machine, driver).contains("odd/arm"));
        machine.must_be_idle(driver);
    }
}

#[test]
fn an_image_with_a_user_still_runs_as_root() {
    let machine = machine_with_bpfland();
    let config = json!({"Entrypoint": ["/scx_lab"], "User": "65534:65534"});
    machine.push_configured("odd/user", "1", "amd64", &config);
    machine.sign("odd/user");
    let image = machine.image("odd/user:1");
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", &image]);
        assert_eq!(machine.ops().as_deref(), Some("lab"));
        let (_, status) = machine.json(&["-d", driver, "status"]);
        assert_eq!(status["status"], "running", "{status:#}");
        let pid = status["scheduler"]["pid"].as_u64().unwrap();
        let ids = machine.shell(&format!("grep ^Uid: /proc/{pid}/status"));
        assert_eq!(ids.split_whitespace().nth(2), Some("0"), "{ids}");
        let name = status["scheduler"]["name"].as_str().unwrap();
        machine.must(&["-d", driver, "stop", name]);
    }
}

#[test]
fn an_unsigned_image_runs_only_with_allow_unsigned() {
    let machine = machine_with_bpfland();
    machine.push("odd/unsigned", "1", &["/scx_lab", "--name", "unsigned"]);
    let image = machine.image("odd/unsigned:1");
    for driver in DRIVERS {
        let (code, refused) = machine.json(&["-d", driver, "run", &image]);
        assert_eq!(code, 3, "{refused:#}");
        schema::check(&refused, &["error"]);
        assert!(!images(&machine, driver).contains("odd/unsigned"));
        machine.must_be_idle(driver);
        let (code, run) = machine.json(&["-d", driver, "run", &image, "--allow-unsigned"]);
        assert_eq!(code, 0, "{run:#}");
        schema::check(&run, &["run"]);
        assert!(run["warnings"][0].is_string(), "{run:#}");
        assert!(
            run["signer"].is_null() && run["waiver"].is_string(),
            "{run:#}"
        );
        let status = machine.expect(0, &["-d", driver, "status"]);
        assert_eq!(status["scheduler"]["waiver"], run["waiver"], "{status:#}");
        machine.must(&["-d", driver, "stop", "unsigned"]);
    }
}

/// The runtime's store is a small disk of its own for a while.
#[test]
fn a_disk_that_is_full_is_named_and_freed_of_what_was_begun() {
    let machine = machine_with_bpfland();
    // containerd keeps an image twice: as it came, and unpacked.
    for (driver, daemon, store, size, name) in [
        (
            "podman",
            Daemon::Podman,
            "/var/lib/containers",
            "1500k",
            "Podman",
        ),
        (
            "containerd",
            Daemon::Containerd,
            "/var/lib/containerd",
            "3m",
            "containerd",
        ),
    ] {
        machine.stop_daemon(daemon);
        machine.cover(store, size);
        machine.start_daemon(daemon);
        let output = machine.schedctl(&["-d", driver, "run", "scx_lab"]);
        must_fail(&output, 1, &["no space", name]);
        machine.must_be_idle(driver);
        assert_eq!(images(&machine, driver), "");
        machine.shell(&format!("mount -o remount,size=200m {store}"));
        machine.must(&["-d", driver, "run", "scx_lab"]);
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        machine.stop_daemon(daemon);
        machine.uncover(store);
        machine.start_daemon(daemon);
    }
}

/// The registry gives another size than the manifest claims.
#[test]
fn an_image_that_claims_to_be_huge_is_not_waited_for() {
    let machine = machine_with_bpfland();
    let image = Image::marked("huge").unwrap();
    let registry = machine.host().registry();
    for blob in &image.blobs {
        registry.push_blob("odd/huge", blob).unwrap();
    }
    let mut manifest: Value = serde_json::from_slice(&image.manifest.bytes).unwrap();
    manifest["layers"][0]["size"] = json!(5_u64 << 30);
    let manifest = Blob::new(serde_json::to_vec(&manifest).unwrap());
    let kind = lab::oci::image::MANIFEST;
    registry
        .push_manifest("odd/huge", "1", kind, &manifest)
        .unwrap();
    let image = machine.image("odd/huge:1");
    // Podman holds a layer against its digest alone, so it finds out when there is nothing to run.
    for (driver, part) in [("podman", ""), ("containerd", "5368709120")] {
        let output = machine.schedctl(&["-d", driver, "run", &image, "--allow-unsigned"]);
        must_fail(&output, 1, &["odd/huge", part]);
        machine.must_be_idle(driver);
    }
    assert!(!images(&machine, "containerd").contains("odd/huge"));
}
