//! `switch` beyond the good case: nothing to replace, nothing to do, an old one that will not go,
//! a new one that will not come, and somebody who presses Ctrl-C.

use crate::ground::{DRIVERS, PATIENCE, drivers_or, machine};

#[test]
fn it_starts_where_nothing_runs_and_does_nothing_where_it_runs_already() {
    let machine = machine();
    for driver in drivers_or("containerd") {
        let switch = ["-d", driver, "switch", "scx_lab", "--probation", "0s"];
        let (code, said) = machine.json(&switch);
        assert_eq!((code, &said["result"]), (0, &"attached".into()), "{said}");
        assert!(
            said["replaced"].is_null() && said["gap_ms"].is_null(),
            "{said}"
        );
        let seq = machine.enable_seq();
        let (code, said) = machine.json(&switch);
        let already = "already-running".into();
        assert_eq!((code, &said["result"]), (0, &already), "{said}");
        assert_eq!(machine.enable_seq(), seq);
        let other = [&switch[..], &["--version", "1.0.0"]].concat();
        let said = machine.must(&other);
        assert!(
            said.contains("the kernel's own scheduler ran for "),
            "{said}"
        );
        assert_eq!(machine.ops().as_deref(), Some("lab_1.0.0"));
        assert_eq!((machine.enable_seq(), machine.containers()), (seq + 1, 1));
        machine.must(&["-d", driver, "stop", "scx_lab"]);
    }
}

#[test]
fn the_old_one_is_back_in_its_own_container_when_the_new_one_fails() {
    let machine = machine();
    for driver in DRIVERS {
        let (_, old) = machine.json(&["-d", driver, "run", "scx_bpfland"]);
        for fault in ["verifier", "exit"] {
            let words = ["-d", driver, "switch", "scx_lab", "--", "--fault", fault];
            let said = machine.schedctl(&words);
            assert_eq!(said.status, 4, "{fault}: {}", said.text());
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
fn an_old_one_that_does_not_listen_is_killed_after_its_grace() {
    let machine = machine();
    for driver in drivers_or("podman") {
        let deaf = ["--", "--fault", "ignore-sigterm"];
        machine.must(&[&["-d", driver, "run", "scx_lab"], &deaf[..]].concat());
        machine.must(&["-d", driver, "switch", "scx_lab", "--probation", "0s"]);
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        assert_eq!(machine.containers(), 1);
        machine.must(&["-d", driver, "stop", "scx_lab"]);
    }
}

#[test]
fn a_change_of_mind_before_the_old_one_ends_disturbs_nothing() {
    let machine = machine();
    for driver in drivers_or("podman") {
        machine.must(&["-d", driver, "run", "scx_bpfland"]);
        let before = machine.enable_seq();
        let switch = ["-d", driver, "switch", "scx_lab"];
        machine.signalled_at("TERM", "ready", "0", &switch);
        assert!(machine.ops().unwrap().starts_with("bpfland"));
        assert_eq!(machine.enable_seq(), before, "it was never gone");
        assert_eq!(machine.containers(), 1, "{}", machine.told());
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
        machine.await_nobody_waiting();
    }
}

#[test]
fn ctrl_c_in_the_middle_goes_back() {
    let machine = machine();
    for driver in drivers_or("containerd") {
        machine.must(&["-d", driver, "run", "scx_bpfland"]);
        let slow = ["--", "--fault", "slow-attach", "--after", "1h"];
        let words = ["schedctl", "-d", driver, "switch", "scx_lab"];
        let job = machine.node().background(&[&words[..], &slow[..]].concat());
        let job = job.unwrap();
        machine.await_default();
        job.kill("INT").unwrap();
        let said = job.wait(PATIENCE).unwrap();
        assert_ne!(said.status, 0, "{}", said.text());
        assert!(
            machine.ops().unwrap().starts_with("bpfland"),
            "{}",
            said.stderr
        );
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        assert_eq!(machine.containers(), 1);
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
    }
}
