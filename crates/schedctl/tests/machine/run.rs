//! `run`, `ps`, `logs`, `status` and `stop` with a kernel that attaches for real, through both
//! runtimes.

use crate::ground::{DRIVERS, machine};

#[test]
fn a_scheduler_runs_when_the_kernel_says_so_and_is_gone_after_stop() {
    let machine = machine();
    for driver in DRIVERS {
        assert_eq!(machine.status(driver), (0, "idle".to_owned()));
        let (code, said) = machine.json(&["-d", driver, "run", "scx_lab"]);
        assert_eq!((code, &said["result"]), (0, &"attached".into()), "{said}");
        assert_eq!(said["ops"], machine.ops().unwrap().as_str());
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        let (code, said) = machine.json(&["-d", driver, "run", "scx_lab"]);
        assert_eq!(
            (code, &said["result"]),
            (0, &"already-running".into()),
            "{said}"
        );
        let said = machine.schedctl(&["-d", driver, "run", "scx_bpfland"]);
        assert_eq!(said.status, 5, "{}", said.text());
        assert!(
            said.stderr.contains("schedctl switch scx_bpfland"),
            "{}",
            said.stderr
        );
        let ps = machine.must(&["-d", driver, "ps"]);
        assert!(ps.starts_with("PID") && ps.contains("scx_lab"), "{ps}");
        let logs = machine.must(&["-d", driver, "logs"]);
        assert!(!logs.is_empty());
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        assert_eq!(machine.ops(), None);
        let (code, said) = machine.json(&["-d", driver, "stop", "scx_lab"]);
        assert_eq!((code, &said["result"]), (0, &"not-there".into()), "{said}");
        crate::schema::check("stop", &said);
        assert_eq!(machine.status(driver), (0, "idle".to_owned()));
        assert_eq!(machine.must(&["-d", driver, "ps"]).lines().count(), 1);
    }
}

/// Every fault that keeps it from attaching, as its type; nothing is left behind.
#[test]
fn one_that_does_not_attach_is_told_with_its_reason_and_removed() {
    let machine = machine();
    for (fault, reason) in [
        ("verifier", "LoadFailedVerifier"),
        ("refuse", "RuntimeError"),
        ("exit", "Unknown"),
    ] {
        let words = [
            "run",
            "scx_lab",
            "--probation",
            "3s",
            "-o",
            "json",
            "--",
            "--fault",
            fault,
        ];
        let said = machine.schedctl(&words);
        let document: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(said.status, 4, "{fault}: {}", said.text());
        assert_eq!(document["error"]["reason"], reason, "{fault}: {document}");
        assert_eq!(machine.status("podman"), (0, "idle".to_owned()), "{fault}");
        assert_eq!(machine.must(&["ps"]).lines().count(), 1, "{fault}");
    }
}

#[test]
fn a_switch_goes_over_and_comes_back_when_the_new_one_stalls() {
    let machine = machine();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_lab"]);
        let (code, said) = machine.json(&["-d", driver, "switch", "scx_bpfland"]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(said["replaced"], "scx_lab");
        assert!(said["gap_ms"].as_u64().is_some(), "{said}");
        assert!(machine.ops().unwrap().starts_with("bpfland"));
        let stall = ["--", "--fault", "stall", "--timeout", "2s"];
        let words = [
            "-d",
            driver,
            "switch",
            "scx_lab",
            "--probation",
            "60s",
            "-o",
            "json",
        ];
        let said = machine.schedctl(&[&words[..], &stall[..]].concat());
        assert_eq!(said.status, 4, "{}", said.text());
        let document: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(document["error"]["reason"], "Stall", "{document}");
        assert!(machine.ops().unwrap().starts_with("bpfland"));
        assert_eq!(machine.status(driver), (0, "running".to_owned()));
        machine.must(&["-d", driver, "stop", "scx_bpfland"]);
    }
}
