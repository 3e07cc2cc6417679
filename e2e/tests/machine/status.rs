//! `status`: each of its values, made for real, and what it prints when there is none.

use lab::Daemon;
use serde_json::{Value, json};
use testkit::machine::{Machine, machine};

/// Compares the document with its exit code and with what the kernel reports.
#[track_caller]
fn expect(machine: &Machine, driver: &str, status: &str, code: i32) -> Value {
    let document = machine.expect(code, &["-d", driver, "status"]);
    assert_eq!(document["status"], status, "{document:#}");
    let attached = machine.ops();
    assert_eq!(document["kernel"]["enabled"], attached.is_some());
    assert_eq!(document["kernel"]["ops"], json!(attached));
    assert_eq!(document["discrepancy"].is_null(), code == 0, "{document:#}");
    document
}

#[test]
fn idle_and_running() {
    let machine = machine();
    let idle = expect(&machine, "podman", "idle", 0);
    assert!(idle["scheduler"].is_null(), "{idle:#}");
    let run = machine.expect(0, &["run", "scx_lab"]);
    let running = expect(&machine, "podman", "running", 0);
    let scheduler = &running["scheduler"];
    assert_eq!(scheduler["name"], "scx_lab");
    assert_eq!(scheduler["container_id"], run["container_id"]);
    assert_eq!(scheduler["image"], run["image"]);
    let pid = scheduler["pid"].as_u64().unwrap();
    let program = machine.shell(&format!("readlink /proc/{pid}/exe"));
    assert!(program.ends_with("/scx_lab"), "{program}");
    // The other driver sees it as well.
    let running = expect(&machine, "containerd", "running", 0);
    assert_eq!(running["scheduler"]["driver"], "podman");
    // Without the runtime there is no status, but still what the kernel reports.
    machine.stop_daemon(Daemon::Podman);
    let error = machine.expect(1, &["status"]);
    assert_eq!(error.get("status"), None, "{error:#}");
    assert_eq!(error["kernel"]["ops"], "lab_1.1.0", "{error:#}");
    expect(&machine, "containerd", "orphaned-kernel-state", 2);
    machine.start_daemon(Daemon::Podman);
    machine.must(&["stop", "scx_lab"]);
}

/// Ours runs unattached; another one is attached beside it; then that one alone, which schedctl
/// neither replaces nor ends but by force.
#[test]
fn detached_mismatch_and_orphaned() {
    let machine = machine();
    let id = machine.start_without_attaching("containerd");
    let document = expect(&machine, "containerd", "managed-detached", 2);
    assert_eq!(document["scheduler"]["container_id"], id.as_str());
    machine.attach_by_hand("hand");
    expect(&machine, "containerd", "managed-mismatch", 2);
    machine.must(&["-d", "containerd", "stop", &id]);
    let document = expect(&machine, "podman", "orphaned-kernel-state", 2);
    assert_eq!(document["containers"], json!([]));
    for command in ["run", "switch"] {
        machine.expect(5, &[command, "scx_lab"]);
    }
    assert_eq!(machine.ops().as_deref(), Some("hand"));
    assert_eq!(machine.schedctl(&["detach"]).status, 1);
    let detached = machine.expect(0, &["detach", "--force"]);
    assert_eq!(detached["ops"], "hand", "{detached}");
    machine.detach_by_hand();
    let nothing = machine.expect(0, &["detach", "--force"]);
    assert_eq!(nothing["result"], "nothing-attached", "{nothing}");
}

/// schedctl refuses to start a second one as long as it can see the first.
#[test]
fn two_of_ours_are_multiple_managed() {
    let machine = machine();
    let first = machine.start_without_attaching("podman");
    machine.expect(5, &["-d", "containerd", "run", "scx_lab"]);
    machine.stop_daemon(Daemon::Podman);
    let second = machine.start_without_attaching("containerd");
    machine.start_daemon(Daemon::Podman);
    let document = expect(&machine, "podman", "multiple-managed", 2);
    assert_eq!(document["containers"].as_array().unwrap().len(), 2);
    machine.expect(5, &["switch", "scx_lab"]);
    let unclear = machine.schedctl(&["stop", "scx_lab"]);
    assert_eq!(unclear.status, 1, "{}", unclear.text());
    machine.must(&["stop", &second]);
    let document = expect(&machine, "podman", "managed-detached", 2);
    assert_eq!(document["scheduler"]["container_id"], first.as_str());
    machine.must(&["stop", "scx_lab"]);
}
