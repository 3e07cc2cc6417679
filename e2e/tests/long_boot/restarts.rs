//! What systemd starts again, and what it leaves alone.

use testkit::machine::DRIVERS;

use super::boot_machine::{BootMachine, UNIT, UnitState, boot_machine};

fn start(machine: &BootMachine) {
    // The unit may fail at once, which is for the caller to see.
    machine
        .node()
        .shell(&format!("systemctl start {UNIT}"))
        .unwrap();
}

/// systemd starts it neither now nor later.
fn is_over(unit: &UnitState) -> bool {
    // Before a restart the other values are `auto-restart` and the like.
    ["dead", "failed"].contains(&unit.sub.as_str())
}

/// It ends for good, and `status` says why.
#[track_caller]
fn must_stay_down(machine: &BootMachine, exit_code: &str) {
    let unit = machine.await_unit("the unit ends for good", is_over);
    assert_eq!(unit.active, "failed", "{}", machine.explain());
    assert_eq!(unit.exit_code, exit_code, "{}", machine.explain());
    assert_eq!(unit.restarts, "0", "{}", machine.explain());
    let reason = machine.reason();
    assert!(
        reason.starts_with("status: ") && reason.contains("enabled at boot, and its unit failed"),
        "{reason}"
    );
}

#[test]
fn an_ejected_scheduler_is_started_again_and_a_stopped_one_is_not() {
    let machine = boot_machine();
    // scx_lab exits with 0 after the first and with 1 after the second.
    for (driver, fault) in DRIVERS.into_iter().zip(["bpf-exit", "scx-error"]) {
        machine.use_driver(driver);
        let faulty = ["--fault", fault, "--after", "30s"];
        machine.expect(0, &[&["enable", "scx_lab", "--"][..], &faulty].concat());
        start(&machine);
        machine.await_ops("lab");
        machine.await_unit("the unit is active", |unit| unit.active == "active");
        let attached = machine.enable_seq();
        machine.until("it is attached again", || {
            machine.enable_seq() > attached && machine.ops().is_some()
        });
        let unit = machine.await_unit("the unit is active", |unit| unit.active == "active");
        assert_ne!(unit.restarts, "0", "{driver}: {}", machine.explain());
        let attached = machine.enable_seq();
        machine.must(&["stop", "scx_lab"]);
        let unit = machine.await_unit("the unit ends for good", is_over);
        assert_eq!(unit.active, "inactive", "{driver}: {}", machine.explain());
        assert_eq!(machine.enable_seq(), attached, "{driver}");
        assert_eq!(machine.containers(), 0, "{driver}: {}", machine.explain());
        machine.must(&["disable"]);
    }
}

#[test]
fn what_the_policy_refuses_is_not_tried_again() {
    let machine = boot_machine();
    machine.enable();
    machine.shell(
        "cp /etc/schedctl/keys/lab.pem /etc/schedctl/lab.pem
         openssl ecparam -name prime256v1 -genkey -noout | openssl ec -pubout -out /etc/schedctl/keys/lab.pem",
    );
    start(&machine);
    must_stay_down(&machine, "3");
    machine.shell("mv /etc/schedctl/lab.pem /etc/schedctl/keys/lab.pem");
}

#[test]
fn nothing_waits_for_another_scheduler_to_end() {
    let machine = boot_machine();
    machine.enable();
    machine.shell("mkdir -p /run/scx");
    machine.attach_by_hand("theirs");
    start(&machine);
    must_stay_down(&machine, "5");
    assert_eq!(machine.ops().as_deref(), Some("theirs"));
    machine.detach_by_hand();
}
