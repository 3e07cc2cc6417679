//! `--trial`: what nobody confirms goes by itself and what ran before comes back, whatever becomes
//! of schedctl, of the terminal and of the one who stands by.

use crate::ground::{DRIVERS, Machine, PATIENCE, drivers_or, machine};

const BPFLAND: [&str; 5] = ["switch", "scx_bpfland", "--probation", "0s", "--trial"];

fn try_bpfland(machine: &Machine, driver: &str, trial: &str) {
    machine.must(&["-d", driver, "run", "scx_lab"]);
    machine.must(&[&["-d", driver], &BPFLAND[..], &[trial]].concat());
    assert!(machine.ops().unwrap().starts_with("bpfland"));
}

/// It is back, in the one container that there is.
fn lab_is_back(machine: &Machine, driver: &str) {
    machine.await_ops("lab");
    machine.await_no_trial();
    assert_eq!(machine.status(driver), (0, "running".to_owned()));
    assert_eq!(machine.containers(), 1, "{}", machine.told());
    machine.must(&["-d", driver, "stop", "scx_lab"]);
}

fn nothing_is_left(machine: &Machine) {
    machine.await_no_trial();
    machine.await_default();
    assert_eq!(machine.containers(), 0, "{}", machine.told());
}

#[test]
fn what_nobody_confirms_goes_and_what_ran_before_comes_back() {
    let machine = machine();
    for driver in DRIVERS {
        let said = machine.must(&["-d", driver, "run", "scx_lab", "--trial", "8s"]);
        assert!(said.contains("On trial until"), "{said}");
        assert!(machine.told().contains("scx_lab is on trial until"));
        nothing_is_left(&machine);
        try_bpfland(&machine, driver, "8s");
        let told = machine.told();
        assert!(told.contains("scx_bpfland is on trial until"), "{told}");
        assert!(!told.contains("left over"), "{told}");
        lab_is_back(&machine, driver);
    }
}

#[test]
fn whoever_stays_with_the_old_one_leaves_it_for_the_way_back() {
    let machine = machine();
    for driver in drivers_or("podman") {
        let stay = ["schedctl", "-d", driver, "run", "scx_lab", "--attach"];
        let stays = machine.node().background(&stay).unwrap();
        machine.await_ops("lab");
        machine.must(&[&["-d", driver], &BPFLAND[..], &["15s"]].concat());
        stays.wait(PATIENCE).unwrap();
        lab_is_back(&machine, driver);
    }
}

#[test]
fn a_starter_that_is_killed_leaves_one_behind_who_goes_back_at_once() {
    let machine = machine();
    let trial = "1h";
    for driver in drivers_or("podman") {
        for (step, later) in [("guard", "0"), ("start", "0"), ("start", "1")] {
            let run = [
                "-d",
                driver,
                "run",
                "scx_lab",
                "--trial",
                trial,
                "--probation",
                "1m",
            ];
            machine.killed_at(step, later, &run);
            if step == "guard" {
                // It may have been killed before anybody stood by; then the next one goes back.
                machine.must(&["-d", driver, "run", "scx_lab"]);
                machine.must(&["-d", driver, "stop", "scx_lab"]);
            }
            nothing_is_left(&machine);
        }
        for later in ["0", "1"] {
            machine.must(&["-d", driver, "run", "scx_lab"]);
            let switch = ["-d", driver, "switch", "scx_bpfland", "--trial", trial];
            machine.killed_at("swap", later, &switch);
            lab_is_back(&machine, driver);
        }
    }
}

#[test]
fn a_closed_terminal_ends_no_trial_and_keeps_none() {
    let machine = machine();
    let in_terminal = |line: &str| {
        let words = [
            "script",
            "--quiet",
            "--flush",
            "--command",
            line,
            "/dev/null",
        ];
        machine.node().background(&words).unwrap()
    };
    // While it still starts: it is taken back as if Ctrl-C had been pressed.
    let slow = "schedctl run scx_lab --trial 1h -- --fault slow-attach --after 1h";
    let terminal = in_terminal(slow);
    machine.until("it starts", |machine| {
        machine.told().contains("managed-detached")
    });
    terminal.kill("KILL").unwrap();
    nothing_is_left(&machine);
    // Once it is there: its time is up some time.
    let terminal = in_terminal("schedctl run scx_lab --trial 10s; sleep 1h");
    machine.await_ops("lab");
    machine.until("it has begun", |machine| {
        machine
            .shell("cat /run/schedctl/trial.json")
            .contains("begun")
    });
    terminal.kill("KILL").unwrap();
    machine.until("somebody stands by", |machine| !machine.guards().is_empty());
    nothing_is_left(&machine);
}

