//! `--trial` when schedctl, its terminal or the guard of the trial is killed or hangs: what nobody
//! confirms ends, and what ran before starts again.

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};
use testkit::wait::NODE_TIMEOUT;

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
    assert_eq!(machine.containers(), 1, "{}", machine.status_text());
    machine.must(&["-d", driver, "stop", "scx_lab"]);
}

fn nothing_is_left(machine: &Machine) {
    machine.await_no_trial();
    machine.await_default();
    assert_eq!(machine.containers(), 0, "{}", machine.status_text());
}

#[test]
fn what_nobody_confirms_ends_and_what_ran_before_starts_again() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_lab", "--trial", "8s"]);
        assert!(machine.status_text().contains("trial"));
        nothing_is_left(&machine);
        try_bpfland(&machine, driver, "8s");
        let status = machine.expect(0, &["-d", driver, "status"]);
        let warnings = status["warnings"].as_array().map(Vec::len);
        assert_eq!(warnings, Some(1), "the trial and nothing else: {status:#}");
        lab_is_back(&machine, driver);
    }
}

#[test]
fn run_attach_of_the_old_one_follows_it_again_after_the_way_back() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let run = ["schedctl", "-d", driver, "run", "scx_lab", "--attach"];
        let attached = machine.node().background(&run).unwrap();
        machine.await_ops("lab");
        machine.must(&[&["-d", driver], &BPFLAND[..], &["15s"]].concat());
        machine.until("it tells of the trial", || {
            attached.so_far().unwrap().stderr.contains("is on trial")
        });
        machine.await_ops("lab");
        machine.await_no_trial();
        // It attaches once in each start.
        machine.until("it shows the output again", || {
            let shown = attached.so_far().unwrap().stdout;
            shown.matches("lab: attached as").count() == 2
        });
        lab_is_back(&machine, driver);
        let ended = attached.wait(NODE_TIMEOUT).unwrap();
        assert_eq!(ended.status, 0, "{}", ended.text());
    }
}

#[test]
fn when_schedctl_is_killed_the_guard_goes_back_at_once() {
    let machine = machine_with_bpfland();
    let trial = "1h";
    for driver in DRIVERS {
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
            machine.signal_at("KILL", step, later, &run);
            if step == "guard" {
                // It may have been killed before there was a guard; then the next command goes back.
                machine.must(&["-d", driver, "run", "scx_lab"]);
                machine.must(&["-d", driver, "stop", "scx_lab"]);
            }
            nothing_is_left(&machine);
        }
        for later in ["0", "1"] {
            machine.must(&["-d", driver, "run", "scx_lab"]);
            let switch = ["-d", driver, "switch", "scx_bpfland", "--trial", trial];
            machine.signal_at("KILL", "swap", later, &switch);
            lab_is_back(&machine, driver);
        }
    }
}

#[test]
fn a_closed_terminal_neither_ends_nor_keeps_a_trial() {
    let machine = machine_with_bpfland();
    let in_terminal = |line: &str| {
        let args = [
            "script",
            "--quiet",
            "--flush",
            "--command",
            line,
            "/dev/null",
        ];
        machine.node().background(&args).unwrap()
    };
    // While it still starts: it is taken back as if Ctrl-C had been pressed.
    let slow = "schedctl run scx_lab --trial 1h -- --fault slow-attach --after 1h";
    let terminal = in_terminal(slow);
    machine.until("it starts", || {
        machine.status_text().contains("managed-detached")
    });
    terminal.kill("KILL").unwrap();
    nothing_is_left(&machine);
    // Once it is attached the trial goes on until its time is up.
    let terminal = in_terminal("schedctl run scx_lab --trial 10s; sleep 1h");
    machine.await_ops("lab");
    machine.until("it has begun", || {
        machine
            .shell("cat /run/schedctl/trial.json")
            .contains("begun")
    });
    terminal.kill("KILL").unwrap();
    machine.until("there is a guard", || !machine.guards().is_empty());
    nothing_is_left(&machine);
}

#[test]
fn confirm_keeps_the_new_one_and_stop_ends_both() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
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
        let output = machine.schedctl(&["-d", driver, "switch", "scx_lab"]);
        assert_eq!(output.status, 5, "{}", output.text());
        assert!(output.stderr.contains("trial"), "{}", output.stderr);
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
        nothing_is_left(&machine);
    }
}

#[test]
fn a_candidate_that_the_kernel_throws_out_is_replaced_at_once() {
    let machine = machine_with_bpfland();
    machine.must(&["run", "scx_bpfland"]);
    let args = ["switch", "scx_lab", "--probation", "0s", "--trial", "1h"];
    let stall = ["--", "--fault", "stall", "--after", "3s", "--timeout", "2s"];
    machine.must(&[&args[..], &stall[..]].concat());
    machine.await_ops("bpfland");
    machine.await_no_trial();
    assert_eq!(machine.status("podman"), (0, "running".to_owned()));
    assert_eq!(machine.containers(), 1);
    machine.must(&["stop", "scx_bpfland"]);
}

#[test]
fn when_the_guard_is_killed_the_next_command_goes_back() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        try_bpfland(&machine, driver, "1h");
        for guard in machine.guards() {
            machine.shell(&format!("kill -KILL {guard}"));
        }
        machine.until("no guard is left", || machine.guards().is_empty());
        assert!(machine.status_text().contains("trial"));
        let (code, output) = machine.json(&["-d", driver, "run", "scx_lab"]);
        assert_eq!(
            (code, &output["result"]),
            (0, &"already-running".into()),
            "{output}"
        );
        assert!(output["warnings"].to_string().contains("trial"), "{output}");
        lab_is_back(&machine, driver);
    }
}

#[test]
fn a_guard_that_hangs_is_not_waited_for() {
    let machine = machine_with_bpfland();
    try_bpfland(&machine, "podman", "20s");
    let guard = hang_the_guard(&machine);
    machine.until("its time is up", || {
        machine.status_text().contains("should be over")
    });
    machine.must(&["switch", "scx_lab"]);
    machine.shell(&format!("kill -CONT {guard}"));
    lab_is_back(&machine, "podman");
    // What was cut short while it started is over at once.
    let slow = "schedctl run scx_lab --trial 1h -- --fault slow-attach --after 1h";
    let slow: Vec<_> = slow.split(' ').collect();
    let starter = machine.node().background(&slow).unwrap();
    machine.until("it starts", || {
        machine.status_text().contains("managed-detached")
    });
    let guard = hang_the_guard(&machine);
    starter.kill("KILL").unwrap();
    let (code, output) = machine.json(&["run", "scx_lab"]);
    assert_eq!(code, 0, "{output}");
    assert!(output["warnings"].to_string().contains("trial"), "{output}");
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
