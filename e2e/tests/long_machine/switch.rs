//! `switch` beyond the good case, through both drivers and with scx_bpfland: a new scheduler that
//! fails, an old one that ignores SIGTERM, and Ctrl-C at different moments.

use testkit::machine::{DRIVERS, machine_with_bpfland};
use testkit::wait::NODE_TIMEOUT;

#[test]
fn a_switch_goes_over_and_back_when_the_new_one_stalls() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_lab"]);
        let switched = machine.expect(0, &["-d", driver, "switch", "scx_bpfland"]);
        assert_eq!(switched["replaced"], "scx_lab");
        assert!(switched["gap_ms"].is_u64(), "{switched}");
        assert!(machine.ops().unwrap().starts_with("bpfland"));
        let switch = ["-d", driver, "switch", "scx_lab", "--probation", "60s"];
        let stall = ["--", "--fault", "stall", "--timeout", "2s"];
        let document = machine.expect(4, &[&switch[..], &stall].concat());
        assert_eq!(document["error"]["reason"], "Stall", "{document}");
        assert!(machine.ops().unwrap().starts_with("bpfland"));
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
    }
}

#[test]
fn the_old_one_is_back_in_its_own_container_when_the_new_one_fails() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let (_, old) = machine.json(&["-d", driver, "run", "scx_bpfland"]);
        for fault in ["verifier", "exit"] {
            let args = ["-d", driver, "switch", "scx_lab", "--", "--fault", fault];
            let output = machine.schedctl(&args);
            assert_eq!(output.status, 4, "{fault}: {}", output.text());
            let (code, now) = machine.json(&["-d", driver, "status"]);
            assert_eq!((code, &now["status"]), (0, &"running".into()), "{now}");
            let id = &now["scheduler"]["container_id"];
            assert_eq!(id, &old["container_id"], "{fault}");
            assert_eq!(machine.containers(), 1, "{fault}");
        }
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
    }
}

#[test]
fn run_attach_follows_its_scheduler_again_after_a_switch_that_failed() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let run = ["schedctl", "-d", driver, "run", "scx_bpfland", "--attach"];
        let attached = machine.node().background(&run).unwrap();
        machine.until("it is attached", || {
            machine.ops().is_some_and(|ops| ops.starts_with("bpfland"))
        });
        let switch = ["-d", driver, "switch", "scx_lab", "--", "--fault", "exit"];
        machine.expect(4, &switch);
        assert!(machine.ops().unwrap().starts_with("bpfland"));
        // Two signals: the scheduler ends, and nothing is left. It may have ended before the second.
        attached.kill("INT").unwrap();
        let _ = attached.kill("INT");
        attached.wait(NODE_TIMEOUT).unwrap();
        machine.must_be_idle(driver);
    }
}

#[test]
fn an_old_one_that_ignores_sigterm_is_killed_after_its_grace_period() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let deaf = ["--", "--fault", "ignore-sigterm"];
        machine.must(&[&["-d", driver, "run", "scx_lab"], &deaf[..]].concat());
        machine.must(&["-d", driver, "switch", "scx_lab", "--probation", "0s"]);
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        assert_eq!(machine.containers(), 1);
        machine.must(&["-d", driver, "stop", "scx_lab"]);
    }
}

#[test]
fn sigterm_before_the_old_one_ends_changes_nothing() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_bpfland"]);
        let before = machine.enable_seq();
        let switch = ["-d", driver, "switch", "scx_lab"];
        machine.signal_at("TERM", "ready", "0", &switch);
        assert!(machine.ops().unwrap().starts_with("bpfland"));
        assert_eq!(machine.enable_seq(), before, "it was never gone");
        assert_eq!(machine.containers(), 1, "{}", machine.status_text());
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
        machine.await_no_runtime_process();
    }
}

#[test]
fn ctrl_c_in_the_middle_goes_back() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_bpfland"]);
        let slow = ["--", "--fault", "slow-attach", "--after", "1h"];
        let args = ["schedctl", "-d", driver, "switch", "scx_lab"];
        let job = machine.node().background(&[&args[..], &slow[..]].concat());
        let job = job.unwrap();
        machine.await_default();
        job.kill("INT").unwrap();
        let output = job.wait(NODE_TIMEOUT).unwrap();
        assert_ne!(output.status, 0, "{}", output.text());
        assert!(
            machine.ops().unwrap().starts_with("bpfland"),
            "{}",
            output.stderr
        );
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        assert_eq!(machine.containers(), 1);
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
    }
}
