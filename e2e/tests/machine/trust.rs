//! `verify`, `pull` and `--allow-unsigned`: the machine trusts the lab's key and nobody else.

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
