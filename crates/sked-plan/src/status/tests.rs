//! Conditions, counts and problems, case by case.

mod kernels;
mod preflight;

use std::sync::Arc;

use schedkit_core::SchedulerExit;
use serde_json::json;
use sked_api::{Reason, SchedExt, SchedExtStatus};

use super::*;
use crate::check::Violation;
use crate::eligibility::ExclusionReason;
use crate::fixture::{key, live, observed, pod, schedext};
use crate::live_pod::{ContainerExit, PodState};
use crate::name::Uid;
use crate::observed::FailedCreate;
use crate::part::PartId;
use crate::plan::{Attempt, Failure, plan};

fn one() -> SchedExt {
    schedext("one", json!({"sched": "example/one:1"}))
}

fn settled() -> Observed {
    let one = one();
    observed(&one, &live(&one))
}

fn status_of(observed: &Observed) -> SchedExtStatus {
    status(observed, &plan(observed), &Outcome::default())
}

/// `Ready=Unknown/NoKernelReport` and so on.
fn values(status: &SchedExtStatus) -> Vec<String> {
    let value = |one: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        assert!(
            !one.message.is_empty() && one.message.len() < 1024,
            "{one:?}"
        );
        format!("{}={}/{}", one.type_, one.status, one.reason)
    };
    status.conditions.iter().map(value).collect()
}

const CALM: [&str; 4] = [
    "Ready=Unknown/NoKernelReport",
    "Progressing=False/UpToDate",
    "Degraded=False/AsExpected",
    "Conflicted=False/NoConflict",
];

fn last_exit(code: i32, message: &str) -> ContainerExit {
    ContainerExit {
        code,
        reason: "Error".to_owned(),
        exit_message: SchedulerExit::parse(message),
        at: None,
    }
}

#[test]
fn a_running_pod_does_not_count_as_attached() {
    let mut observed = settled();
    observed.pods = vec![pod("one", "node1", PodState::Running)];
    let status = status_of(&observed);
    assert_eq!(values(&status), CALM);
    let counts = status.counts.unwrap();
    assert_eq!(
        (counts.desired, counts.attached, counts.conflicted),
        (2, None, 0)
    );
    assert_eq!(status.observed_generation, Some(1));
    assert_eq!(status.problems, vec![]);
}

#[test]
fn no_nodes_is_reported_at_once_whatever_the_controller_has_processed() {
    let mut observed = observed(&one(), &[]);
    Arc::make_mut(&mut observed.assignment)
        .parts
        .get_mut(&PartId::stable(None))
        .unwrap()
        .nodes
        .clear();
    let status = status_of(&observed);
    assert_eq!(
        values(&status)[..2],
        ["Ready=False/NoNodes", "Progressing=False/UpToDate"]
    );
    let mut live = live(&one());
    live[0]["status"] = json!({});
    let mut later = self::observed(&one(), &live);
    later.assignment = observed.assignment.clone();
    assert_eq!(values(&status_of(&later)), values(&status));
}

#[test]
fn each_state_of_a_pod_has_its_reason() {
    let waiting = |reason: &str| PodState::Waiting {
        reason: reason.to_owned(),
        message: "no such image".to_owned(),
    };
    let ended = |code, message: &str| (PodState::Ended, Some(last_exit(code, message)));
    let only = |state| (state, None);
    let failed = PodState::Failed {
        reason: "Evicted".to_owned(),
        message: String::new(),
    };
    let stall = "EXIT: runnable task stall (stress[412] failed to run for 30.2s)";
    for ((state, last_exit), reason, problem_reason, text) in [
        (
            only(waiting("ImagePullBackOff")),
            Reason::ImageError,
            "ImageError",
            "imagePullSecrets",
        ),
        (
            only(waiting("CreateContainerError")),
            Reason::ContainerError,
            "ContainerError",
            "cannot start",
        ),
        (
            ended(1, stall),
            Reason::Ejected,
            "Stall",
            "Stall: it did not run a task in time",
        ),
        (
            ended(1, "libbpf: failed to open system Kconfig"),
            Reason::SchedulerEnded,
            "LoadFailedKconfig",
            "CONFIG_IKCONFIG_PROC",
        ),
        (
            ended(137, ""),
            Reason::SchedulerEnded,
            "SchedulerEnded",
            "exit code 137",
        ),
        (only(failed), Reason::PodFailed, "PodFailed", "Evicted"),
        (
            only(PodState::Unscheduled(Some("no room".to_owned()))),
            Reason::PodPending,
            "PodPending",
            "no room",
        ),
    ] {
        let mut observed = settled();
        let mut pod = pod("one", "node1", state);
        Arc::make_mut(&mut pod).last_exit = last_exit;
        observed.pods = vec![pod];
        let status = status_of(&observed);
        let problem = &status.problems[0];
        assert_eq!(
            (&*problem.node, &*problem.reason),
            ("node1", problem_reason)
        );
        assert!(problem.message.contains(text), "{}", problem.message);
        let degraded = format!("Degraded=True/{}", reason.as_str());
        assert_eq!(
            values(&status).contains(&degraded),
            reason.is_degraded(),
            "{reason:?}"
        );
        assert!(values(&status)[0].starts_with("Ready=False/"), "{reason:?}");
    }
}

