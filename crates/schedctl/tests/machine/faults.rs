//! Every fault of scx_lab through `run`: what it is called, what it said last, what to do; and the
//! machine is as it was.

use serde_json::Value;

use crate::ground::{Machine, PATIENCE, machine};
use crate::schema;

/// What is run, and what is told.
struct Case {
    fault: &'static [&'static str],
    reason: &'static str,
    /// A part of its last lines.
    said: &'static str,
    /// A part of the remedy; none where there is nothing to be done.
    remedy: Option<&'static str>,
}

const VERIFIER: Case = Case {
    fault: &["verifier"],
    reason: "LoadFailedVerifier",
    said: "END PROG LOAD LOG",
    remedy: Some("made for this kernel"),
};
const STALL: Case = Case {
    fault: &["stall", "--timeout", "2s"],
    reason: "Stall",
    said: "EXIT: runnable task stall",
    remedy: Some("the kernel log has the dump"),
};
/// Before the kernel has it, and after.
const OTHERS: [Case; 6] = [
    Case {
        fault: &["refuse"],
        reason: "RuntimeError",
        said: "EXIT: runtime error",
        remedy: Some("another version"),
    },
    Case {
        fault: &["slow-attach", "--after", "10m"],
        reason: "Timeout",
        said: "lab: attaching in 10m",
        remedy: Some("--timeout"),
    },
    Case {
        fault: &["scx-error"],
        reason: "BpfError",
        said: "EXIT: scx_bpf_error",
        remedy: Some("another version"),
    },
    Case {
        fault: &["runtime-error"],
        reason: "RuntimeError",
        said: "EXIT: runtime error",
        remedy: Some("another version"),
    },
    Case {
        fault: &["bpf-exit"],
        reason: "UnregisteredByBpf",
        said: "EXIT: unregistered from BPF",
        remedy: None,
    },
    Case {
        fault: &["exit"],
        reason: "Unknown",
        said: "leaving with exit code 3",
        remedy: None,
    },
];

/// Runs it with a fault and gives what it says of the error.
fn fail(machine: &Machine, driver: &str, fault: &[&str]) -> Value {
    // Long enough for any fault to strike: only one that never attaches waits in vain.
    let timeout = if fault[0] == "slow-attach" {
        "3s"
    } else {
        "2m"
    };
    let words = [
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
    let said = machine.schedctl(&[&words[..], &rest, fault].concat());
    assert_eq!(said.status, 4, "{fault:?}: {}", said.words());
    let document: Value = serde_json::from_str(&said.out).unwrap();
    schema::check("error", &document);
    assert_eq!(document["error"]["exit_code"], 4);
    document["error"].clone()
}

fn check(machine: &Machine, driver: &str, case: &Case) {
    let error = fail(machine, driver, case.fault);
    assert_eq!(error["reason"], case.reason, "{:?}: {error:#}", case.fault);
    let lines = error["last_lines"].to_string();
    assert!(lines.contains(case.said), "{:?}: {error:#}", case.fault);
    match (case.remedy, error["remedy"].as_str()) {
        (None, None) => {}
        (Some(part), Some(remedy)) => assert!(remedy.contains(part), "{remedy}"),
        _ => panic!("{:?}: {error:#}", case.fault),
    }
    machine.must_be_clean(driver);
}

#[test]
fn what_fails_before_and_after_the_attach_fails_through_both_runtimes() {
    let machine = machine();
    for driver in ["podman", "containerd"] {
        check(&machine, driver, &VERIFIER);
        check(&machine, driver, &STALL);
    }
}

#[test]
fn every_other_fault_has_its_reason() {
    let machine = machine();
    for (case, driver) in OTHERS.iter().zip(["podman", "containerd"].iter().cycle()) {
        check(&machine, driver, case);
    }
}

/// A person reads the sentence, the last words and the remedy.
#[test]
fn a_person_reads_the_reason_the_last_words_and_the_remedy() {
    let machine = machine();
    let said = machine.schedctl(&["run", "scx_lab", "--", "--fault", "verifier"]);
    assert_eq!((said.status, said.out.as_str()), (4, ""), "{}", said.err);
    for part in [
        "ended with code 1 before the kernel had it: the kernel's verifier refused its BPF program",
        "It said last:",
        "What to do: use a version of the scheduler that was made for this kernel",
    ] {
        assert!(said.err.contains(part), "no {part:?} in {}", said.err);
    }
}

#[test]
fn one_that_ignores_the_polite_signal_is_killed_after_the_grace() {
    let machine = machine();
    for driver in ["podman", "containerd"] {
        let fault = ["--", "--fault", "ignore-sigterm"];
        machine.must(&[&["-d", driver, "run", "scx_lab"], &fault[..]].concat());
        let (code, said) = machine.json(&["-d", driver, "stop", "scx_lab", "--grace", "1s"]);
        assert_eq!(code, 0, "{said:#}");
        schema::check("stop", &said);
        machine.must_be_clean(driver);
    }
}

#[test]
fn one_that_is_there_already_is_named_and_stays() {
    let machine = machine();
    machine.by_hand("hand");
    for verb in ["run", "switch"] {
        let (code, document) = machine.json(&[verb, "scx_lab"]);
        assert_eq!(code, 5, "{document:#}");
        schema::check("error", &document);
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains("the kernel runs hand"), "{message}");
        assert!(message.contains("schedctl detach --force"), "{message}");
    }
    assert_eq!(machine.ops().as_deref(), Some("hand"));
}

/// Somebody else is quicker: what the kernel took then is not ours.
#[test]
fn one_that_comes_in_between_is_not_taken_for_ours() {
    let machine = machine();
    for driver in ["podman", "containerd"] {
        let run = ["schedctl", "-d", driver, "run", "scx_lab", "-o", "json"];
        let slow = ["--", "--fault", "slow-attach", "--after", "15s"];
        let job = machine
            .node()
            .background(&[&run[..], &slow].concat())
            .unwrap();
        machine.eventually("it is about to attach", || {
            let said = machine.schedctl(&["-d", driver, "logs"]);
            said.out.contains("attaching in")
        });
        machine.by_hand("hand");
        let said = job.wait(PATIENCE).unwrap();
        assert_eq!(said.status, 4, "{}", said.words());
        let document: Value = serde_json::from_str(&said.out).unwrap();
        let error = &document["error"];
        assert_eq!(error["reason"], "LoadFailedBusy", "{error:#}");
        assert!(
            error["remedy"].to_string().contains("stop hand"),
            "{error:#}"
        );
        assert_eq!(machine.ops().as_deref(), Some("hand"));
        machine.end_by_hand();
        machine.must_be_clean(driver);
    }
}

/// libbpf reads the kernel's configuration from /boot on a kernel that does not show it itself.
#[test]
fn without_the_kernel_configuration_that_is_the_reason() {
    let machine = machine();
    machine.cover("/boot", "4k");
    let said = machine.schedctl(&["run", "scx_bpfland", "-o", "json"]);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    schema::check("error", &document);
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
    machine.must_be_clean("podman");
}
