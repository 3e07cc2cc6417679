//! `status`: each of its six answers, made for real, and what it says when it has none.

use serde_json::Value;

use crate::ground::{Machine, machine};
use crate::schema;
use lab::Daemon;

/// Holds the answer against its exit code, its schema and what a person reads; gives the document.
fn expect(machine: &Machine, driver: &str, status: &str, code: i32) -> Value {
    let (seen, document) = machine.json(&["-d", driver, "status"]);
    assert_eq!(document["status"], status, "{document:#}");
    assert_eq!(seen, code, "{status}");
    assert_eq!(document["driver"], driver);
    schema::check("status", &document);
    let attached = machine.ops();
    assert_eq!(document["kernel"]["supported"], true);
    assert_eq!(document["kernel"]["enabled"], attached.is_some());
    assert_eq!(
        document["kernel"]["ops"],
        attached.map_or(Value::Null, Value::from)
    );
    assert_eq!(document["discrepancy"].is_null(), code == 0, "{document:#}");
    document
}

/// The same for a person: the word, and what to do.
fn text(machine: &Machine, status: &str, code: i32, parts: &[&str]) {
    let said = machine.schedctl(&["status"]);
    assert_eq!(said.status, code, "{}", said.text());
    for part in [&[status], parts].concat() {
        assert!(said.stdout.contains(part), "no {part:?} in {}", said.text());
    }
}

#[test]
fn idle_and_running() {
    let machine = machine();
    let idle = expect(&machine, "podman", "idle", 0);
    assert!(idle["scheduler"].is_null(), "{idle:#}");
    text(&machine, "idle", 0, &[]);
    let (_, run) = machine.json(&["run", "scx_lab"]);
    let running = expect(&machine, "podman", "running", 0);
    let scheduler = &running["scheduler"];
    assert_eq!(scheduler["name"], "scx_lab");
    assert_eq!(scheduler["container_id"], run["container_id"]);
    assert_eq!(scheduler["image"], run["image"]);
    let pid = scheduler["pid"].as_u64().unwrap();
    let program = machine.shell(&format!("readlink /proc/{pid}/exe"));
    assert!(program.ends_with("/scx_lab"), "{program}");
    assert!(scheduler["image_id"].is_string() && scheduler["started_at"].is_string());
    text(&machine, "running", 0, &["scx_lab", "Signed by"]);
    // Whoever looks through the other runtime sees it as well.
    let running = expect(&machine, "containerd", "running", 0);
    assert_eq!(running["scheduler"]["driver"], "podman");
}

#[test]
fn one_that_somebody_else_attached_is_orphaned() {
    let machine = machine();
    machine.by_hand("hand");
    let document = expect(&machine, "podman", "orphaned-kernel-state", 2);
    assert_eq!(document["kernel"]["ops"], "hand");
    assert_eq!(document["containers"], Value::Array(Vec::new()));
    text(
        &machine,
        "orphaned-kernel-state",
        2,
        &["hand", "schedctl detach --force"],
    );
}

/// Ours runs and the kernel has none; then another one is attached in its place.
#[test]
fn one_that_is_not_attached_is_detached_or_does_not_match() {
    let machine = machine();
    for driver in ["podman", "containerd"] {
        let id = machine.slow(driver);
        let document = expect(&machine, driver, "managed-detached", 2);
        assert_eq!(document["scheduler"]["container_id"], id);
        let end = format!("schedctl stop {} -d {driver}", short(&id));
        text(&machine, "managed-detached", 2, &[&end, "schedctl logs"]);
        machine.by_hand("hand");
        let document = expect(&machine, driver, "managed-mismatch", 2);
        assert_eq!(document["scheduler"]["container_id"], id);
        text(
            &machine,
            "managed-mismatch",
            2,
            &["hand", "holds no scheduler", &end],
        );
        machine.must(&["stop", short(&id), "-d", driver]);
        machine.end_by_hand();
        expect(&machine, driver, "idle", 0);
    }
}

/// schedctl itself refuses to start a second one as long as it can see the first.
#[test]
fn two_of_ours_are_one_too_many_until_one_is_stopped() {
    let machine = machine();
    let first = machine.slow("podman");
    let refused = machine.schedctl(&["-d", "containerd", "run", "scx_lab"]);
    assert_eq!(refused.status, 5, "{}", refused.text());
    assert!(
        refused.stderr.contains("scx_lab runs through Podman"),
        "{}",
        refused.stderr
    );
    machine.node().stop(Daemon::Podman).unwrap();
    let second = machine.slow("containerd");
    machine.node().start(Daemon::Podman).unwrap();
    let document = expect(&machine, "podman", "multiple-managed", 2);
    assert_eq!(document["containers"].as_array().unwrap().len(), 2);
    let (one, two) = (short(&first), short(&second));
    text(
        &machine,
        "multiple-managed",
        2,
        &[one, two, "schedctl stop ID"],
    );
    let refused = machine.schedctl(&["switch", "scx_lab"]);
    assert_eq!(refused.status, 5, "{}", refused.text());
    assert!(
        refused.stderr.contains("schedctl stop"),
        "{}",
        refused.stderr
    );
    let unclear = machine.schedctl(&["stop", "scx_lab"]);
    assert_eq!(unclear.status, 1, "{}", unclear.text());
    assert!(
        unclear.stderr.contains(one) && unclear.stderr.contains(two),
        "{}",
        unclear.stderr
    );
    machine.must(&["stop", two]);
    let document = expect(&machine, "podman", "managed-detached", 2);
    assert_eq!(document["scheduler"]["container_id"], first);
}

#[test]
fn without_the_runtime_the_kernel_is_still_told() {
    let machine = machine();
    machine.must(&["run", "scx_lab"]);
    machine.node().stop(Daemon::Podman).unwrap();
    let (code, document) = machine.json(&["status"]);
    assert_eq!(code, 1, "{document:#}");
    schema::check("error", &document);
    assert_eq!(document.get("status"), None, "{document:#}");
    assert!(
        document["kernel"]["ops"].to_string().contains("lab"),
        "{document:#}"
    );
    let said = machine.schedctl(&["status"]);
    assert_eq!(said.status, 1);
    assert!(said.stdout.contains("lab"), "{}", said.text());
    for part in [
        "Podman cannot be reached at /run/podman/podman.sock",
        "--driver containerd",
    ] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    // The other one sees a scheduler that it did not start.
    let (code, document) = machine.json(&["-d", "containerd", "status"]);
    assert_eq!(
        (code, &document["status"]),
        (2, &"orphaned-kernel-state".into())
    );
    machine.node().start(Daemon::Podman).unwrap();
    expect(&machine, "podman", "running", 0);
}

/// Podman's ids are long and mean nothing; containerd's are names.
fn short(id: &str) -> &str {
    match id.starts_with("schedkit-") {
        true => id,
        false => &id[..12],
    }
}
