//! Claims and plans that the checks must reject.

use std::sync::Arc;

use serde_json::json;
use sked_api::label;

use super::*;
use crate::claim::{LabelWrite, OwnerLabel, claim};
use crate::fixture::{key, live, node, observed, schedext};
use crate::name::{OwnerId, Uid};
use crate::node::Node;
use crate::observed::Fleet;
use crate::plan::{Plan, PlanStep, plan};

fn fleet(owner: Option<&str>) -> Fleet {
    let names = ["one", "two"].into_iter();
    let label = owner.map(|owner| (label::OWNER.to_owned(), owner.to_owned()));
    Fleet {
        schedexts: names
            .map(|name| Arc::new(schedext(name, json!({"sched": "example/one:1"}))))
            .collect(),
        nodes: vec![Arc::new(Node {
            labels: label.into_iter().collect(),
            ..node("node1")
        })],
        ..Fleet::default()
    }
}

#[test]
fn two_owners_and_inconsistent_or_forbidden_writes() {
    let fleet = fleet(None);
    let good = claim(&fleet);
    assert_eq!(check_claims(&fleet, &good), vec![]);
    let mut none = good.clone();
    let write = none.writes.pop().unwrap();
    let two = Violation::TwoOwners {
        node: "node1".into(),
        first: key("one"),
        second: key("two"),
    };
    assert_eq!(check_claims(&fleet, &none), vec![two]);
    let node = write.node.clone();
    let mut twice = good.clone();
    twice.writes.push(write.clone());
    assert_eq!(
        check_claims(&fleet, &twice),
        vec![Violation::InconsistentLabelWrite { node: node.clone() }]
    );
    let mut stale = good.clone();
    stale.writes[0].from = Some("other".to_owned());
    assert_eq!(
        check_claims(&fleet, &stale),
        vec![Violation::InconsistentLabelWrite { node: node.clone() }]
    );
    let mut many = good.clone();
    for assignment in many.assignments.values_mut() {
        Arc::make_mut(assignment).lost.count += 1;
    }
    assert_eq!(check_claims(&fleet, &many).len(), 2);
    let reserved = self::fleet(Some("foreign"));
    let mut claims = claim(&reserved);
    assert_eq!(check_claims(&reserved, &claims), vec![]);
    claims.writes.push(LabelWrite {
        from: Some("foreign".to_owned()),
        to: Some(OwnerLabel::Owner(OwnerId::new(
            &Uid("uid-of-one".to_owned()),
            None,
        ))),
        ..write
    });
    assert_eq!(
        check_claims(&reserved, &claims),
        vec![Violation::ForbiddenLabelWrite { node }]
    );
}

#[test]
fn a_violation_of_one_schedext_freezes_only_that_one() {
    let fleet = fleet(None);
    let good = claim(&fleet);
    let [one, two] = ["one", "two"].map(|name| Uid(format!("uid-of-{name}")));
    let before = [(one.clone(), Arc::default())].into();
    let mut bad = good.clone();
    Arc::make_mut(bad.assignments.get_mut(&two).unwrap())
        .lost
        .count += 7;
    let violations = check_claims(&fleet, &bad);
    let isolated = isolate(&fleet, bad, &violations, &before);
    assert_eq!(check_claims(&fleet, &isolated), vec![]);
    assert_eq!(
        isolated.writes, good.writes,
        "the node is for the other one"
    );
    assert_eq!(isolated.assignments[&one], good.assignments[&one]);
    let frozen = &isolated.assignments[&two];
    assert!(frozen.violation.as_ref().unwrap().contains("uid-of-two"));
    assert_eq!((frozen.generation, frozen.lost.count), (0, 0));

    let mut bad = good.clone();
    bad.writes[0].from = Some("other".to_owned());
    let violations = check_claims(&fleet, &bad);
    let isolated = isolate(&fleet, bad, &violations, &before);
    assert_eq!(isolated.writes, []);
    assert!(isolated.assignments[&one].violation.is_some());
    assert_eq!(isolated.assignments[&two], good.assignments[&two]);
    assert_eq!(check_claims(&fleet, &isolated), vec![]);
}

#[test]
fn steps_on_daemonsets_that_are_not_ours_or_still_needed() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let live = live(&one);
    let observed = observed(&one, &live);
    let check = |step: PlanStep| {
        let plan = Plan {
            steps: vec![step],
            ..Plan::default()
        };
        check_plan(&observed, &plan)
    };
    let uid = Uid("ds-one".to_owned());
    let desired = Violation::StillNeeded { key: key("one") };
    assert_eq!(
        check(PlanStep::Delete {
            key: key("one"),
            uid
        }),
        vec![desired]
    );
    let elsewhere = PlanStep::Delete {
        key: key("other"),
        uid: Uid("unknown".to_owned()),
    };
    assert_eq!(
        check(elsewhere),
        vec![Violation::NotOurs { key: key("other") }]
    );
    let again = serde_json::from_value(live[0].clone()).unwrap();
    let not_ours = Violation::NotOurs { key: key("one") };
    assert_eq!(check(PlanStep::Create(Box::new(again))), vec![not_ours]);
}

#[test]
fn templates_that_do_not_keep_the_contract() {
    let one = schedext("one", json!({"sched": "example/one:1"}));
    let observed = observed(&one, &[]);
    for (pointer, value, what) in [
        ("/metadata/namespace", json!("other"), "namespace"),
        ("/metadata/labels/managed-by", json!("me"), "label"),
        (
            "/metadata/ownerReferences/0/uid",
            json!("other"),
            "controller",
        ),
        (
            "/spec/selector/matchLabels/name",
            json!("other"),
            "selector",
        ),
        (
            "/spec/template/metadata/labels/name",
            json!("other"),
            "selector",
        ),
        (
            "/spec/template/spec/containers/0/name",
            json!("main"),
            "container",
        ),
        (
            "/spec/template/spec/containers/0/image",
            json!("other"),
            "container",
        ),
        (
            "/spec/template/spec/containers/0/securityContext/privileged",
            json!(false),
            "container",
        ),
        (
            "/spec/updateStrategy",
            json!({"rollingUpdate": {"maxSurge": 1}}),
            "strategy",
        ),
    ] {
        let mut plan = plan(&observed);
        let Some(PlanStep::Create(desired)) = plan.steps.first_mut() else {
            panic!("nothing is made");
        };
        let mut broken = serde_json::to_value(&*desired).unwrap();
        *broken.pointer_mut(pointer).unwrap() = value;
        **desired = serde_json::from_value(broken).unwrap();
        let found = check_plan(&observed, &plan);
        let expected = |one: &Violation| matches!(one, Violation::Contract { what: found, .. } if *found == what);
        assert!(found.iter().any(expected), "{pointer}: {found:?}");
    }
}
