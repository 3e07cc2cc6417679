//! `run`, `ps`, `logs` and `stop`, through both runtimes.

use lab::Daemon;
use testkit::machine::{DRIVERS, machine};

#[test]
fn run_returns_when_the_kernel_has_it_and_stop_when_the_kernel_let_go() {
    let machine = machine();
    for driver in DRIVERS {
        let run = machine.expect(0, &["-d", driver, "run", "scx_lab"]);
        assert_eq!(run["result"], "attached", "{run}");
        assert_eq!(run["ops"], machine.ops().unwrap().as_str());
        let again = machine.expect(0, &["-d", driver, "run", "scx_lab"]);
        assert_eq!(again["result"], "already-running", "{again}");
        let other = ["-d", driver, "run", "scx_lab", "--version", "1.0.0"];
        let refused = machine.expect(5, &other).to_string();
        assert!(refused.contains("schedctl switch"), "{refused}");
        let ps = machine.expect(0, &["-d", driver, "ps"]);
        assert_eq!(ps["containers"][0]["container_id"], run["container_id"]);
        let logs = machine.must(&["-d", driver, "logs"]);
        assert!(logs.contains("lab: attached as"), "{logs}");
        let timed = ["logs", "--timestamps", "--since", "1h", "--tail", "3"];
        let timed = machine.must(&[&["-d", driver], &timed[..]].concat());
        assert!(timed.lines().count() > 0, "{driver}");
        for line in timed.lines() {
            let time = line.split(' ').next().unwrap_or_default();
            let is_time = time.parse::<jiff::Timestamp>().is_ok();
            assert!(is_time, "{driver}: {timed}");
        }
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        assert_eq!((machine.ops(), machine.containers()), (None, 0));
        let gone = machine.expect(0, &["-d", driver, "stop", "scx_lab"]);
        assert_eq!(gone["result"], "not-there", "{gone}");
    }
}

/// Before the attach and after it; `long_machine` has every fault.
#[test]
fn what_fails_is_reported_with_its_reason_and_removed() {
    let machine = machine();
    for (driver, fault, reason) in [
        ("podman", "verifier", "LoadFailedVerifier"),
        ("containerd", "scx-error", "BpfError"),
    ] {
        let run = ["-d", driver, "run", "scx_lab", "--probation", "2m"];
        let document = machine.expect(4, &[&run[..], &["--", "--fault", fault]].concat());
        let error = &document["error"];
        assert_eq!(error["reason"], reason, "{error:#}");
        assert!(!error["last_lines"].to_string().is_empty());
        assert!(error["remedy"].is_string(), "{error:#}");
        machine.must_be_idle(driver);
    }
}

/// SIGTERM first, SIGKILL after the grace period.
#[test]
fn stop_kills_what_ignores_sigterm() {
    let machine = machine();
    let deaf = ["run", "scx_lab", "--", "--fault", "ignore-sigterm"];
    machine.must(&deaf);
    machine.expect(0, &["stop", "scx_lab", "--grace", "1s"]);
    assert_eq!((machine.ops(), machine.containers()), (None, 0));
}

/// By default the driver is Podman; what runs in containerd is found by itself.
#[test]
fn stop_needs_only_the_runtime_that_has_the_scheduler() {
    let machine = machine();
    machine.must(&["-d", "containerd", "run", "scx_lab"]);
    machine.stop_daemon(Daemon::Podman);
    let down = machine.schedctl(&["stop"]);
    machine.start_daemon(Daemon::Podman);
    assert_eq!(down.status, 0, "{}", down.text());
    machine.must_be_idle("containerd");
    machine.must(&["run", "scx_lab"]);
    machine.shell("pkill -STOP -x containerd");
    let hangs = machine.schedctl(&["stop", "scx_lab"]);
    machine.shell("pkill -CONT -x containerd");
    assert_eq!(hangs.status, 0, "{}", hangs.text());
    let warning = "containerd did not list its containers within";
    assert!(hangs.stderr.contains(warning), "{}", hangs.stderr);
    machine.must_be_idle("podman");
}

/// Some schedulers (scx_lavd) panic without; `doctor` tells where the machine has them.
#[test]
fn a_container_sees_the_tracefs_and_debugfs_of_the_machine() {
    let machine = machine();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_lab"]);
        let mounts = machine.shell("cat /proc/$(pgrep -x scx_lab)/mounts");
        for mount in ["/sys/kernel/tracing tracefs ", "/sys/kernel/debug debugfs "] {
            assert!(mounts.contains(mount), "{driver}: no {mount} in {mounts}");
        }
        machine.must(&["-d", driver, "stop", "scx_lab"]);
    }
    let doctor = machine.must(&["doctor"]);
    assert!(
        doctor.contains("tracefs at /sys/kernel/tracing"),
        "{doctor}"
    );
}