#[test]
fn what_is_confirmed_stays_and_what_is_stopped_goes_with_the_spare() {
    let machine = machine();
    for driver in drivers_or("containerd") {
        try_bpfland(&machine, driver, "1h");
        assert_eq!(machine.containers(), 2);
        let seq = machine.enable_seq();
        machine.must(&["-d", driver, "confirm"]);
        machine.await_no_trial();
        assert_eq!((machine.enable_seq(), machine.containers()), (seq, 1));
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        assert_eq!(machine.schedctl(&["-d", driver, "confirm"]).status, 1);
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);

        try_bpfland(&machine, driver, "1h");
        let said = machine.schedctl(&["-d", driver, "switch", "scx_lab"]);
        assert_eq!(said.status, 5, "{}", said.words());
        assert!(said.err.contains("is on trial"), "{}", said.err);
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
        nothing_is_left(&machine);
    }
}

#[test]
fn a_candidate_that_the_kernel_throws_out_is_replaced_at_once() {
    let machine = machine();
    machine.must(&["run", "scx_bpfland"]);
    let words = ["switch", "scx_lab", "--probation", "0s", "--trial", "1h"];
    let stall = ["--", "--fault", "stall", "--after", "3s", "--timeout", "2s"];
    machine.must(&[&words[..], &stall[..]].concat());
    machine.await_ops("bpfland");
    machine.await_no_trial();
    assert_eq!(machine.status("podman"), (0, "running".to_owned()));
    assert_eq!(machine.containers(), 1);
}

#[test]
fn when_the_one_who_stands_by_is_killed_too_the_next_command_goes_back() {
    let machine = machine();
    for driver in drivers_or("podman") {
        try_bpfland(&machine, driver, "1h");
        for guard in machine.guards() {
            machine.shell(&format!("kill -KILL {guard}"));
        }
        machine.until("it is gone", |machine| machine.guards().is_empty());
        let told = machine.told();
        assert!(told.contains("its guard process is gone"), "{told}");
        let (code, said) = machine.json(&["-d", driver, "run", "scx_lab"]);
        assert_eq!(
            (code, &said["result"]),
            (0, &"already-running".into()),
            "{said}"
        );
        assert!(said.to_string().contains("had been abandoned"), "{said}");
        lab_is_back(&machine, driver);
    }
}

#[test]
fn one_who_stands_by_and_hangs_is_not_waited_for_for_ever() {
    let machine = machine();
    try_bpfland(&machine, "podman", "5s");
    let guard = hang_the_guard(&machine);
    machine.until("its time is up", |machine| {
        machine.told().contains("it should be over")
    });
    machine.must(&["switch", "scx_lab"]);
    machine.shell(&format!("kill -CONT {guard}"));
    lab_is_back(&machine, "podman");
    // What was cut short while it started is over at once.
    let slow = "schedctl run scx_lab --trial 1h -- --fault slow-attach --after 1h";
    let slow: Vec<_> = slow.split(' ').collect();
    let starter = machine.node().background(&slow).unwrap();
    machine.until("it starts", |machine| {
        machine.told().contains("managed-detached")
    });
    let guard = hang_the_guard(&machine);
    starter.kill("KILL").unwrap();
    let (code, said) = machine.json(&["run", "scx_lab"]);
    assert_eq!(code, 0, "{said}");
    let said = said.to_string();
    assert!(said.contains("had been abandoned"), "{said}");
    machine.shell(&format!("kill -CONT {guard}"));
    lab_is_back(&machine, "podman");
}

fn hang_the_guard(machine: &Machine) -> String {
    let [guard] = &machine.guards()[..] else {
        panic!("{:?}", machine.guards());
    };
    machine.shell(&format!("kill -STOP {guard}"));
    guard.clone()
}
