//! The JSON document against its schema, and the text.

use schedkit_host::SchedExtState;
use schedkit_runtime::Trust;

use super::super::document::{checked_json, plain_text};
use super::*;
use crate::fixtures::{kernel, runtime_container, sked_pod};
use crate::state_dir::GuardProcess;
use crate::status::{assess, include_sked};

fn report(kernel: &Fact<KernelSchedExt>, ours: &[RuntimeContainer]) -> StatusReport {
    let assessment = assess(kernel, ours, &Fact::Absent, None).unwrap();
    StatusReport::new(Runtime::Podman, kernel, ours, &assessment)
}

fn lab() -> RuntimeContainer {
    let mut lab = runtime_container(Runtime::Podman, "0123456789abcdef", "scx_lab");
    lab.container.record.args = vec!["--slice".to_owned(), "two words".to_owned()];
    lab.container.record.trust = Some(Trust::Verified {
        signer: "key 12:34".to_owned(),
        policy: "abc".to_owned(),
    });
    lab
}

fn attached() -> Fact<KernelSchedExt> {
    kernel(SchedExtState::Enabled, Some("lab_1.0"), Some(4))
}

#[test]
fn every_status_fits_the_schema_and_has_its_exit_code() {
    let disabled = kernel(SchedExtState::Disabled, None, Some(4));
    let other = kernel(SchedExtState::Enabled, Some("other"), Some(4));
    for (kernel, ours, status, exit) in [
        (&disabled, vec![], "idle", 0),
        (&Fact::Absent, vec![], "idle", 0),
        (&attached(), vec![lab()], "running", 0),
        (&attached(), vec![], "orphaned-kernel-state", 2),
        (&disabled, vec![lab()], "managed-detached", 2),
        (&other, vec![lab()], "managed-mismatch", 2),
        (&attached(), vec![lab(), lab()], "multiple-managed", 2),
    ] {
        let report = report(kernel, &ours);
        let json = checked_json("status", &report);
        assert_eq!(json["status"], status);
        assert_eq!(report.exit().code(), exit, "{status}");
        assert!(plain_text(&report).contains(status));
    }
}

#[test]
fn the_documented_json_fields_are_present() {
    let json = checked_json("status", &report(&attached(), &[lab()]));
    assert_eq!(json["schema_version"], "1");
    assert_eq!(json["driver"], "podman");
    assert_eq!(json["managed_by"], "schedctl");
    assert_eq!(json["sked"], serde_json::Value::Null);
    assert_eq!(json["discrepancy"], serde_json::Value::Null);
    let scheduler = serde_json::json!({
        "name": "scx_lab", "container_id": "0123456789abcdef", "image": "a.example/team/image:1.0",
        "image_id": null, "pid": 1234, "started_at": "2026-01-02T03:04:05Z", "driver": "podman",
        "container_name": "scx_lab", "created_by_schedctl": true, "reference": null, "args": ["--slice", "two words"],
        "signer": "key 12:34", "policy": "abc", "waiver": null,
    });
    assert_eq!(json["scheduler"], scheduler);
    let kernel = serde_json::json!({
        "supported": true, "enabled": true, "ops": "lab_1.0", "state": "enabled", "enable_seq": 4,
        "switch_all": true, "nr_rejected": 0, "events": {"SCX_EV_A": 1},
    });
    assert_eq!(json["kernel"], kernel);
    let none = checked_json("status", &report(&Fact::Absent, &[]));
    assert_eq!(none["scheduler"], serde_json::Value::Null);
    assert_eq!(none["kernel"]["supported"], false);
    assert_eq!(none["kernel"]["enabled"], false);
}

#[test]
fn a_waiver_is_shown() {
    let mut waived = lab();
    waived.container.record.trust = Some(Trust::Waived("my own build".to_owned()));
    let report = report(&attached(), &[waived]);
    let json = checked_json("status", &report);
    assert_eq!(json["scheduler"]["waiver"], "my own build");
    assert_eq!(json["scheduler"]["signer"], serde_json::Value::Null);
    assert!(plain_text(&report).contains("Not verified:  my own build\n"));
}

#[test]
fn the_text_omits_missing_fields() {
    let text = plain_text(&report(&attached(), &[lab()]));
    let expected = "\
Status:     running
Scheduler:  scx_lab
Container:  0123456789ab (podman), pid 1234
Image:      a.example/team/image:1.0
Arguments:  \"--slice\" \"two words\"
Signed by:  key 12:34
Started:    2026-01-02T03:04:05Z
Kernel:     enabled, lab_1.0
";
    assert_eq!(text, expected);
    let text = plain_text(&report(&Fact::Absent, &[]));
    assert_eq!(text, "Status:  idle\nKernel:  no sched_ext\n");
}

