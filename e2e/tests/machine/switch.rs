//! `switch`: over, and back when the new one fails. Another version of scx_lab is the other
//! scheduler; `long_machine` switches to scx_bpfland.

use testkit::machine::machine;

#[test]
fn switch_starts_replaces_and_does_nothing_when_it_runs_already() {
    let machine = machine();
    let switch = ["-d", "containerd", "switch", "scx_lab", "--probation", "0s"];
    let first = machine.expect(0, &switch);
    assert_eq!(first["result"], "attached", "{first}");
    assert!(first["replaced"].is_null() && first["gap_ms"].is_null());
    let seq = machine.enable_seq();
    let same = machine.expect(0, &switch);
    assert_eq!(same["result"], "already-running", "{same}");
    assert_eq!(machine.enable_seq(), seq);
    let other = machine.expect(0, &[&switch[..], &["--version", "1.0.0"]].concat());
    assert_eq!(other["replaced"], "scx_lab", "{other}");
    assert!(other["gap_ms"].is_u64(), "{other}");
    assert_eq!(machine.ops().as_deref(), Some("lab_1.0.0"));
    assert_eq!((machine.enable_seq(), machine.containers()), (seq + 1, 1));
    machine.must(&["-d", "containerd", "stop", "scx_lab"]);
}

/// The new one is refused by the kernel, and then one is thrown out during its probation.
#[test]
fn the_old_one_starts_again_in_its_own_container_when_the_new_one_fails() {
    let machine = machine();
    let old = machine.expect(0, &["run", "scx_lab", "--version", "1.0.0"]);
    for (fault, reason) in [
        (&["verifier"][..], "LoadFailedVerifier"),
        (&["stall", "--timeout", "2s"], "Stall"),
    ] {
        let switch = ["switch", "scx_lab", "--probation", "60s", "--", "--fault"];
        let document = machine.expect(4, &[&switch[..], fault].concat());
        assert_eq!(document["error"]["reason"], reason, "{document:#}");
        let now = machine.expect(0, &["status"]);
        assert_eq!(now["status"], "running", "{now:#}");
        assert_eq!(now["scheduler"]["container_id"], old["container_id"]);
        assert_eq!(machine.ops().as_deref(), Some("lab_1.0.0"));
        assert_eq!(machine.containers(), 1, "{reason}");
    }
    machine.must(&["stop", "scx_lab"]);
}
