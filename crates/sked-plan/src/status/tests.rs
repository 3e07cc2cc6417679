//! What is said in which case.

mod kernels;

use std::sync::Arc;

use schedkit_core::SchedulerExit;
use serde_json::json;
use sked_api::{Reason, SchedExt, SchedExtStatus};

use super::*;
use crate::fixture::{key, live, observed, pod, schedext};
use crate::name::Uid;
use crate::observed::{Ending, PodState, Refusal};
use crate::plan::{Attempt, Failure, plan};

fn one() -> SchedExt {
    schedext("one", json!({"sched": "example/one:1"}))
}

fn settled() -> Observed {
    let one = one();
    observed(&one, &live(&one))
}

fn said(observed: &Observed) -> SchedExtStatus {
    status(observed, &plan(observed), &Outcome::default())
}

/// `Ready=Unknown/NoKernelReport` and so on.
fn words(status: &SchedExtStatus) -> Vec<String> {
    let word = |one: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        assert!(
            !one.message.is_empty() && one.message.len() < 1024,
            "{one:?}"
        );
        format!("{}={}/{}", one.type_, one.status, one.reason)
    };
    status.conditions.iter().map(word).collect()
}

const CALM: [&str; 4] = [
    "Ready=Unknown/NoKernelReport",
    "Progressing=False/UpToDate",
    "Degraded=False/AsExpected",
    "Conflicted=False/NoConflict",
];

fn ending(code: i32, message: &str) -> Ending {
    Ending {
        code,
        reason: "Error".to_owned(),
        words: SchedulerExit::parse(message),
        at: None,
    }
}

#[test]
fn a_pod_that_runs_is_not_called_attached() {
    let mut observed = settled();
    observed.pods = vec![pod("one", "node1", PodState::Running)];
    let status = said(&observed);
    assert_eq!(words(&status), CALM);
    let counts = status.counts.unwrap();
    assert_eq!(
        (counts.desired, counts.attached, counts.conflicted),
        (2, None, 0)
    );
    assert_eq!(status.observed_generation, Some(1));
    assert_eq!(status.problems, vec![]);
}

#[test]
fn no_node_is_said_at_once_whatever_the_controller_has_seen() {
    let mut observed = observed(&one(), &[]);
    Arc::make_mut(&mut observed.share)
        .parts
        .get_mut(&None)
        .unwrap()
        .nodes = 0;
    let status = said(&observed);
    assert_eq!(
        words(&status)[..2],
        ["Ready=False/NoNodes", "Progressing=False/UpToDate"]
    );
    let mut live = live(&one());
    live[0]["status"] = json!({});
    let mut later = self::observed(&one(), &live);
    later.share = observed.share.clone();
    assert_eq!(words(&said(&later)), words(&status));
}

#[test]
fn each_state_of_a_pod_has_its_word() {
    let waiting = |reason: &str| PodState::Waiting {
        reason: reason.to_owned(),
        message: "no such image".to_owned(),
    };
    let ended = |code, message: &str| (PodState::Ended, Some(ending(code, message)));
    let only = |state| (state, None);
    let failed = PodState::Failed {
        reason: "Evicted".to_owned(),
        message: String::new(),
    };
    let stall = "EXIT: runnable task stall (stress[412] failed to run for 30.2s)";
    for ((state, ending), reason, word, text) in [
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
        Arc::make_mut(&mut pod).ending = ending;
        observed.pods = vec![pod];
        let status = said(&observed);
        let problem = &status.problems[0];
        assert_eq!((&*problem.node, &*problem.reason), ("node1", word));
        assert!(problem.message.contains(text), "{}", problem.message);
        let degraded = format!("Degraded=True/{}", reason.as_str());
        assert_eq!(
            words(&status).contains(&degraded),
            reason.is_degraded(),
            "{reason:?}"
        );
        assert!(words(&status)[0].starts_with("Ready=False/"), "{reason:?}");
    }
}

#[test]
fn a_scheduler_that_let_go_without_blame_is_only_on_its_way() {
    let mut observed = settled();
    let words_of_it =
        "EXIT: unregistered from the main kernel (cpu 1 going offline, exiting scheduler)";
    let mut pod = pod("one", "node1", PodState::Ended);
    Arc::make_mut(&mut pod).ending = Some(ending(86, words_of_it));
    observed.pods = vec![pod];
    assert_eq!(
        words(&said(&observed))[1..3],
        ["Progressing=True/RollingOut", CALM[2]]
    );
    Arc::make_mut(&mut observed.pods[0]).restarts = 3;
    assert_eq!(words(&said(&observed))[2], "Degraded=True/SchedulerEnded");
}

