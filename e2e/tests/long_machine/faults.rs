//! Every fault of scx_lab through `run`: its reason, the scheduler's last lines, the remedy; and the
//! machine is as it was.

use serde_json::Value;

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};
use testkit::schema;
use testkit::wait::NODE_TIMEOUT;

/// What is run, and what is reported.
struct Case {
    fault: &'static [&'static str],
    reason: &'static str,
    /// A part of its last lines.
    last_line: &'static str,
    /// Whether there is something to be done about it.
    remedy: bool,
}

const VERIFIER: Case = Case {
    fault: &["verifier"],
    reason: "LoadFailedVerifier",
    last_line: "END PROG LOAD LOG",
    remedy: true,
};
const STALL: Case = Case {
    fault: &["stall", "--timeout", "2s"],
    reason: "Stall",
    last_line: "EXIT: runnable task stall",
    remedy: true,
};
/// Before the kernel has it, and after.
const OTHERS: [Case; 6] = [
    Case {
        fault: &["refuse"],
        reason: "RuntimeError",
        last_line: "EXIT: runtime error",
        remedy: true,
    },
    Case {
        fault: &["slow-attach", "--after", "10m"],
        reason: "Timeout",
        last_line: "lab: attaching in 10m",
        remedy: true,
    },
    Case {
        fault: &["scx-error"],
        reason: "BpfError",
        last_line: "EXIT: scx_bpf_error",
        remedy: true,
    },
    Case {
        fault: &["runtime-error"],
        reason: "RuntimeError",
        last_line: "EXIT: runtime error",
        remedy: true,
    },
    Case {
        fault: &["bpf-exit"],
        reason: "UnregisteredByBpf",
        last_line: "EXIT: unregistered from BPF",
        remedy: false,
    },
    Case {
        fault: &["exit"],
        reason: "Unknown",
        last_line: "leaving with exit code 3",
        remedy: false,
    },
];

/// Runs it with a fault; the error of its document.
fn fail(machine: &Machine, driver: &str, fault: &[&str]) -> Value {
    // Long enough for any fault to strike: only one that never attaches waits in vain.
    let timeout = if fault[0] == "slow-attach" {
        "3s"
    } else {
        "2m"
    };
    let args = [
        "-d",
        driver,
        "run",
        "scx_lab",
        "--timeout",
        timeout,
        "--probation",
        "2m",
    ];
    let rest = ["-o", "json", "--", "--fault"];
    let output = machine.schedctl(&[&args[..], &rest, fault].concat());
    assert_eq!(output.status, 4, "{fault:?}: {}", output.text());
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    schema::check(&document, &["error"]);
    assert_eq!(document["error"]["exit_code"], 4);
    document["error"].clone()
}

fn check(machine: &Machine, driver: &str, case: &Case) {
    let error = fail(machine, driver, case.fault);
    assert_eq!(error["reason"], case.reason, "{:?}: {error:#}", case.fault);
    let lines = error["last_lines"].to_string();
    assert!(
        lines.contains(case.last_line),
        "{:?}: {error:#}",
        case.fault
    );
    assert_eq!(error["remedy"].is_string(), case.remedy, "{error:#}");
    machine.must_be_idle(driver);
}

#[test]
fn what_fails_before_and_after_the_attach_fails_through_both_runtimes() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        check(&machine, driver, &VERIFIER);
        check(&machine, driver, &STALL);
    }
}

#[test]
fn every_other_fault_has_its_reason() {
    let machine = machine_with_bpfland();
    for (case, driver) in OTHERS.iter().zip(DRIVERS.iter().cycle()) {
        check(&machine, driver, case);
    }
}

#[test]
fn the_text_has_the_message_the_last_lines_and_the_remedy() {
    let machine = machine_with_bpfland();
    let run = ["run", "scx_lab"];
    let fault = ["--", "--fault", "verifier"];
    let document = machine.expect(4, &[&run[..], &fault].concat());
    let output = machine.schedctl(&[&run[..], &fault].concat());
    assert_eq!((output.status, output.stdout.as_str()), (4, ""));
    let error = &document["error"];
    let last_line = error["last_lines"]
        .as_array()
        .and_then(|lines| lines.last());
    for part in [last_line.unwrap(), &error["remedy"]] {
        let part = part.as_str().unwrap();
        assert!(
            output.stderr.contains(part),
            "no {part:?} in {}",
            output.stderr
        );
    }
}

