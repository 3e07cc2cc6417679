//! What a person reads where our containers and the kernel differ, through both drivers.

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};

/// The status of the document and of the text, and these parts of the text.
#[track_caller]
fn expect(machine: &Machine, driver: &str, status: &str, parts: &[&str]) {
    let document = machine.expect(2, &["-d", driver, "status"]);
    assert_eq!(document["status"], status, "{document:#}");
    let output = machine.schedctl(&["-d", driver, "status"]);
    assert_eq!(output.status, 2, "{}", output.text());
    for part in [&[status], parts].concat() {
        assert!(
            output.stdout.contains(part),
            "no {part:?} in {}",
            output.text()
        );
    }
}

#[test]
fn the_text_names_the_scheduler_and_the_command_that_helps() {
    let machine = machine_with_bpfland();
    machine.attach_by_hand("hand");
    let parts = ["hand", "schedctl detach --force"];
    expect(&machine, "podman", "orphaned-kernel-state", &parts);
    machine.detach_by_hand();
    for driver in DRIVERS {
        let id = machine.start_without_attaching(driver);
        let stop = format!("schedctl stop {} -d {driver}", short(&id));
        expect(
            &machine,
            driver,
            "managed-detached",
            &[&stop, "schedctl logs"],
        );
        machine.attach_by_hand("hand");
        expect(&machine, driver, "managed-mismatch", &["hand", &stop]);
        machine.must(&["stop", short(&id), "-d", driver]);
        machine.detach_by_hand();
        machine.must_be_idle(driver);
    }
}

/// Podman's IDs are long and mean nothing; containerd's are names.
fn short(id: &str) -> &str {
    match id.starts_with("schedkit-") {
        true => id,
        false => &id[..12],
    }
}

/// A forced detach ends the scheduler's process as well; its container stays until the next run.
#[test]
fn a_forced_detach_leaves_a_container_that_the_next_run_replaces() {
    let machine = machine_with_bpfland();
    machine.must(&["run", "scx_lab"]);
    let detached = machine.expect(0, &["detach", "--force"]);
    assert_eq!(detached["ops"], "lab_1.1.0", "{detached}");
    machine.await_default();
    machine.until("its process has ended", || {
        machine.status("podman") == (0, "idle".to_owned())
    });
    let logs = machine.schedctl(&["logs", "scx_lab"]).text();
    assert!(logs.contains("disabled by sysrq-S"), "{logs}");
    let status = machine.expect(0, &["status"]);
    assert!(status["warnings"][0].is_string(), "{status:#}");
    machine.must(&["run", "scx_lab"]);
    assert_eq!(machine.containers(), 1);
    machine.must(&["stop", "scx_lab"]);
}