#[test]
fn each_failure_of_a_write_has_its_word() {
    let quota = "daemonsets.apps \"one\" is forbidden: exceeded quota: few";
    let ending = "unable to create new content in namespace x because it is being terminated";
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
            ending,
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
        };
        let status = status(&observed, &plan(&observed), &outcome);
        let word = reason.map_or("RollingOut", Reason::as_str);
        assert_eq!(
            words(&status)[0],
            format!("Ready=False/{word}"),
            "{message}"
        );
        let problem = status.problems.first().map(|problem| &*problem.reason);
        assert_eq!(problem, reason.map(Reason::as_str), "{message}");
    }
}

#[test]
fn the_same_refusal_of_another_pod_is_nothing_new() {
    let mut observed = settled();
    let mut refused = |message: &str| {
        observed.refusals = vec![Refusal {
            daemonset: Uid("ds-one".to_owned()),
            message: message.to_owned(),
            at: observed.now,
        }];
        let message = said(&observed).problems[0].message.clone();
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
    observed.refusals = vec![Refusal {
        daemonset: Uid("ds-one".to_owned()),
        message: "violates PodSecurity \"baseline:latest\"".to_owned(),
        at: observed.now,
    }];
    let status = said(&observed);
    assert_eq!(words(&status)[2], "Degraded=True/PodsRefused");
    assert!(status.problems[0].message.contains("enforce=privileged"));
    let running = |node| pod("one", node, PodState::Running);
    observed.pods = vec![running("node1"), running("node2")];
    assert_eq!(words(&said(&observed)), CALM);
}

#[test]
fn lost_nodes_are_told_with_who_has_them_and_the_rest_is_counted() {
    let mut observed = settled();
    let lost = &mut Arc::make_mut(&mut observed.share).lost;
    lost.count = 25;
    let node = |at: usize| (format!("node{at:02}").into(), key("rival"));
    lost.nodes = (0..10).map(node).collect();
    observed.pods = vec![pod(
        "one",
        "node05",
        PodState::Failed {
            reason: "Evicted".to_owned(),
            message: String::new(),
        },
    )];
    let status = said(&observed);
    assert_eq!(words(&status)[3], "Conflicted=True/OwnedByOther");
    assert_eq!(
        (status.problems.len(), status.more_problems),
        (10, Some(16))
    );
    assert!(status.problems[0].message.contains("default/rival"));
    assert!(
        status
            .problems
            .is_sorted_by_key(|problem| problem.node.clone())
    );
}

#[test]
fn what_stays_true_keeps_its_time_and_what_changes_gets_a_new_one() {
    let mut observed = settled();
    observed.pods = vec![pod(
        "one",
        "node1",
        PodState::Waiting {
            reason: "ErrImagePull".to_owned(),
            message: "first".to_owned(),
        },
    )];
    let first = said(&observed);
    let mut next = one();
    next.status = Some(first.clone());
    observed.schedext = Arc::new(next);
    observed.now = "2026-03-01T00:00:00Z".parse().unwrap();
    assert_eq!(said(&observed), first);
    observed.pods.clear();
    let second = said(&observed);
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
fn events_tell_what_changed_and_nothing_twice() {
    let calm = said(&settled());
    assert_eq!(events(None, &calm), vec![]);
    let mut observed = settled();
    let failed = PodState::Failed {
        reason: "Evicted".to_owned(),
        message: String::new(),
    };
    observed.pods = vec![pod("one", "node1", failed)];
    let wrong = said(&observed);
    for before in [None, Some(&calm)] {
        let told = events(before, &wrong);
        assert_eq!(
            (told[0].kind, &*told[0].reason),
            (EventKind::Warning, "PodFailed")
        );
    }
    assert_eq!(events(Some(&wrong), &wrong), vec![]);
    let mut other = calm.clone();
    other.revision = Some("0".to_owned());
    assert_eq!(events(Some(&calm), &other)[0].reason, "NewRevision");
}

#[test]
fn where_it_runs_is_no_part_of_the_revision() {
    let revision = |spec| revision::revision(&schedext("one", spec));
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
