//! Schedulers that people run, on a machine of their own through both drivers: each through `run`,
//! `status`, `logs`, `switch` and `stop`; what is said where tracefs and debugfs are not mounted,
//! memory is short, and the kernel has no sched_ext.

use lab::{LabSpec, SchedctlHost, Scheduler};
use serde_json::Value;

use testkit::machine::{DRIVERS, Machine};
use testkit::program::labs;

/// The name of each, and how the kernel's name for it begins.
const SCHEDULERS: [(&str, &str); 4] = [
    ("scx_rusty", "rusty"),
    ("scx_lavd", "lavd"),
    ("scx_bpfland", "bpfland"),
    ("scx_lab", "lab"),
];
/// scx_lavd takes over a minute on an emulated processor.
const PATIENCE: [&str; 2] = ["--timeout", "10m"];
const UNMOUNT: &str = "umount /sys/kernel/tracing; umount --recursive /sys/kernel/debug; \
                       ! grep -E ' (tracefs|debugfs) ' /proc/mounts";

/// A series of Debian's whose kernels have no sched_ext.
const WITHOUT_SCHED_EXT: &str = "6.12";
/// Less than any of them needs, and enough for the runtimes' programs in the same group.
const SHORT_MEMORY: &str = "24M";

fn spec(name: &str) -> LabSpec {
    LabSpec {
        schedulers: vec![
            Scheduler::ScxLab,
            Scheduler::ScxBpfland,
            Scheduler::ScxLavd,
            Scheduler::ScxRusty,
        ],
        ..SchedctlHost::spec(name, &labs())
    }
}

#[test]
fn each_runs_is_replaced_and_stops_through_both_drivers() {
    let machine = Machine::up(&spec("e2e-real-schedulers"));
    for driver in DRIVERS {
        let next = SCHEDULERS.iter().cycle().skip(1);
        for (old, new) in SCHEDULERS.iter().zip(next) {
            run_replace_and_stop(&machine, driver, old, new);
        }
    }
    for driver in DRIVERS {
        without_tracefs_lavd_fails_and_the_remedy_helps(&machine, driver);
        without_memory_each_fails_and_says_so(&machine, driver);
    }
}

#[test]
fn without_sched_ext_each_is_refused_with_what_to_do() {
    let machine = Machine::up(&LabSpec {
        kernel: WITHOUT_SCHED_EXT.to_owned(),
        ..spec("e2e-old-kernel")
    });
    for driver in DRIVERS {
        for (name, _) in SCHEDULERS {
            let error = &machine.expect(1, &["-d", driver, "run", name])["error"];
            println!("{driver} {name}: {error:#}");
            let message = error["message"].as_str().unwrap();
            for part in [
                "this machine cannot run it",
                "kernel.sched_ext",
                "boot a kernel",
            ] {
                assert!(message.contains(part), "{error:#}");
            }
        }
        machine.must_be_idle(driver);
    }
}

fn run_replace_and_stop(machine: &Machine, driver: &str, old: &(&str, &str), new: &(&str, &str)) {
    println!("{driver}: {} and then {}", old.0, new.0);
    let run = machine.expect(0, &[&["-d", driver, "run", old.0], &PATIENCE[..]].concat());
    assert_eq!(run["result"], "attached", "{run:#}");
    println!("attached after {} ms", run["attach_ms"]);
    must_run(machine, driver, old);
    let switch = ["-d", driver, "switch", new.0];
    let switched = machine.expect(0, &[&switch[..], &PATIENCE].concat());
    assert_eq!(switched["replaced"], old.0, "{switched:#}");
    println!("replaced after a gap of {} ms", switched["gap_ms"]);
    must_run(machine, driver, new);
    machine.expect(0, &["-d", driver, "stop", new.0]);
    machine.must_be_idle(driver);
}

