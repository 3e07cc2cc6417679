//! Which DaemonSets are created, replaced, deleted, and which are left alone.

use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::DaemonSet;
use serde_json::{Value, json};
use sked_api::SchedExt;

use super::*;
use crate::check::check_plan;
use crate::fingerprint::fingerprint;
use crate::fixture::{key, live, observed, pod, schedext};
use crate::live_pod::PodState;
use crate::name::{OwnerId, Uid};
use crate::observed::FutileReplace;
use crate::part::PartId;

fn with_pool() -> SchedExt {
    let pools = json!([{"name": "batch", "nodeSelector": {"pool": "batch"}}]);
    schedext("one", json!({"sched": "example/one:1", "pools": pools}))
}

/// The plan as text, after the checks have accepted it.
fn described(observed: &Observed) -> Vec<String> {
    let plan = plan(observed);
    assert_eq!(check_plan(observed, &plan), vec![]);
    let name = |one: &DaemonSet| one.metadata.name.clone().unwrap();
    let steps = plan.steps.iter().map(|step| match step {
        PlanStep::Create(desired) => format!("create {}", name(desired)),
        PlanStep::Replace { desired, .. } => format!("replace {}", name(desired)),
        PlanStep::Touch { key, .. } => format!("touch {}", key.name),
        PlanStep::Delete { key, .. } => format!("delete {}", key.name),
    });
    let taken = plan
        .taken
        .iter()
        .map(|taken| format!("{} has {}", taken.by, taken.key.name));
    let waiting = plan
        .waiting
        .iter()
        .map(|waiting| format!("wait {} {:?}", waiting.key.name, waiting.waits_for));
    steps.chain(taken).chain(waiting).collect()
}

#[test]
fn a_missing_daemonset_is_created_and_a_matching_one_left_alone() {
    let one = with_pool();
    assert_eq!(
        described(&observed(&one, &[])),
        ["create one", "create one-batch"]
    );
    let live = live(&one);
    assert_eq!(described(&observed(&one, &live)), Vec::<String>::new());
    assert_eq!(described(&observed(&one, &live[..1])), ["create one-batch"]);
}

#[test]
fn a_field_added_by_others_is_reset_and_a_restart_is_not() {
    let one = with_pool();
    let mut live = live(&one);
    live[0]["spec"]["template"]["spec"]["hostIPC"] = json!(true);
    live[1]["spec"]["template"]["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/restartedAt": "now"});
    assert_eq!(described(&observed(&one, &live)), ["replace one"]);
}

/// Templates as the former operator, written in Go, created them.
#[test]
fn daemonsets_of_the_former_operator_are_adopted() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let mut live = live(&one);
    live[0]["spec"]["template"]["metadata"]["labels"] =
        json!({"name": "one", "managed-by": "sked-controller"});
    live[0]["spec"]["template"]["spec"] = json!({"containers": [
        {"name": "scx", "image": "example/one:1", "securityContext": {"privileged": true}},
    ]});
    assert_eq!(described(&observed(&one, &live)), ["replace one"]);
}

#[test]
fn daemonsets_of_others_are_never_written() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let controlled = |owner: Value| {
        let mut live = live(&one);
        live[0]["metadata"]["ownerReferences"] = owner;
        live[0]["spec"]["template"]["spec"]["hostIPC"] = json!(true);
        described(&observed(&one, &live))
    };
    let taken = |owner: Value| controlled(owner)[0].ends_with(" has one");
    assert!(taken(json!([])));
    let earlier = json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt", "name": "one",
        "uid": "an-earlier-life", "controller": true});
    assert!(taken(json!([earlier])));
    let stranger = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
        "uid": "uid-of-one", "controller": true});
    assert_eq!(controlled(json!([stranger])), ["Deployment/web has one"]);
}

