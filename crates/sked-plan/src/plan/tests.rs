//! Which DaemonSets are made, put right, removed, and which are left alone.

use std::sync::Arc;

use serde_json::{Value, json};
use sked_api::SchedExt;

use super::*;
use crate::check::check_plan;
use crate::fixture::{key, live, observed, schedext};

fn with_pool() -> SchedExt {
    let pools = json!([{"name": "batch", "nodeSelector": {"pool": "batch"}}]);
    schedext("one", json!({"sched": "example/one:1", "pools": pools}))
}

/// What is done, in words; the judge has nothing to say about it.
fn words(observed: &Observed) -> Vec<String> {
    let plan = plan(observed);
    assert_eq!(check_plan(observed, &plan), vec![]);
    let name = |one: &DaemonSet| one.metadata.name.clone().unwrap();
    let steps = plan.steps.iter().map(|step| match step {
        Step::Create(wanted) => format!("create {}", name(wanted)),
        Step::Replace { wanted, .. } => format!("replace {}", name(wanted)),
        Step::Delete { key, .. } => format!("delete {}", key.name),
    });
    let taken = plan
        .taken
        .iter()
        .map(|taken| format!("{} has {}", taken.by, taken.key.name));
    let held = plan
        .held
        .iter()
        .map(|held| format!("hold {} {:?}", held.key.name, held.until));
    steps.chain(taken).chain(held).collect()
}

#[test]
fn what_is_missing_is_made_and_what_matches_is_left_alone() {
    let one = with_pool();
    assert_eq!(
        words(&observed(&one, &[])),
        ["create one", "create one-batch"]
    );
    let live = live(&one);
    assert_eq!(words(&observed(&one, &live)), Vec::<String>::new());
    assert_eq!(words(&observed(&one, &live[..1])), ["create one-batch"]);
}

#[test]
fn what_somebody_added_is_put_right_and_a_restart_is_not() {
    let one = with_pool();
    let mut live = live(&one);
    live[0]["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    live[1]["spec"]["template"]["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/restartedAt": "now"});
    assert_eq!(words(&observed(&one, &live)), ["replace one"]);
}

/// As the operator that was written in Go made them.
#[test]
fn what_the_former_operator_made_is_taken_over() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let mut live = live(&one);
    live[0]["spec"]["template"]["metadata"]["labels"] =
        json!({"name": "one", "managed-by": "sked-controller"});
    live[0]["spec"]["template"]["spec"] = json!({"containers": [
        {"name": "scx", "image": "example/one:1", "securityContext": {"privileged": true}},
    ]});
    assert_eq!(words(&observed(&one, &live)), ["replace one"]);
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let controlled = |owner: Value| {
        let mut live = live(&one);
        live[0]["metadata"]["ownerReferences"] = owner;
        live[0]["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
        words(&observed(&one, &live))
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
fn pools_that_are_gone_or_yield_are_removed() {
    let one = with_pool();
    let live = live(&one);
    let mut without = one.clone();
    without.spec.pools.clear();
    assert_eq!(words(&observed(&without, &live)), ["delete one-batch"]);
    let mut yields = observed(&one, &live);
    let share = Arc::make_mut(&mut yields.share);
    share.parts.remove(&Some("batch".to_owned()));
    share.yields.insert("batch".to_owned(), key("one-batch"));
    let said = "the SchedExt default/one-batch, whose own name goes first has one-batch";
    assert_eq!(words(&yields), ["delete one-batch", said]);
}

#[test]
fn nothing_is_made_or_widened_before_nodes_are_labelled() {
    let one = with_pool();
    let mut waits = observed(&one, &[]);
    let share = Arc::make_mut(&mut waits.share);
    share.parts.get_mut(&None).unwrap().waits_for = vec!["node1".into()];
    let held = "hold one Labelled([NodeName(\"node1\")])";
    assert_eq!(words(&waits), ["create one-batch", held]);
    let mut changed = one.clone();
    changed.metadata.generation = Some(2);
    let mut early = observed(&changed, &[]);
    Arc::make_mut(&mut early.share).generation = 1;
    assert_eq!(
        words(&early),
        ["hold one Claimed", "hold one-batch Claimed"]
    );
}

#[test]
fn what_is_being_deleted_is_waited_for() {
    let mut one = schedext("one", json!({"sched": "example/one:1"}));
    let mut live = live(&one);
    live[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    live[0]["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(words(&observed(&one, &live)), ["hold one Gone"]);
    one.metadata.deletion_timestamp = one.metadata.creation_timestamp.clone();
    assert_eq!(words(&observed(&one, &[])), Vec::<String>::new());
}
