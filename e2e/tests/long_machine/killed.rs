//! schedctl is killed with SIGKILL in the middle of a `run` or a `switch`: nothing that it leaves
//! is misreported, and whoever repeats the command gets what they wanted.

use serde_json::Value;

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};

/// Which step, and how many seconds into it.
type Moment = (&'static str, &'static str);

const RUN: [Moment; 7] = [
    ("pull", "0"),
    ("pull", "0.1"),
    ("create", "0"),
    ("create", "0.1"),
    ("start", "0"),
    ("start", "0.3"),
    ("start", "1"),
];

const SWITCH: [Moment; 12] = [
    ("pull", "0"),
    ("create", "0"),
    ("create", "0.1"),
    ("ready", "0"),
    ("ready", "0.2"),
    ("swap", "0"),
    ("swap", "0.1"),
    ("swap", "0.3"),
    ("swap", "0.6"),
    ("swap", "1.2"),
    ("remove", "0"),
    ("remove", "0.1"),
];

#[test]
fn a_run_that_is_killed_is_repaired_by_the_next() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        for (step, later) in RUN {
            let run = ["-d", driver, "run", "scx_lab"];
            machine.signal_at("KILL", step, later, &run);
            status_is_right(&machine, driver);
            machine.must(&run);
            exactly_one_runs(&machine, driver);
            machine.must(&["-d", driver, "stop", "scx_lab"]);
            assert_eq!((machine.ops(), machine.containers()), (None, 0));
        }
        // Instead of repeating it one may give it up.
        machine.signal_at("KILL", "start", "0", &["-d", driver, "run", "scx_lab"]);
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        assert_eq!((machine.ops(), machine.containers()), (None, 0));
    }
}

#[test]
fn a_switch_that_is_killed_is_repaired_by_the_next() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_lab"]);
        let other = ["--version", "1.0.0"];
        for ((step, later), args) in SWITCH
            .into_iter()
            .zip([&other[..], &[]].into_iter().cycle())
        {
            let switch = ["-d", driver, "switch", "--probation", "0s", "scx_lab"];
            let switch = [&switch[..], args].concat();
            machine.signal_at("KILL", step, later, &switch);
            status_is_right(&machine, driver);
            machine.must(&switch);
            exactly_one_runs(&machine, driver);
            let wanted = format!("lab_{}", args.last().unwrap_or(&"1.1.0"));
            assert_eq!(
                machine.ops().as_deref(),
                Some(wanted.as_str()),
                "{step} + {later}"
            );
        }
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        assert_eq!((machine.ops(), machine.containers()), (None, 0));
        machine.await_no_runtime_process();
    }
}

fn exactly_one_runs(machine: &Machine, driver: &str) {
    assert_eq!(machine.status(driver), (0, "running".to_owned()));
    let ps = machine.must(&["-d", driver, "ps"]);
    assert_eq!(ps.lines().count(), 2, "{ps}");
    assert_eq!(machine.containers(), 1, "{}", machine.status_text());
}

/// Compares `status` with what the runtimes and the kernel report, before it and after it, once both
/// agree: what was begun goes on for a while although nobody waits for it any more.
fn status_is_right(machine: &Machine, driver: &str) {
    machine.until("nothing changes", || {
        let output = machine.shell(&format!(
            "{OBSERVE}; observe; schedctl -d {driver} status -o json; observe"
        ));
        let lines: Vec<&str> = output.lines().collect();
        let seen = |line: &str| line.strip_prefix("seen ").map(str::to_owned);
        let (first, last) = (lines.first().copied(), lines.last().copied());
        let (first, last) = (first.and_then(seen), last.and_then(seen));
        if first != last {
            return false;
        }
        let document = lines[1..lines.len() - 1].join("\n");
        let document: Value = serde_json::from_str(&document).expect(&output);
        agree(&first.expect(&output), &document);
        true
    });
}

fn agree(seen: &str, document: &Value) {
    let (live, ops) = seen.split_once(' ').unwrap();
    let expected = match (live, ops) {
        ("0", NONE) => "idle",
        ("0", _) => "orphaned-kernel-state",
        ("1", NONE) => "managed-detached",
        ("1", _) => "running",
        _ => "multiple-managed",
    };
    println!("{seen:?}: {}", document["status"]);
    assert_eq!(document["status"], expected, "{seen}: {document}");
    assert_ne!(expected, "multiple-managed", "{document}");
    let attached = document["kernel"]["ops"].as_str().unwrap_or(NONE);
    assert_eq!(attached, ops, "{document}");
}

/// What [`OBSERVE`] prints when nothing is attached.
const NONE: &str = "none";

/// `seen`, how many containers of ours have a process, and who is attached.
const OBSERVE: &str = r#"observe() {
    live=$(podman ps --quiet --filter label=provider=schedkit | wc -l)
    tasks=$(ctr --namespace schedkit tasks list | grep -c RUNNING)
    ops=$(cd /sys/kernel/sched_ext; ! grep -qx enabled state || cat root/ops)
    echo "seen $((live + tasks)) ${ops:-none}"
}"#;
