//! When the alerts fire and when they do not yet, by promtool. Where the numbers come from is not
//! tested here.

#![cfg(test)]

use std::process::{Command, Output};

use lab::cache::Cache;
use lab::parts::prometheus;
use lab::progress::Reporter;
use lab::{LabSpec, Topology};
use testkit::alert_rules;

const TESTS: &str = include_str!("../../config/prometheus/tests/alerts.yaml");

/// Runs promtool in a folder with these rules and the tests.
fn promtool(rules: &str, args: &[&str]) -> Output {
    let spec = LabSpec::new("none", Topology::ControlPlane, ".lab".as_ref());
    let programs = prometheus::make(&Cache::new(spec.cache), &Reporter::new(std::io::sink()));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rules.yaml"), rules).unwrap();
    std::fs::write(folder.path().join("alerts.yaml"), TESTS).unwrap();
    let mut promtool = Command::new(programs.unwrap().promtool);
    promtool.current_dir(folder.path()).args(args);
    promtool.output().unwrap()
}

fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn every_alert_fires_in_time_and_none_too_early() {
    let rules = alert_rules::groups();
    for args in [
        &["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"][..],
        &["test", "rules", "alerts.yaml"],
    ] {
        let output = promtool(&rules, args);
        assert!(output.status.success(), "{args:?}\n{}", text(&output));
    }
    let lines = rules.lines().map(str::trim);
    for name in lines.filter_map(|line| line.strip_prefix("- alert: ")) {
        let fires = TESTS.contains(&format!("alertname=\"{name}\",alertstate=\"firing\""));
        assert!(fires, "{name} is not tested");
    }
}

/// The tests above can fail: each of these changes of a rule is noticed.
#[test]
fn a_changed_rule_does_not_pass() {
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
        let right = alert_rules::groups();
        let wrong = right.replace(from, to);
        assert_ne!(wrong, right, "{from} is in no rule");
        let output = promtool(&wrong, &["test", "rules", "alerts.yaml"]);
        assert!(!output.status.success(), "{to} instead of {from} passes");
    }
}
