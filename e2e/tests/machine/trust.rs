//! `verify`, `pull` and `--allow-unsigned`: the machine trusts the lab's key and nobody else.

use serde_json::{Value, json};
use testkit::machine::{DRIVERS, machine};

#[test]
fn what_nobody_signed_is_refused_until_it_is_signed_or_waived() {
    let machine = machine();
    let signed = machine.expect(0, &["verify", "scx_lab"]);
    assert_eq!(signed["verdict"], "accepted", "{signed}");
    let command = ["/scx_lab", "--name", "unsigned"];
    machine.push("nobody/unsigned", "1", &command);
    let image = machine.image("nobody/unsigned:1");
    let refused = machine.expect(3, &["verify", &image]);
    assert_eq!(refused["verdict"], "refused", "{refused}");
    for command in ["pull", "run", "switch"] {
        machine.expect(3, &[command, &image]);
    }
    let images = "podman images --all; ctr --namespace schedkit images list --quiet";
    assert!(!machine.shell(images).contains("nobody/unsigned"));
    machine.must_be_idle("podman");

    let run = machine.expect(0, &["run", &image, "--allow-unsigned"]);
    assert!(
        run["signer"].is_null() && run["waiver"].is_string(),
        "{run}"
    );
    assert_eq!(run["warnings"].as_array().map(Vec::len), Some(1), "{run}");
    machine.must(&["stop", "unsigned"]);

    machine.sign("nobody/unsigned");
    machine.expect(0, &["verify", &image]);
    for (driver, result) in DRIVERS.into_iter().zip(["cached", "pulled"]) {
        let pull = machine.expect(0, &["-d", driver, "pull", &image]);
        assert_eq!(pull["result"], result, "{driver}: {pull}");
    }
    let run = machine.expect(0, &["-d", "containerd", "run", &image]);
    assert_eq!(run["pulled"], false, "{run}");
    assert!(
        run["signer"].is_string() || run["signer"].is_object(),
        "{run}"
    );
    machine.must(&["-d", "containerd", "stop", "unsigned"]);
}

/// Podman gives a container the labels of its image.
#[test]
fn an_image_that_says_it_is_signed_shows_as_unverified() {
    let machine = machine();
    let labels = json!({
        "provider": "schedkit",
        "io.schedkit.signer": "somebody trusted",
        "io.schedkit.policy": "0".repeat(64),
    });
    let config = json!({
        "Entrypoint": ["/scx_lab", "--name", "pretender"], "Labels": labels,
    });
    machine.push_configured("nobody/pretender", "1", "amd64", &config);
    let image = machine.image("nobody/pretender:1");
    for driver in DRIVERS {
        let run = ["-d", driver, "run", &image];
        machine.expect(0, &[&run[..], &["--allow-unsigned"]].concat());
        let status = machine.expect(0, &["-d", driver, "status"]);
        let scheduler = &status["scheduler"];
        assert_eq!(scheduler["signer"], Value::Null, "{scheduler:#}");
        assert_eq!(scheduler["waiver"], "--allow-unsigned", "{scheduler:#}");
        assert_eq!(scheduler["created_by_schedctl"], true, "{scheduler:#}");
        // It is what was asked for only if that is allowed again.
        machine.expect(3, &run);
        let again = machine.expect(0, &[&run[..], &["--allow-unsigned"]].concat());
        assert_eq!(again["result"], "already-running", "{again}");
        machine.must(&["-d", driver, "stop", "pretender"]);
    }
    // The same image without schedctl is nobody's business.
    machine.shell(&format!("podman create --name by-hand {image}"));
    machine.must_be_idle("podman");
    machine.shell("podman rm by-hand");
}

/// What another policy accepted is verified again.
#[test]
fn what_runs_has_to_satisfy_the_policy_that_is_asked_for() {
    let machine = machine();
    machine.must(&["run", "scx_lab"]);
    let nobody = "identities: [{issuer: https://nobody.example, subject: nobody}]";
    machine.shell(&format!("echo '{nobody}' > /tmp/nobody.yaml"));
    let run = ["run", "scx_lab", "--trust-policy", "/tmp/nobody.yaml"];
    machine.expect(3, &run);
    machine.expect(0, &["run", "scx_lab"]);
    machine.must(&["stop", "scx_lab"]);
    machine.shell("rm /tmp/nobody.yaml");
}
