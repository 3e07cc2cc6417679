//! What people and the world get wrong: an exact sentence and a remedy each, and nothing half-made
//! is left.

use lab::oci::{Blob, Image};
use lab::{CommandOutput, Daemon};
use serde_json::{Value, json};

use crate::ground::{DRIVERS, Machine, machine};
use crate::schema;

/// It ended so and said all of this.
fn told(said: &CommandOutput, code: i32, parts: &[&str]) {
    assert_eq!(said.status, code, "{}", said.text());
    for part in parts {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.text());
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
    let machine = machine();
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
        machine.node().stop(daemon).unwrap();
        let sentence = format!("{name} cannot be reached at /run/{driver}/{driver}.sock");
        for words in [
            &["run", "scx_lab"][..],
            &["switch", "scx_lab"],
            &["stop", "scx_lab"],
            &["logs"],
            &["ps"],
            &["pull", "scx_lab"],
        ] {
            let said = machine.schedctl(&[&["-d", driver], words].concat());
            told(&said, 1, &[&sentence, remedy]);
        }
        machine.node().start(daemon).unwrap();
    }
}

#[test]
fn a_socket_of_the_other_runtime_is_noticed() {
    let machine = machine();
    for (driver, other) in [("podman", "containerd"), ("containerd", "podman")] {
        let socket = format!("/run/{other}/{other}.sock");
        let said = machine.schedctl(&["-d", driver, "--socket", &socket, "run", "scx_lab"]);
        let right = format!("itself listens at /run/{driver}/{driver}.sock");
        told(
            &said,
            1,
            &[&format!("what answers at {socket} is not"), &right],
        );
    }
}

#[test]
fn who_is_not_root_is_told_so() {
    let machine = machine();
    let nobody = |words: &str| {
        let script = format!("setpriv --reuid=65534 --regid=65534 --clear-groups schedctl {words}");
        machine.node().shell(&script).unwrap()
    };
    for driver in DRIVERS {
        for verb in ["run scx_lab", "stop scx_lab", "ps", "logs", "pull scx_lab"] {
            told(&nobody(&format!("-d {driver} {verb}")), 1, &[" as root"]);
        }
        // What the kernel runs is no secret.
        let said = nobody(&format!("-d {driver} status"));
        told(&said, 1, &["Permission denied", " as root"]);
        assert!(said.stdout.contains("disabled"), "{}", said.text());
    }
}

/// A name is never read as a file, nor a file as a name.
#[test]
fn a_file_that_is_called_like_a_scheduler_changes_nothing() {
    let machine = machine();
    let folder = machine.shell("mktemp -d");
    let at = |script: &str| {
        machine
            .node()
            .shell(&format!("cd {folder} && {script}"))
            .unwrap()
    };
    let said = at("echo '{}' >scx_lab && echo x >scx_none && schedctl run scx_lab");
    assert_eq!(said.status, 0, "{}", said.text());
    assert!(machine.ops().is_some());
    assert_eq!(at("schedctl stop scx_lab").status, 0);
    told(
        &at("schedctl run scx_none"),
        1,
        &["scx_none", "schedctl list"],
    );
    told(&at("schedctl run ./scx_lab"), 1, &["./scx_lab"]);
    machine.shell(&format!("rm -r {folder}"));
}

#[test]
fn arguments_reach_the_scheduler_as_they_were_said() {
    let machine = machine();
    let odd = "1h  2m\n3s";
    for driver in DRIVERS {
        let run = ["-d", driver, "run", "scx_lab", "--no-wait"];
        let args = ["--fault", "slow-attach", "--after", odd];
        machine.must(&[&run[..], &["--"], &args].concat());
        let (_, ps) = machine.json(&["-d", driver, "ps"]);
        schema::check("ps", &ps);
        let container = &ps["containers"][0];
        assert_eq!(container["args"], json!(args), "{ps:#}");
        let pid = container["pid"].as_u64().unwrap();
        let words = machine.shell(&format!("tr '\\0' '|' </proc/{pid}/cmdline"));
        assert!(
            words.ends_with(&format!("|{}|", args.join("|"))),
            "{words:?}"
        );
        machine.must(&["stop", "scx_lab"]);
    }
}

