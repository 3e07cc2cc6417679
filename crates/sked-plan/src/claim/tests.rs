//! Who gets a node, case by case.

use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde_json::{Value, json};
use sked_api::{SchedExt, label};

use super::*;
use crate::eligibility::{Eligibility, ExclusionReason};
use crate::fixture::{key, live, node, pod, schedext};
use crate::live_daemonset::LiveDaemonSet;
use crate::live_pod::PodState;
use crate::name::{OwnerId, Uid};
use crate::observed::UnreadableSchedExt;
use crate::part::PartId;

fn claimant(name: &str, priority: i32, created: &str) -> SchedExt {
    let mut one = schedext(
        name,
        json!({"sched": "example/one:1", "priority": priority}),
    );
    let created: jiff::Timestamp = format!("{created}T00:00:00Z").parse().unwrap();
    one.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        created,
    ));
    one
}

fn fleet(schedexts: &[SchedExt], owner: Option<String>) -> Fleet {
    let label = owner.map(|owner| (label::OWNER.to_owned(), owner));
    Fleet {
        schedexts: schedexts.iter().cloned().map(Arc::new).collect(),
        nodes: vec![Arc::new(Node {
            labels: label.into_iter().collect(),
            ..node("node1")
        })],
        ..Fleet::default()
    }
}

fn with_live(mut fleet: Fleet, schedext: &SchedExt) -> Fleet {
    let read = |one: &Value| Arc::new(LiveDaemonSet::read(one).unwrap());
    fleet.daemonsets.extend(live(schedext).iter().map(read));
    fleet
}

fn owner(name: &str) -> OwnerId {
    OwnerId::new(&Uid(format!("uid-of-{name}")), None)
}

fn winner(fleet: &Fleet) -> Option<String> {
    let claims = claim(fleet);
    let has = |uid: &Uid| {
        claims.assignments[uid]
            .parts
            .values()
            .any(|part| !part.nodes.is_empty())
    };
    let mut uids = claims.assignments.keys().filter(|uid| has(uid));
    uids.next()
        .map(|uid| uid.0.trim_start_matches("uid-of-").to_owned())
}

#[test]
fn priority_then_the_incumbent_then_age_then_name() {
    let (a, b) = (
        claimant("a", 0, "2026-01-02"),
        claimant("b", 0, "2026-01-02"),
    );
    let old = claimant("old", 0, "2026-01-01");
    let high = claimant("high", 1, "2026-01-03");
    let all = [a.clone(), b.clone(), old.clone(), high.clone()];
    assert_eq!(winner(&fleet(&all, None)).as_deref(), Some("high"));
    assert_eq!(winner(&fleet(&all[..3], None)).as_deref(), Some("old"));
    assert_eq!(winner(&fleet(&all[..2], None)).as_deref(), Some("a"));
    let labelled = |all: &[SchedExt]| winner(&fleet(all, Some(owner("b").to_string())));
    assert_eq!(labelled(&all[..3]).as_deref(), Some("b"));
    assert_eq!(labelled(&all).as_deref(), Some("high"));
    let mut running = with_live(fleet(&all[..3], None), &b);
    running.pods = vec![pod("b", "node1", PodState::Running)];
    assert_eq!(winner(&running).as_deref(), Some("b"));
    running.pods = vec![pod("b", "node1", PodState::Unscheduled(None))];
    assert_eq!(winner(&running).as_deref(), Some("old"));
    // Its own roll-out costs nobody a node.
    running.pods = vec![pod("b", "node1", PodState::Starting)];
    assert_eq!(winner(&running).as_deref(), Some("b"));
    // On a new node, whose pod kube-scheduler bound first says nothing.
    let mut running = with_live(running, &old);
    assert_eq!(winner(&running).as_deref(), Some("old"));
    Arc::make_mut(&mut running.pods[0]).restarts = 1;
    assert_eq!(
        winner(&running).as_deref(),
        Some("b"),
        "its container has run"
    );
}

