//! The guard of a trial where systemd is the first process: a unit of its own, which the end of the
//! caller's session or service does not reach.

use lab::Daemon;
use testkit::machine::DRIVERS;

use super::boot_machine::{BootMachine, boot_machine};

const SESSION: &str = "session.service";
/// Long enough for what the tests do before it is over.
const TRIAL: &str = "45s";
const GUARDS: &str = "schedctl-guard-*";

/// Runs schedctl as a command of a session is run, in a control group that it shares with the
/// session's other processes. Returns when the trial has begun.
fn try_in_session(machine: &BootMachine, args: &str) {
    machine.shell(&format!(
        "systemd-run --quiet --collect --unit={SESSION} \
         sh -c 'schedctl {args} --probation 0s --trial {TRIAL}; sleep 1h'"
    ));
    machine.until("the trial has begun", || {
        let trial = machine.ask("cat /run/schedctl/trial.json");
        trial.is_some_and(|trial| trial.contains("begun"))
    });
}

/// Kills every process of the session at once, as a session's end can.
fn kill_session(machine: &BootMachine) {
    machine.shell(&format!(
        "echo 1 >/sys/fs/cgroup/system.slice/{SESSION}/cgroup.kill"
    ));
    machine.until("the session is over", || {
        machine
            .ask(&format!("systemctl is-active {SESSION}"))
            .is_none()
    });
}

/// The last trial's guard has said so in the journal, and its unit is gone.
fn must_have_ended(machine: &BootMachine, how: &str) {
    let journal = journal(machine);
    let last = journal.lines().rfind(|line| line.contains("has ended"));
    assert!(last.is_some_and(|line| line.contains(how)), "{journal}");
    machine.until("the guard's unit is gone", || {
        let units = format!("systemctl list-units --all --plain --no-legend '{GUARDS}'");
        machine.shell(&units).is_empty()
    });
}

fn journal(machine: &BootMachine) -> String {
    machine.shell(&format!(
        "journalctl --unit '{GUARDS}' --output cat --no-pager"
    ))
}

#[test]
fn a_trial_whose_session_was_killed_is_taken_back() {
    let machine = boot_machine();
    for driver in DRIVERS {
        try_in_session(&machine, &format!("-d {driver} run scx_lab"));
        kill_session(&machine);
        let status = machine.expect(0, &["-d", driver, "status"]);
        let warnings = status["warnings"].to_string();
        assert!(warnings.contains("scx_lab is on trial until"), "{status:#}");
        assert!(!warnings.contains("guard process is gone"), "{status:#}");
        machine.await_default();
        machine.await_no_trial();
        assert_eq!(machine.containers(), 0, "{}", machine.explain());
        machine.must_be_idle(driver);
        must_have_ended(&machine, "it was stopped; no scheduler ran before it");

        // The guard may be killed, too: systemd starts it again.
        machine.must(&["-d", driver, "run", "scx_lab"]);
        try_in_session(
            &machine,
            &format!("-d {driver} switch scx_lab --version 1.0.0"),
        );
        kill_session(&machine);
        for guard in machine.guards() {
            machine.shell(&format!("kill -KILL {guard}"));
        }
        machine.await_ops("lab_1.1.0");
        machine.await_no_trial();
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        must_have_ended(&machine, "lab_1.1.0 is attached again");
        machine.must(&["-d", driver, "stop", "scx_lab"]);
    }
}

#[test]
fn a_guard_whose_runtime_is_away_says_so_and_tries_again() {
    let machine = boot_machine();
    for (driver, daemon) in DRIVERS
        .into_iter()
        .zip([Daemon::Podman, Daemon::Containerd])
    {
        try_in_session(&machine, &format!("-d {driver} run scx_lab"));
        kill_session(&machine);
        machine.stop_daemon(daemon);
        machine.until("status says that going back has failed", || {
            let (code, status) = machine.json(&["-d", driver, "status"]);
            assert_eq!(code, 1, "{status:#}");
            let warnings = status["warnings"].to_string();
            warnings.contains("going back has failed")
                && warnings.contains("its guard process tries again")
        });
        let said = journal(&machine);
        assert!(said.contains("could not be ended (attempt 1)"), "{said}");
        machine.start_daemon(daemon);
        machine.await_default();
        machine.await_no_trial();
        assert_eq!(machine.containers(), 0, "{}", machine.explain());
        machine.must_be_idle(driver);
        must_have_ended(&machine, "it was stopped; no scheduler ran before it");
    }
}