#[test]
fn an_image_without_an_entrypoint_is_refused() {
    let machine = machine();
    machine.push_configured("odd/mute", "1", "amd64", &json!({"Env": ["PATH=/"]}));
    let image = machine.image("odd/mute:1");
    for driver in DRIVERS {
        let said = machine.schedctl(&["-d", driver, "run", &image, "--allow-unsigned"]);
        told(
            &said,
            1,
            &["has no entrypoint", "with the scheduler as its ENTRYPOINT"],
        );
        machine.must_be_clean(driver);
    }
}

#[test]
fn an_image_for_another_processor_is_refused_before_it_is_pulled() {
    let machine = machine();
    machine.push("odd/arm", "1", "arm64", &["/scx_lab"]);
    let image = machine.image("odd/arm:1");
    for driver in DRIVERS {
        let said = machine.schedctl(&["-d", driver, "run", &image, "--allow-unsigned"]);
        told(&said, 1, &["this machine cannot run it", "arm64", "amd64"]);
        assert!(!images(&machine, driver).contains("odd/arm"));
        machine.must_be_clean(driver);
    }
}

#[test]
fn an_image_with_a_user_still_runs_as_root() {
    let machine = machine();
    let config = json!({"Entrypoint": ["/scx_lab"], "User": "65534:65534"});
    machine.push_configured("odd/user", "1", "amd64", &config);
    machine.host().sign_all("odd/user").unwrap();
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
fn an_unsigned_image_runs_only_when_somebody_says_so() {
    let machine = machine();
    machine.push(
        "odd/unsigned",
        "1",
        "amd64",
        &["/scx_lab", "--name", "unsigned"],
    );
    let image = machine.image("odd/unsigned:1");
    for driver in DRIVERS {
        let (code, refused) = machine.json(&["-d", driver, "run", &image]);
        assert_eq!(code, 3, "{refused:#}");
        schema::check("error", &refused);
        assert!(!images(&machine, driver).contains("odd/unsigned"));
        machine.must_be_clean(driver);
        let (code, run) = machine.json(&["-d", driver, "run", &image, "--allow-unsigned"]);
        assert_eq!(code, 0, "{run:#}");
        schema::check("run", &run);
        assert!(
            run["warnings"][0].to_string().contains("runs unverified"),
            "{run:#}"
        );
        assert!(
            run["signer"].is_null() && run["waiver"].is_string(),
            "{run:#}"
        );
        let status = machine.must(&["-d", driver, "status"]);
        assert!(status.contains("Not verified"), "{status}");
        machine.must(&["-d", driver, "stop", "unsigned"]);
    }
}

/// The runtime's store is a small disk of its own for a while.
#[test]
fn a_disk_that_is_full_is_named_and_freed_of_what_was_begun() {
    let machine = machine();
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
        machine.node().stop(daemon).unwrap();
        machine.cover(store, size);
        machine.node().start(daemon).unwrap();
        let said = machine.schedctl(&["-d", driver, "run", "scx_lab"]);
        let sentence = format!("no space is left on {name}'s disk: cannot pull");
        told(&said, 1, &[&sentence, "make room"]);
        machine.must_be_clean(driver);
        assert_eq!(images(&machine, driver), "");
        machine.shell(&format!("mount -o remount,size=200m {store}"));
        machine.must(&["-d", driver, "run", "scx_lab"]);
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        machine.node().stop(daemon).unwrap();
        machine.uncover(store);
        machine.node().start(daemon).unwrap();
    }
}

/// The registry gives another size than the manifest claims.
#[test]
fn an_image_that_claims_to_be_huge_is_not_waited_for() {
    let machine = machine();
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
    for (driver, part) in [
        ("podman", "could not start"),
        ("containerd", "not 5368709120"),
    ] {
        let said = machine.schedctl(&["-d", driver, "run", &image, "--allow-unsigned"]);
        told(&said, 1, &["odd/huge", part]);
        machine.must_be_clean(driver);
    }
    assert!(!images(&machine, "containerd").contains("odd/huge"));
}
