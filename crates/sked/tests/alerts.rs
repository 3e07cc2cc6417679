//! When the alerts fire and when not yet, by Prometheus' own tool and its own arithmetic. Proves
//! nothing about where the numbers come from: see `monitored`.

#![cfg(test)]

mod rules;

use std::process::{Command, Output};

use lab::cache::Cache;
use lab::parts::prometheus;
use lab::progress::Reporter;
use lab::{LabSpec, Topology};

const TESTS: &str = include_str!("../../../config/prometheus/tests/alerts.yaml");

/// promtool in a folder with these rules and the tests.
fn promtool(rules: &str, words: &[&str]) -> Output {
    let order = LabSpec::new("none", Topology::ControlPlane, ".lab".as_ref());
    let programs = prometheus::make(&Cache::new(order.cache), &Reporter::new(std::io::sink()));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rules.yaml"), rules).unwrap();
    std::fs::write(folder.path().join("alerts.yaml"), TESTS).unwrap();
    let mut promtool = Command::new(programs.unwrap().promtool);
    promtool.current_dir(folder.path()).args(words);
    promtool.output().unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn every_alert_fires_in_time_and_none_too_early() {
    let rules = rules::plain();
    for words in [
        &["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"][..],
        &["test", "rules", "alerts.yaml"],
    ] {
        let output = promtool(&rules, words);
        assert!(output.status.success(), "{words:?}\n{}", said(&output));
    }
    let lines = rules.lines().map(str::trim);
    for name in lines.filter_map(|line| line.strip_prefix("- alert: ")) {
        let fires = TESTS.contains(&format!("alertname=\"{name}\",alertstate=\"firing\""));
        assert!(fires, "{name} is not tried");
    }
}

/// The tests above can fail: whatever a rule says, another rule does not pass.
#[test]
fn another_rule_does_not_pass() {
    for (from, to) in [
        (r#"state="attached"}) > 0"#, r#"state="attached"}) > 1"#),
        (r#"state="unknown"}) > 0"#, r#"state="unknown"}) > 3"#),
        (r#"state="foreign"}) > 0"#, r#"state="foreign"}) > 1"#),
        (
            r#"state="unsupported"}) > 0"#,
            r#"state="unsupported"}) > 1"#,
        ),
        (
            "max by (namespace, schedext) (sked_schedext_nodes",
            "sum by (namespace, schedext) (sked_schedext_nodes",
        ),
        (
            "increase(sked_ejections_total[15m])",
            "increase(sked_ejections_total[1m])",
        ),
        ("or max by", "and max by"),
        ("[15m])) > 3", "[15m])) > 2"),
        ("[15m])) > 3", "[15m])) > 4"),
        ("for: 5m", "for: 4m"),
        ("for: 10m", "for: 9m"),
        ("for: 15m", "for: 14m"),
        ("for: 1h", "for: 59m"),
        ("for: 1h", "for: 61m"),
        ("severity: info", "severity: warning"),
        ("> 50", "> 49"),
        ("> 0.1", "> 0.2"),
    ] {
        let right = rules::plain();
        let wrong = right.replace(from, to);
        assert_ne!(wrong, right, "{from} is in no rule");
        let output = promtool(&wrong, &["test", "rules", "alerts.yaml"]);
        assert!(!output.status.success(), "{to} instead of {from} passes");
    }
}