#[test]
fn a_benign_exit_is_progress_and_no_issue() {
    let mut observed = settled();
    let output = "EXIT: unregistered from the main kernel (cpu 1 going offline, exiting scheduler)";
    let mut pod = pod("one", "node1", PodState::Ended);
    Arc::make_mut(&mut pod).last_exit = Some(last_exit(86, output));
    observed.pods = vec![pod];
    assert_eq!(
        values(&status_of(&observed))[1..3],
        ["Progressing=True/RollingOut", CALM[2]]
    );
    Arc::make_mut(&mut observed.pods[0]).restarts = 3;
    assert_eq!(
        values(&status_of(&observed))[2],
        "Degraded=True/SchedulerEnded"
    );
}

#[test]
fn each_failure_of_a_write_has_its_reason() {
    let quota = "daemonsets.apps \"one\" is forbidden: exceeded quota: few";
    let last_exit = "unable to create new content in namespace x because it is being terminated";
    for (status_code, attempt, message, reason) in [
        (
            Some(409),
            Attempt::Create,
            "already exists",
            Some(Reason::NameConflict),
        ),
        (
            Some(409),
            Attempt::Replace,
            "object has been modified",
            None,
        ),
        (Some(404), Attempt::Delete, "not found", None),
        (
            Some(403),
            Attempt::Create,
            quota,
            Some(Reason::QuotaExceeded),
        ),
        (
            Some(403),
            Attempt::Create,
            last_exit,
            Some(Reason::NamespaceTerminating),
        ),
        (
            Some(404),
            Attempt::Create,
            "namespaces \"x\" not found",
            Some(Reason::NamespaceTerminating),
        ),
        (
            Some(403),
            Attempt::Replace,
            "cannot patch",
            Some(Reason::NotAllowed),
        ),
        (
            Some(422),
            Attempt::Create,
            "is invalid",
            Some(Reason::InvalidSpec),
        ),
        (
            Some(503),
            Attempt::Create,
            "try later",
            Some(Reason::ApplyFailed),
        ),
        (
            None,
            Attempt::Create,
            "connection refused",
            Some(Reason::ApplyFailed),
        ),
    ] {
        let observed = observed(&one(), &[]);
        let failure = Failure {
            attempt,
            key: key("one"),
            status: status_code,
            reason: String::new(),
            message: message.to_owned(),
        };
        let outcome = Outcome {
            failure: Some(failure),
            ..Outcome::default()
        };
        let status = status(&observed, &plan(&observed), &outcome);
        let expected = reason.map_or("RollingOut", Reason::as_str);
        assert_eq!(
            values(&status)[0],
            format!("Ready=False/{expected}"),
            "{message}"
        );
        let problem = status.problems.first().map(|problem| &*problem.reason);
        assert_eq!(problem, reason.map(Reason::as_str), "{message}");
    }
}

#[test]
fn a_violation_is_a_condition() {
    let mut observed = settled();
    let outcome = Outcome {
        violations: vec![Violation::NotOurs { key: key("one") }.to_string()],
        ..Outcome::default()
    };
    let by_plan = status(&observed, &plan(&observed), &outcome);
    assert_eq!(values(&by_plan)[2], "Degraded=True/CheckFailed");
    let message = &by_plan.conditions[2].message;
    assert!(message.contains("is not ours to write"), "{message}");
    Arc::make_mut(&mut observed.assignment).violation = Some("claim nodes: …".to_owned());
    let by_claims = status_of(&observed);
    assert_eq!(values(&by_claims)[2], "Degraded=True/CheckFailed");
}