#[test]
fn the_loser_gets_the_owners_name_and_new_daemonsets_wait() {
    let (a, b) = (
        claimant("a", 1, "2026-01-01"),
        claimant("b", 0, "2026-01-01"),
    );
    let fleet = with_live(fleet(&[a, b.clone()], None), &b);
    let claims = claim(&fleet);
    let assignment = |name: &str| &claims.assignments[&Uid(format!("uid-of-{name}"))];
    assert_eq!(assignment("b").lost.nodes, vec![("node1".into(), key("a"))]);
    assert_eq!(
        assignment("a").parts[&PartId::stable(None)].waits_for,
        vec!["node1".into()]
    );
    assert_eq!(
        assignment("b").parts[&PartId::stable(None)].waits_for,
        vec![]
    );
    assert_eq!(claims.writes.len(), 1);
    assert_eq!(claims.writes[0].to, Some(OwnerLabel::Owner(owner("a"))));
}

#[test]
fn a_label_stays_until_the_other_daemonset_is_gone() {
    let (a, mut b) = (
        claimant("a", 0, "2026-01-01"),
        claimant("b", 0, "2026-01-02"),
    );
    let both = live(&b);
    b.metadata.deletion_timestamp = b.metadata.creation_timestamp.clone();
    let label = Some(owner("a").to_string());
    let mut fleet = with_live(fleet(&[a.clone(), b.clone()], label), &a);
    assert_eq!(
        claim(&fleet).writes.len(),
        1,
        "no other template admits the node"
    );
    fleet
        .daemonsets
        .push(Arc::new(LiveDaemonSet::read(&both[0]).unwrap()));
    assert_eq!(claim(&fleet).writes, vec![]);
    Arc::make_mut(&mut fleet.daemonsets[1]).deleting = true;
    assert_eq!(claim(&fleet).writes[0].to, None);
}

#[test]
fn reserved_nodes_have_no_owner_and_are_no_conflict() {
    for value in label::RESERVED {
        let all = [
            claimant("a", 0, "2026-01-01"),
            claimant("b", 0, "2026-01-01"),
        ];
        let claims = claim(&fleet(&all, Some(value.to_owned())));
        assert_eq!(claims.writes, vec![]);
        for assignment in claims.assignments.values() {
            assert_eq!(
                (
                    assignment.parts[&PartId::stable(None)].nodes.len(),
                    assignment.lost.count
                ),
                (0, 0)
            );
            assert_eq!(
                (assignment.excluded.count(), assignment.excluded.nodes.len()),
                (1, 1)
            );
        }
    }
}

#[test]
fn an_excluded_node_is_labelled_while_any_template_admits_it() {
    let foreign = ExclusionReason::Foreign(Some("lab".parse().unwrap()));
    let old = ExclusionReason::Unsupported("6.1.0".to_owned());
    let (a, b) = (
        claimant("a", 0, "2026-01-01"),
        claimant("b", 0, "2026-01-01"),
    );
    for reason in [foreign, old] {
        let excluded = |claimants: &[SchedExt], label: Option<&str>| {
            let mut fleet = fleet(claimants, label.map(str::to_owned));
            let eligibility = Eligibility::Excluded(reason.clone());
            fleet.eligibility.insert("node1".into(), eligibility);
            claim(&fleet)
        };
        let alone = excluded(std::slice::from_ref(&a), None);
        assert_eq!(
            alone.writes[0].to,
            Some(OwnerLabel::Excluded(reason.label_value()))
        );
        let assignment = &alone.assignments[&Uid("uid-of-a".to_owned())];
        assert_eq!(assignment.parts[&PartId::stable(None)].nodes, []);
        assert_eq!(
            assignment.parts[&PartId::stable(None)].waits_for,
            vec!["node1".into()]
        );
        assert_eq!(
            assignment.excluded.nodes,
            vec![("node1".into(), reason.clone())]
        );
        let owned = excluded(&[a.clone(), b.clone()], Some(&owner("a").to_string()));
        assert_eq!(
            owned.writes[0].to,
            Some(OwnerLabel::Excluded(reason.label_value()))
        );
        assert_eq!(excluded(&[], None).writes, vec![], "no claimant");
        assert_eq!(excluded(&[], Some(reason.label_value())).writes[0].to, None);
        assert_eq!(
            excluded(std::slice::from_ref(&a), Some(reason.label_value())).writes,
            vec![]
        );
    }
}

