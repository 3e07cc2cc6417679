//! `--trial` and `confirm`. What becomes of a trial when schedctl or its guard is killed at every
//! moment is in `long_machine`.

use testkit::machine::{Machine, machine};

fn try_another(machine: &Machine, driver: &str, trial: &str) {
    machine.must(&["-d", driver, "run", "scx_lab"]);
    let switch = ["-d", driver, "switch", "scx_lab", "--version", "1.0.0"];
    let trial = ["--probation", "0s", "--trial", trial];
    machine.must(&[&switch[..], &trial].concat());
    assert_eq!(machine.ops().as_deref(), Some("lab_1.0.0"));
}

fn the_first_is_back(machine: &Machine, driver: &str) {
    machine.await_ops("lab_1.1.0");
    machine.await_no_trial();
    assert_eq!(machine.status(driver), (0, "running".to_owned()));
    assert_eq!(machine.containers(), 1, "{}", machine.status_text());
    machine.must(&["-d", driver, "stop", "scx_lab"]);
}

#[test]
fn what_nobody_confirms_ends_and_what_ran_before_starts_again() {
    let machine = machine();
    try_another(&machine, "podman", "8s");
    assert!(machine.status_text().contains("trial"));
    the_first_is_back(&machine, "podman");
}

#[test]
fn what_is_confirmed_stays() {
    let machine = machine();
    try_another(&machine, "containerd", "1h");
    assert_eq!(machine.containers(), 2);
    let seq = machine.enable_seq();
    machine.must(&["-d", "containerd", "confirm"]);
    machine.await_no_trial();
    assert_eq!((machine.enable_seq(), machine.containers()), (seq, 1));
    assert_eq!(machine.status("containerd"), (0, "running".to_owned()));
    assert_eq!(machine.schedctl(&["-d", "containerd", "confirm"]).status, 1);
    machine.must(&["-d", "containerd", "stop", "scx_lab"]);
}

/// schedctl is killed while it starts the candidate; later also the guard.
#[test]
fn a_trial_goes_back_when_schedctl_is_killed_and_when_its_guard_is() {
    let machine = machine();
    machine.must(&["run", "scx_lab"]);
    let switch = ["switch", "scx_lab", "--version", "1.0.0", "--trial", "1h"];
    machine.signal_at("KILL", "swap", "0", &switch);
    machine.await_ops("lab_1.1.0");
    machine.await_no_trial();
    machine.must(&[&switch[..], &["--probation", "0s"]].concat());
    for guard in machine.guards() {
        machine.shell(&format!("kill -KILL {guard}"));
    }
    machine.until("no guard is left", || machine.guards().is_empty());
    let next = machine.expect(0, &["run", "scx_lab"]);
    assert_eq!(next["result"], "already-running", "{next}");
    the_first_is_back(&machine, "podman");
}