#[test]
fn the_most_important_problems_are_shown_and_a_foreign_scheduler_is_found_behind_many_others() {
    let mut observed = settled();
    let excluded = &mut Arc::make_mut(&mut observed.assignment).excluded;
    for number in 10..30 {
        let reason = ExclusionReason::Unsupported("5.10".to_owned());
        excluded.add(&format!("node{number}").as_str().into(), &reason);
    }
    let foreign = ExclusionReason::Foreign(None);
    excluded.add(&"node99".into(), &foreign);
    observed.pods = vec![pod(
        "one",
        "node2",
        PodState::Failed {
            reason: "Evicted".to_owned(),
            message: String::new(),
        },
    )];
    let status = status_of(&observed);
    let reasons: Vec<_> = status.problems.iter().map(|one| &*one.reason).collect();
    assert_eq!(
        reasons[..3],
        ["PodFailed", "ForeignScheduler", "UnsupportedKernel"]
    );
    assert_eq!((reasons.len(), status.more_problems), (10, Some(12)));
    assert_eq!(values(&status)[3], "Conflicted=True/ForeignScheduler");
}

#[test]
fn the_same_refusal_of_another_pod_changes_nothing() {
    let mut observed = settled();
    let mut refused = |message: &str| {
        observed.failed_creates = vec![FailedCreate {
            daemonset: Uid("ds-one".to_owned()),
            message: message.to_owned(),
            at: observed.now,
        }];
        let message = status_of(&observed).problems[0].message.clone();
        assert!(message.contains("a pod is forbidden: exceeded quota: q"));
        message
    };
    let first = refused(r#"Error creating: pods "one-x7k2p" is forbidden: exceeded quota: q"#);
    let again = r#"(combined from similar events): Error creating: pods "one-9zzlw" is forbidden: exceeded quota: q"#;
    assert_eq!(refused(again), first);
}

#[test]
fn a_refusal_counts_while_pods_are_missing() {
    let mut observed = settled();
    observed.failed_creates = vec![FailedCreate {
        daemonset: Uid("ds-one".to_owned()),
        message: "violates PodSecurity \"baseline:latest\"".to_owned(),
        at: observed.now,
    }];
    let status = status_of(&observed);
    assert_eq!(values(&status)[2], "Degraded=True/PodsRefused");
    assert!(status.problems[0].message.contains("enforce=privileged"));
    let running = |node| pod("one", node, PodState::Running);
    observed.pods = vec![running("node1"), running("node2")];
    assert_eq!(values(&status_of(&observed)), CALM);
}

#[test]
fn lost_nodes_are_listed_with_their_owner_and_the_rest_is_counted() {
    let mut observed = settled();
    let lost = &mut Arc::make_mut(&mut observed.assignment).lost;
    lost.count = 25;
    let node = |at: usize| (format!("node{at:02}").into(), key("other"));
    lost.nodes = (0..10).map(node).collect();
    observed.pods = vec![pod(
        "one",
        "node05",
        PodState::Failed {
            reason: "Evicted".to_owned(),
            message: String::new(),
        },
    )];
    let status = status_of(&observed);
    assert_eq!(values(&status)[3], "Conflicted=True/OwnedByOther");
    assert_eq!(
        (status.problems.len(), status.more_problems),
        (10, Some(16))
    );
    let (failed, lost) = status.problems.split_first().unwrap();
    assert_eq!(failed.reason, "PodFailed");
    assert!(lost[0].message.contains("default/other"));
    assert!(lost.is_sorted_by_key(|problem| problem.node.clone()));
}

#[test]
fn an_unchanged_condition_keeps_its_time() {
    let mut observed = settled();
    observed.pods = vec![pod(
        "one",
        "node1",
        PodState::Waiting {
            reason: "ErrImagePull".to_owned(),
            message: "first".to_owned(),
        },
    )];
    let first = status_of(&observed);
    let mut next = one();
    next.status = Some(first.clone());
    observed.schedext = Arc::new(next);
    observed.now = "2026-03-01T00:00:00Z".parse().unwrap();
    assert_eq!(status_of(&observed), first);
    observed.pods.clear();
    let second = status_of(&observed);
    let time = |status: &SchedExtStatus, at: usize| status.conditions[at].last_transition_time.0;
    assert_eq!(time(&second, 2), observed.now);
    assert_eq!(time(&second, 3), time(&first, 3));
    let events = events(Some(&first), &second);
    assert_eq!(events.len(), 1);
    assert_eq!(
        (events[0].kind, &*events[0].reason),
        (EventKind::Normal, "AsExpected")
    );
}

#[test]
fn events_report_each_change_once() {
    let calm = status_of(&settled());
    assert_eq!(events(None, &calm), vec![]);
    let mut observed = settled();
    let failed = PodState::Failed {
        reason: "Evicted".to_owned(),
        message: String::new(),
    };
    observed.pods = vec![pod("one", "node1", failed)];
    let wrong = status_of(&observed);
    for before in [None, Some(&calm)] {
        let found = events(before, &wrong);
        assert_eq!(
            (found[0].kind, &*found[0].reason),
            (EventKind::Warning, "PodFailed")
        );
    }
    assert_eq!(events(Some(&wrong), &wrong), vec![]);
    let mut other = calm.clone();
    other.revision = Some("0".to_owned());
    assert_eq!(events(Some(&calm), &other)[0].reason, "NewRevision");
}

#[test]
fn events_report_each_step_of_a_roll_out() {
    let calm = status_of(&settled());
    let with = |canary: &[&str], quarantined: &[&str], request: &str| {
        let time = "2026-01-01T00:00:00Z";
        let one = |node: &&str| json!({"node": node, "since": time, "revision": "a", "reason": "Stall", "message": "m"});
        let mut status = calm.clone();
        let nodes = quarantined.iter().map(one).collect::<Vec<_>>();
        status.quarantined = serde_json::from_value(json!(nodes)).unwrap();
        let rollout = json!({
            "revision": "a", "selection": "s", "phase": "Canary", "since": time,
            "canaries": [{"wanted": canary.len(), "nodes": canary}],
        });
        status.rollout = Some(serde_json::from_value(rollout).unwrap());
        status.handled_request = Some(request.to_owned());
        status
    };
    let said = |old: &SchedExtStatus, new: &SchedExtStatus| -> Vec<(String, String)> {
        let events = events(Some(old), new).into_iter();
        events.map(|one| (one.reason, one.message)).collect()
    };
    let first = with(&["n1"], &[], "retry");
    let second = with(&["n2", "n3"], &["n1", "n4", "n5", "n6"], "release n9");
    let expected = [
        ("RequestCarriedOut", "release n9 was carried out"),
        ("CanaryNodesChosen", "revision a starts on n2, n3"),
        ("CanaryNodesReturned", "not in the canary any more: n1"),
        (
            "NodesQuarantined",
            "the kernel's own scheduler runs there from now on: n1, n4, n5 and 1 more",
        ),
    ];
    let expected = expected.map(|(reason, message)| (reason.to_owned(), message.to_owned()));
    assert_eq!(said(&first, &second), expected);
    assert_eq!(said(&second, &second), []);
    let refused = with(
        &["n2", "n3"],
        &[],
        "abort - refused: nothing is being rolled out",
    );
    let released = said(&second, &refused);
    assert_eq!(released.len(), 1, "{released:?}");
    assert_eq!(released[0].0, "NodesReleased");
}

#[test]
fn the_revision_does_not_depend_on_where_it_runs() {
    let revision = |spec| revision(&schedext("one", spec));
    let first = revision(json!({"sched": "a"}));
    assert_eq!(
        first,
        revision(json!({"sched": "a", "nodeSelector": {"x": "y"}, "priority": 1}))
    );
    assert_ne!(first, revision(json!({"sched": "b"})));
    assert_ne!(first, revision(json!({"sched": "a", "args": ["x"]})));
    let two = revision(json!({"sched": "a", "args": ["x", "y"]}));
    assert_ne!(two, revision(json!({"sched": "a", "args": ["xy"]})));
}