#[test]
fn a_node_becomes_eligible_only_when_its_kernel_reports_it() {
    let (a, b) = (
        claimant("a", 0, "2026-01-01"),
        claimant("b", 0, "2026-01-02"),
    );
    for value in ["unsupported", "foreign"] {
        let mut free = fleet(&[a.clone(), b.clone()], Some(value.to_owned()));
        assert_eq!(claim(&free).writes, vec![], "the kernel is unknown");
        free.eligibility
            .insert("node1".into(), Eligibility::Eligible);
        assert_eq!(
            claim(&free).writes[0].to,
            Some(OwnerLabel::Owner(owner("a")))
        );
        free.schedexts.truncate(1);
        assert_eq!(claim(&free).writes[0].to, None);
    }
    let mut quarantined = fleet(&[a], Some("quarantined".to_owned()));
    quarantined
        .eligibility
        .insert("node1".into(), Eligibility::Eligible);
    assert_eq!(claim(&quarantined).writes, vec![]);
}

#[test]
fn a_schedexts_name_has_precedence_over_another_schedexts_pool() {
    let pools = json!([{"name": "x", "nodeSelector": {}}]);
    let a = schedext("a", json!({"sched": "example/one:1", "pools": pools}));
    let claims = claim(&fleet(&[a, claimant("a-x", -1, "2026-01-02")], None));
    let assignment = &claims.assignments[&Uid("uid-of-a".to_owned())];
    assert_eq!(
        assignment.yields,
        [(PartId::stable(Some("x")), key("a-x"))].into()
    );
    assert_eq!(
        assignment.parts.keys().collect::<Vec<_>>(),
        [&PartId::stable(None)]
    );
    assert_eq!(assignment.parts[&PartId::stable(None)].nodes.len(), 1);
}

/// A newer CRD has fields that this version cannot parse.
#[test]
fn what_cannot_be_read_keeps_what_it_has_and_gets_nothing_more() {
    let (newer, rival) = (
        claimant("newer", 0, "2026-01-02"),
        claimant("rival", 5, "2026-01-01"),
    );
    let unreadable = |owner: Option<String>| {
        let mut fleet = fleet(std::slice::from_ref(&rival), owner);
        fleet.unreadable = vec![UnreadableSchedExt {
            uid: Uid("uid-of-newer".to_owned()),
            key: key("newer"),
        }];
        with_live(fleet, &newer)
    };
    let labelled = claim(&unreadable(Some(owner("newer").to_string())));
    assert_eq!(labelled.writes, []);
    let lost = |claims: &Claims| {
        claims.assignments[&Uid("uid-of-rival".to_owned())]
            .lost
            .count
    };
    assert_eq!(lost(&labelled), 1);

    let mut running = unreadable(None);
    running.pods = vec![pod("newer", "node1", PodState::Running)];
    let running = claim(&running);
    let to = running.writes[0].to;
    assert_eq!(to, Some(OwnerLabel::Owner(owner("newer"))));
    assert_eq!(lost(&running), 1);

    let elsewhere = claim(&unreadable(None));
    assert_eq!(lost(&elsewhere), 0);
    let to = elsewhere.writes[0].to;
    assert_eq!(to, Some(OwnerLabel::Owner(owner("rival"))));
}

#[test]
fn a_node_that_is_not_ready_keeps_its_owner() {
    let (a, b) = (
        claimant("a", 0, "2026-01-01"),
        claimant("b", 0, "2026-01-02"),
    );
    let tolerant = |mut one: SchedExt| {
        one.spec.tolerations = vec![Toleration {
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        }];
        one
    };
    let mut fleet = fleet(&[a, tolerant(b)], Some(owner("a").to_string()));
    for (key, effect) in [
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ] {
        let node = Arc::make_mut(&mut fleet.nodes[0]);
        node.taints = vec![Taint {
            key: key.to_owned(),
            effect: effect.to_owned(),
            ..Taint::default()
        }];
        let claims = claim(&fleet);
        assert_eq!(claims.writes, [], "{key}");
        assert_eq!(
            claims.assignments[&Uid("uid-of-b".to_owned())].lost.count,
            1
        );
    }
    // No pod can start there now, so none is waited for.
    let node = Arc::make_mut(&mut fleet.nodes[0]);
    node.taints[0].key = "node.kubernetes.io/not-ready".to_owned();
    node.taints[0].effect = "NoSchedule".to_owned();
    assert_eq!(winner(&fleet), None);
    let node = Arc::make_mut(&mut fleet.nodes[0]);
    node.taints[0].key = "example.com/maintenance".to_owned();
    assert_eq!(winner(&fleet).as_deref(), Some("b"));
}