/// The kernel, `status`, `ps` and `logs` agree, and its container sees what the machine has mounted.
fn must_run(machine: &Machine, driver: &str, (name, ops): &(&str, &str)) {
    assert!(machine.ops().unwrap().starts_with(ops));
    let status = machine.expect(0, &["-d", driver, "status"]);
    assert_eq!(status["status"], "running", "{status:#}");
    assert_eq!(status["scheduler"]["name"], *name, "{status:#}");
    assert_eq!(status["warnings"], Value::Array(Vec::new()), "{status:#}");
    let ps = machine.expect(0, &["-d", driver, "ps"]);
    assert_eq!(ps["containers"][0]["name"], *name, "{ps:#}");
    // scx_rusty writes to standard error only.
    let logs = machine.schedctl(&["-d", driver, "logs", *name]);
    assert_eq!(logs.status, 0, "{}", logs.text());
    assert!(!logs.text().trim().is_empty(), "{name} has said nothing");
    let pid = &status["scheduler"]["pid"];
    let mounts = machine.shell(&format!("cat /proc/{pid}/mounts"));
    for mount in ["/sys/kernel/tracing tracefs ", "/sys/kernel/debug debugfs "] {
        assert!(mounts.contains(mount), "no {mount} in {mounts}");
    }
}

/// The commands of the remedy are run as they are printed.
fn without_tracefs_lavd_fails_and_the_remedy_helps(machine: &Machine, driver: &str) {
    machine.shell(UNMOUNT);
    let check = tracefs_check(machine);
    assert_eq!(check["status"], "fail", "{check:#}");
    assert!(check["remediation"].is_string(), "{check:#}");
    let run = [&["-d", driver, "run", "scx_lavd"], &PATIENCE[..]].concat();
    let error = &machine.expect(4, &run)["error"];
    println!("{error:#}");
    assert_eq!(error["reason"], "LoadFailedTracefs", "{error:#}");
    let last_lines = error["last_lines"].as_array().unwrap();
    let last_line = last_lines.last().unwrap().as_str().unwrap();
    assert!(last_line.contains("No debugfs mount found"), "{error:#}");
    machine.must_be_idle(driver);
    let remedy = error["remedy"].as_str().unwrap();
    let commands = remedy.split('`').filter(|part| part.starts_with("mount "));
    let commands = commands.collect::<Vec<_>>();
    assert_eq!(commands.len(), 2, "{remedy}");
    machine.shell(&commands.join(" && "));
    assert_eq!(tracefs_check(machine)["status"], "pass");
    machine.expect(0, &run);
    machine.expect(0, &["-d", driver, "stop", "scx_lavd"]);
    machine.must_be_idle(driver);
}

/// The group in which a driver's containers are may have little memory.
fn without_memory_each_fails_and_says_so(machine: &Machine, driver: &str) {
    let group = match driver {
        "podman" => "/sys/fs/cgroup/libpod_parent",
        _ => "/sys/fs/cgroup/schedkit",
    };
    machine.shell(&format!(
        "echo +memory >/sys/fs/cgroup/cgroup.subtree_control
         mkdir -p {group}; echo {SHORT_MEMORY} >{group}/memory.max"
    ));
    for (name, _) in &SCHEDULERS[..3] {
        let run = [&["-d", driver, "run", name], &PATIENCE[..]].concat();
        let error = &machine.expect(4, &run)["error"];
        println!("{driver} {name}: {error:#}");
        let reason = error["reason"].as_str().unwrap();
        assert!(
            ["OutOfMemory", "LoadFailedMemory"].contains(&reason),
            "{error:#}"
        );
        let remedy = error["remedy"].as_str().unwrap();
        assert!(remedy.contains("free memory"), "{error:#}");
        machine.must_be_idle(driver);
    }
    machine.shell(&format!("echo max >{group}/memory.max"));
}

fn tracefs_check(machine: &Machine) -> Value {
    let document = machine.expect(0, &["doctor"]);
    let checks = document["checks"].as_array().unwrap();
    let mut found = checks.iter().filter(|one| one["id"] == "kernel.tracefs");
    found.next().unwrap().clone()
}