#[test]
fn one_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let fault = ["--", "--fault", "ignore-sigterm"];
        machine.must(&[&["-d", driver, "run", "scx_lab"], &fault[..]].concat());
        let (code, output) = machine.json(&["-d", driver, "stop", "scx_lab", "--grace", "1s"]);
        assert_eq!(code, 0, "{output:#}");
        schema::check(&output, &["stop"]);
        machine.must_be_idle(driver);
    }
}

#[test]
fn one_that_is_attached_already_is_named_and_stays() {
    let machine = machine_with_bpfland();
    machine.attach_by_hand("hand");
    for verb in ["run", "switch"] {
        let (code, document) = machine.json(&[verb, "scx_lab"]);
        assert_eq!(code, 5, "{document:#}");
        schema::check(&document, &["error"]);
        let error = document["error"].to_string();
        for part in ["hand", "schedctl detach --force"] {
            assert!(error.contains(part), "no {part:?} in {error}");
        }
    }
    assert_eq!(machine.ops().as_deref(), Some("hand"));
    machine.detach_by_hand();
}

#[test]
fn one_that_somebody_attaches_meanwhile_is_not_taken_for_ours() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let run = ["schedctl", "-d", driver, "run", "scx_lab", "-o", "json"];
        let slow = ["--", "--fault", "slow-attach", "--after", "15s"];
        let job = machine
            .node()
            .background(&[&run[..], &slow].concat())
            .unwrap();
        machine.until("it is about to attach", || {
            let output = machine.schedctl(&["-d", driver, "logs"]);
            output.stdout.contains("attaching in")
        });
        machine.attach_by_hand("hand");
        let output = job.wait(NODE_TIMEOUT).unwrap();
        assert_eq!(output.status, 4, "{}", output.text());
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let error = &document["error"];
        assert_eq!(error["reason"], "LoadFailedBusy", "{error:#}");
        assert!(error["remedy"].to_string().contains("hand"), "{error:#}");
        assert_eq!(machine.ops().as_deref(), Some("hand"));
        machine.detach_by_hand();
        machine.must_be_idle(driver);
    }
}

/// libbpf reads the kernel's configuration from /boot on a kernel that does not show it itself.
#[test]
fn without_the_kernel_configuration_that_is_the_reason() {
    let machine = machine_with_bpfland();
    machine.cover("/boot", "4k");
    let output = machine.schedctl(&["run", "scx_bpfland", "-o", "json"]);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    schema::check(&document, &["error"]);
    let reason = document["error"]["reason"].as_str();
    assert!(
        matches!(reason, Some("LoadFailedKconfig" | "LoadFailedUnexplained")),
        "{document:#}"
    );
    assert!(
        document["error"]["remedy"]
            .to_string()
            .contains("/boot/config-RELEASE")
    );
    machine.must_be_idle("podman");
    machine.uncover("/boot");
}

/// A group that may have no memory, which kills it when it goes on.
#[test]
fn one_that_the_kernel_kills_for_memory_says_so() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let run = ["schedctl", "-d", driver, "run", "scx_lab", "-o", "json"];
        let slow = ["--", "--fault", "slow-attach", "--after", "15s"];
        let job = machine.node().background(&[&run[..], &slow].concat());
        let job = job.unwrap();
        machine.until("it is about to attach", || {
            let output = machine.schedctl(&["-d", driver, "logs"]);
            output.stdout.contains("attaching in")
        });
        machine.shell(
            "echo +memory >/sys/fs/cgroup/cgroup.subtree_control
             mkdir -p /sys/fs/cgroup/lab-short
             echo 0 >/sys/fs/cgroup/lab-short/memory.max
             pgrep -x scx_lab >/sys/fs/cgroup/lab-short/cgroup.procs",
        );
        let output = job.wait(NODE_TIMEOUT).unwrap();
        assert_eq!(output.status, 4, "{}", output.text());
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let error = &document["error"];
        assert_eq!(error["reason"], "OutOfMemory", "{error:#}");
        assert!(error["remedy"].to_string().contains("free memory"));
        machine.shell("rmdir /sys/fs/cgroup/lab-short");
        machine.must_be_idle(driver);
    }
}