#[test]
fn a_scheduler_of_sked_is_shown_with_its_pod() {
    let pods = [sked_pod("scx_lab")];
    let assessment = assess(&attached(), &[], &Fact::Absent, None).unwrap();
    let assessment = include_sked(assessment, &attached(), &pods);
    let report = StatusReport::new(Runtime::Podman, &attached(), &[], &assessment);
    let json = checked_json("status", &report);
    assert_eq!(
        (json["status"].as_str(), report.exit()),
        (Some("running"), Exit::Ok)
    );
    assert_eq!(json["managed_by"], "sked");
    let sked = serde_json::json!({"namespace": "team", "pod": "lab-x7", "daemonset": "lab"});
    assert_eq!(json["sked"], sked);
    assert_eq!(json["driver"], "podman");
    assert_eq!(json["scheduler"]["name"], "scx_lab");
    assert_eq!(json["scheduler"]["driver"], "containerd");
    assert_eq!(json["containers"], serde_json::json!([]));
    let expected = "\
Status:      running
Scheduler:   scx_lab
Managed by:  sked, DaemonSet team/lab (the SchedExt's name, or SCHEDEXT-POOL)
Pod:         team/lab-x7
Container:   feedc0ffee01 (containerd), pid 1234
Image:       a.example/scx_lab:1.0
Started:     2026-01-02T03:04:05Z
Kernel:      enabled, lab_1.0
";
    assert_eq!(plain_text(&report), expected);
}

#[test]
fn a_partial_status_has_no_field_status() {
    let known = PartialStatus::new(Runtime::Podman, &attached(), &[lab()]);
    let mut json = serde_json::to_value(&known).unwrap();
    assert_eq!(json.get("status"), None);
    assert_eq!(json["kernel"]["ops"], "lab_1.0");
    json["schema_version"] = "1".into();
    json["warnings"] = serde_json::json!([]);
    json["error"] = serde_json::json!({"message": "no", "exit_code": 1});
    schedctl_schemas::check("error", &json);
    assert_eq!(plain_text(&known), "Kernel:  enabled, lab_1.0\n");
    let unknown = PartialStatus::new(Runtime::Podman, &Fact::Unreadable("no".to_owned()), &[]);
    assert_eq!(
        serde_json::to_value(&unknown).unwrap()["kernel"]["supported"],
        serde_json::Value::Null
    );
}

#[test]
fn a_timed_status_is_the_same_json_document() {
    let report = report(&Fact::Absent, &[]);
    let time = "2026-01-02T03:04:05.6Z".parse().unwrap();
    let timed = TimedStatus::new(&report, time);
    assert_eq!(
        plain_text(&timed),
        "2026-01-02T03:04:05Z\nStatus:  idle\nKernel:  no sched_ext\n\n"
    );
    assert_eq!(
        checked_json("status", &timed),
        checked_json("status", &report)
    );
}

#[test]
fn changed_counters_are_not_a_change() {
    let one = report(&attached(), &[lab()]);
    let mut two = one.clone();
    assert!(one.same_as(&two));
    two.discrepancy = Some("new".to_owned());
    assert!(!one.same_as(&two));
    let Fact::Known(mut later) = attached() else {
        unreachable!()
    };
    later.events = Fact::Absent;
    assert!(one.same_as(&report(&Fact::Known(later), &[lab()])));
}

#[test]
fn a_trial_is_shown_with_its_failed_attempts() {
    let mut report = report(&attached(), &[lab()]);
    let trial = crate::fixtures::trial("0123");
    report.trial = Some(TrialDocument::new(&trial, GuardProcess::Running));
    let json = checked_json("status", &report);
    let expected = serde_json::json!({
        "scheduler": "scx_new", "driver": "podman", "container_id": "0123", "restores": null,
        "until": "2026-01-02T03:04:05Z", "guard": "running", "failed_attempts": 0,
        "last_error": null,
    });
    assert_eq!(json["trial"], expected);
    let text = plain_text(&report);
    assert!(
        text.contains("scx_new, until 2026-01-02T03:04:05Z"),
        "{text}"
    );
    let trial = trial.with_failure(&std::io::Error::other("no space left"));
    report.trial = Some(TrialDocument::new(&trial, GuardProcess::Gone));
    let json = checked_json("status", &report);
    assert_eq!(json["trial"]["failed_attempts"], 1);
    assert_eq!(json["trial"]["last_error"], "no space left");
    let text = plain_text(&report);
    assert!(text.contains("going back has failed once"), "{text}");
}