#[test]
fn daemonsets_of_pools_that_are_gone_or_yield_are_deleted() {
    let one = with_pool();
    let live = live(&one);
    let mut without = one.clone();
    without.spec.pools.clear();
    assert_eq!(described(&observed(&without, &live)), ["delete one-batch"]);
    let mut yields = observed(&one, &live);
    let assignment = Arc::make_mut(&mut yields.assignment);
    assignment.parts.remove(&PartId::stable(Some("batch")));
    assignment
        .yields
        .insert(PartId::stable(Some("batch")), key("one-batch"));
    let taken = "the SchedExt default/one-batch, whose own DaemonSet has precedence has one-batch";
    assert_eq!(described(&yields), ["delete one-batch", taken]);
}

#[test]
fn nothing_is_created_or_widened_before_nodes_are_labelled() {
    let one = with_pool();
    let mut waits = observed(&one, &[]);
    let assignment = Arc::make_mut(&mut waits.assignment);
    assignment
        .parts
        .get_mut(&PartId::stable(None))
        .unwrap()
        .waits_for = vec!["node1".into()];
    let waiting = "wait one Labels([NodeName(\"node1\")])";
    assert_eq!(described(&waits), ["create one-batch", waiting]);
    let mut changed = one.clone();
    changed.metadata.generation = Some(2);
    let mut early = observed(&changed, &[]);
    Arc::make_mut(&mut early.assignment).generation = 1;
    assert_eq!(
        described(&early),
        ["wait one Claims", "wait one-batch Claims"]
    );
}

#[test]
fn a_daemonset_that_is_being_deleted_is_waited_for() {
    let mut one = schedext("one", json!({"sched": "example/one:1"}));
    let mut live = live(&one);
    live[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    live[0]["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(described(&observed(&one, &live)), ["wait one Deletion"]);
    one.metadata.deletion_timestamp = one.metadata.creation_timestamp.clone();
    assert_eq!(described(&observed(&one, &[])), Vec::<String>::new());
}

#[test]
fn a_replace_that_had_no_effect_is_not_planned_again() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let desired = fingerprint(&live(&one)[0]);
    let mut live = live(&one);
    live[0]["spec"]["template"]["spec"]["hostIPC"] = json!(true);
    let mut observed = observed(&one, &live);
    assert_eq!(described(&observed), ["replace one"]);
    let stored = observed.daemonsets[0].fingerprint;
    let uid = Uid("ds-one".to_owned());
    let tried = FutileReplace { desired, stored };
    observed.futile.insert(uid.clone(), tried);
    assert_eq!(described(&observed), Vec::<String>::new());
    // The spec or the live DaemonSet has changed since: it is worth another attempt.
    for other in [
        FutileReplace {
            desired: stored,
            stored,
        },
        FutileReplace {
            desired,
            stored: desired,
        },
    ] {
        observed.futile.insert(uid.clone(), other);
        assert_eq!(described(&observed), ["replace one"]);
    }
}

/// A pod that waits for a node which another SchedExt got.
#[test]
fn a_daemonset_with_pods_for_nodes_of_others_is_touched_ever_more_rarely() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let mut observed = observed(&one, &live(&one));
    let waiting = PodState::Unscheduled(Some("free ports".to_owned()));
    observed.pods = vec![pod("one", "node1", waiting)];
    assert_eq!(
        described(&observed),
        Vec::<String>::new(),
        "nobody has the node"
    );
    let other = OwnerId::new(&Uid("other".to_owned()), None).to_string();
    observed.owner_labels.insert("node1".into(), other);
    let created = observed.now;
    Arc::make_mut(&mut observed.pods[0]).created = created;
    let mut touched = Vec::new();
    for second in 0..600 {
        observed.now = created + SignedDuration::from_secs(second);
        if let [PlanStep::Touch { at, .. }] = &plan(&observed).steps[..] {
            Arc::make_mut(&mut observed.daemonsets[0]).touched = Some(*at);
            touched.push(second);
        }
        assert_eq!(plan(&observed).steps, [], "once");
        assert!(crate::status::due(&observed).is_some());
    }
    assert_eq!(touched, [10, 70, 140, 280, 560]);
}
