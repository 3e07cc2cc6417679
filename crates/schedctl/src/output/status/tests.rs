//! The document against its schema and as people see it.

use schedkit_host::SchedExtState;
use schedkit_runtime::Trust;

use super::super::{judged, schema, shown};
use super::*;
use crate::status::{held, judge, kernel, recognise, sked_pod};

fn report(kernel: &Fact<SchedExt>, ours: &[Held]) -> Report {
    let judgement = judge(kernel, ours, &Fact::Absent, None).unwrap();
    Report::of(Runtime::Podman, kernel, ours, &judgement)
}

fn lab() -> Held {
    let mut lab = held(Runtime::Podman, "0123456789abcdef", "scx_lab");
    lab.container.record.args = vec!["--slice".to_owned(), "two words".to_owned()];
    lab.container.record.trust = Some(Trust::Verified {
        signer: "key 12:34".to_owned(),
        policy: "abc".to_owned(),
    });
    lab
}

fn attached() -> Fact<SchedExt> {
    kernel(SchedExtState::Enabled, Some("lab_1.0"), Some(4))
}

#[test]
fn every_answer_fits_the_schema_and_has_its_exit_code() {
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
        let json = judged("status", &report);
        assert_eq!(json["status"], status);
        assert_eq!(report.exit().code(), exit, "{status}");
        assert!(shown(&report).contains(status));
    }
}

#[test]
fn a_program_finds_what_the_contract_names() {
    let json = judged("status", &report(&attached(), &[lab()]));
    assert_eq!(json["schema_version"], "1");
    assert_eq!(json["driver"], "podman");
    assert_eq!(json["managed_by"], "schedctl");
    assert_eq!(json["sked"], serde_json::Value::Null);
    assert_eq!(json["discrepancy"], serde_json::Value::Null);
    let scheduler = serde_json::json!({
        "name": "scx_lab", "container_id": "0123456789abcdef", "image": "a.example/team/image:1.0",
        "image_id": null, "pid": 1234, "started_at": "2026-01-02T03:04:05Z", "driver": "podman",
        "container_name": "scx_lab", "reference": null, "args": ["--slice", "two words"],
        "signer": "key 12:34", "policy": "abc", "waiver": null,
    });
    assert_eq!(json["scheduler"], scheduler);
    let kernel = serde_json::json!({
        "supported": true, "enabled": true, "ops": "lab_1.0", "state": "enabled", "enable_seq": 4,
        "switch_all": true, "nr_rejected": 0, "events": {"SCX_EV_A": 1},
    });
    assert_eq!(json["kernel"], kernel);
    let none = judged("status", &report(&Fact::Absent, &[]));
    assert_eq!(none["scheduler"], serde_json::Value::Null);
    assert_eq!(none["kernel"]["supported"], false);
    assert_eq!(none["kernel"]["enabled"], false);
}

/// Who let it run without a signature is told wherever it is spoken of.
#[test]
fn what_was_waived_is_shown() {
    let mut waived = lab();
    waived.container.record.trust = Some(Trust::Waived("my own build".to_owned()));
    let report = report(&attached(), &[waived]);
    let json = judged("status", &report);
    assert_eq!(json["scheduler"]["waiver"], "my own build");
    assert_eq!(json["scheduler"]["signer"], serde_json::Value::Null);
    assert!(shown(&report).contains("Not verified:  my own build\n"));
}

#[test]
fn a_person_reads_what_there_is() {
    let text = shown(&report(&attached(), &[lab()]));
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
    let text = shown(&report(&Fact::Absent, &[]));
    assert_eq!(text, "Status:  idle\nKernel:  no sched_ext\n");
}

#[test]
fn what_sked_runs_is_told_with_its_pod() {
    let pods = [sked_pod("scx_lab")];
    let judgement = judge(&attached(), &[], &Fact::Absent, None).unwrap();
    let judgement = recognise(judgement, &attached(), &pods);
    let report = Report::of(Runtime::Podman, &attached(), &[], &judgement);
    let json = judged("status", &report);
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
    assert_eq!(shown(&report), expected);
}

/// Nobody may take it for an answer.
#[test]
fn what_is_not_judged_has_no_status_and_is_an_error_with_what_is_known() {
    let known = Unjudged::of(Runtime::Podman, &attached(), &[lab()]);
    let mut json = serde_json::to_value(&known).unwrap();
    assert_eq!(json.get("status"), None);
    assert_eq!(json["kernel"]["ops"], "lab_1.0");
    json["schema_version"] = "1".into();
    json["warnings"] = serde_json::json!([]);
    json["error"] = serde_json::json!({"message": "no", "exit_code": 1});
    schema::check("error", &json);
    assert_eq!(shown(&known), "Kernel:  enabled, lab_1.0\n");
    let blind = Unjudged::of(Runtime::Podman, &Fact::Unreadable("no".to_owned()), &[]);
    assert_eq!(
        serde_json::to_value(&blind).unwrap()["kernel"]["supported"],
        serde_json::Value::Null
    );
}

#[test]
fn one_of_many_says_when_and_is_the_same_document() {
    let report = report(&Fact::Absent, &[]);
    let time = "2026-01-02T03:04:05.6Z".parse().unwrap();
    let moment = Moment::new(&report, time);
    assert_eq!(
        shown(&moment),
        "2026-01-02T03:04:05Z\nStatus:  idle\nKernel:  no sched_ext\n\n"
    );
    assert_eq!(judged("status", &moment), judged("status", &report));
}

#[test]
fn counters_are_no_news() {
    let one = report(&attached(), &[lab()]);
    let mut two = one.clone();
    assert!(one.agrees_with(&two));
    two.discrepancy = Some("new".to_owned());
    assert!(!one.agrees_with(&two));
    let Fact::Known(mut later) = attached() else {
        unreachable!()
    };
    later.events = Fact::Absent;
    assert!(one.agrees_with(&report(&Fact::Known(later), &[lab()])));
}
