//! Single stories of roll-outs that nobody steers, most of them from a good first version on.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use sked_api::RolloutPhase::{self, Canary, Complete, Failed, RolledBack, Rolling};

use super::world::{Container, World};

const WATCHDOG: &str = "5s";

pub(super) fn spec(image: &str, rollout: &Value) -> Value {
    json!({"sched": image, "watchdogTimeout": WATCHDOG, "rollout": rollout})
}

/// A cluster where the first version runs everywhere.
pub(super) fn with_good(nodes: usize, rollout: &Value) -> World {
    let mut world = World::new(nodes);
    world.add("a", &spec("good:1", rollout));
    world.run_until("the first version", |world| {
        world.phase("a") == Some(Complete)
    });
    assert_eq!(world.attached(), vec!["good:1"; nodes]);
    world
}

pub(super) fn until(world: &mut World, phase: RolloutPhase) {
    // What was changed a moment ago has its effect.
    world.run(2);
    let what = format!("{phase:?}");
    world.run_until(&what, |world| world.phase("a") == Some(phase));
}

pub(super) fn until_attached(world: &mut World, images: &[&str]) {
    let what = format!("{images:?}");
    world.run_until(&what, |world| world.attached() == images);
}

pub(super) fn reason(world: &World, kind: &str) -> String {
    let conditions = world.status("a").conditions;
    let condition = conditions.into_iter().find(|one| one.type_ == kind);
    condition.unwrap().reason
}

pub(super) fn canary() -> Value {
    json!({"soak": "60s", "canary": {"nodes": 1}})
}

#[test]
fn a_canary_that_stalls_is_rolled_back_and_the_second_node_never_runs_it() {
    let mut world = with_good(2, &canary());
    world.edit("a", &json!({"sched": "stall:2"}));
    until_attached(&mut world, &["stall:2", "good:1"]);
    until(&mut world, RolledBack);
    assert_eq!(world.attached()[1], "good:1");
    until_attached(&mut world, &["good:1", "good:1"]);
    world.run(600);
    assert_eq!(world.attached(), ["good:1", "good:1"]);
    let rejected = world.status("a").rejected.unwrap();
    assert_eq!((&*rejected.reason, &*rejected.node), ("Stall", "node1"));
    assert_eq!(reason(&world, "Ready"), "RolledBack");
    assert!(world.daemonsets.len() == 1 && world.nodes.iter().all(|node| node.labels.is_empty()));
}

#[test]
fn a_canary_that_soaks_is_followed_by_the_others_and_hands_its_node_back() {
    let mut world = with_good(4, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1", "good:1"]);
    world.run(55);
    assert_eq!(world.phase("a"), Some(Canary), "{}", world.report());
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:2"; 4]);
    assert_eq!(world.daemonsets.len(), 1);
    let status = world.status("a");
    assert_ne!(
        status.last_good.unwrap().revision,
        status.previous_good.unwrap().revision
    );
}

#[test]
fn without_a_canary_the_first_node_that_fails_ends_the_rollout() {
    let mut world = with_good(3, &json!({"soak": "60s"}));
    world.edit("a", &json!({"sched": "stall:2"}));
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 3]);
    world.run(300);
    assert_eq!(world.attached(), ["good:1"; 3]);
}

#[test]
fn without_rollout_it_goes_back_as_well() {
    let mut world = World::new(3);
    world.add("a", &json!({"sched": "good:1"}));
    until(&mut world, Complete);
    world.edit("a", &json!({"sched": "stall:2"}));
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 3]);
}

#[test]
fn a_scheduler_that_never_attaches_misses_its_deadline() {
    let mut world = with_good(2, &canary());
    world.edit("a", &json!({"sched": "never:2"}));
    until(&mut world, RolledBack);
    assert_eq!(world.status("a").rejected.unwrap().reason, "NotAttached");
    until_attached(&mut world, &["good:1", "good:1"]);
}

#[test]
fn an_image_that_cannot_be_pulled_is_rolled_back() {
    let mut world = with_good(2, &canary());
    world.edit("a", &json!({"sched": "missing:2"}));
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1", "good:1"]);
}

#[test]
fn a_first_version_reaches_only_its_canary_and_a_bad_one_leaves_nothing() {
    let mut world = World::new(3);
    world.add("a", &spec("stall:1", &canary()));
    until_attached(&mut world, &["stall:1", "-", "-"]);
    until(&mut world, RolledBack);
    world.run(300);
    assert_eq!(world.attached(), ["-", "-", "-"]);
    assert_eq!(world.daemonsets.len(), 0, "{}", world.report());
    world.edit("a", &json!({"sched": "good:2"}));
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:2"; 3]);
}

#[test]
fn a_bad_first_version_without_canary_fails_and_recovers_by_a_new_revision() {
    let mut world = World::new(2);
    world.add("a", &json!({"sched": "stall:1"}));
    until(&mut world, Failed);
    assert_eq!(reason(&world, "Degraded"), "RevisionFailed");
    world.edit("a", &json!({"sched": "good:2"}));
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:2"; 2]);
}

#[test]
fn detach_quarantines_the_node_and_release_or_a_new_revision_ends_it() {
    let mut world = with_good(3, &json!({"soak": "60s"}));
    world.failing.insert("node2".into());
    world.edit(
        "a",
        &json!({"sched": "fails-there:2", "onFailure": {"action": "Detach"}}),
    );
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["fails-there:2", "-", "fails-there:2"]);
    assert_eq!(world.status("a").quarantined[0].node, "node2");
    assert_eq!(reason(&world, "Degraded"), "Quarantined");
    world.add("rival", &json!({"sched": "good:r", "priority": -1}));
    until_attached(&mut world, &["fails-there:2", "good:r", "fails-there:2"]);
    world.failing.clear();
    world.request("a", "release node2");
    until_attached(&mut world, &["fails-there:2"; 3]);
    assert_eq!(world.status("a").quarantined, []);
}

#[test]
fn once_complete_a_node_is_quarantined_and_two_fail_the_revision() {
    let mut world = with_good(4, &json!({"soak": "60s"}));
    world.edit(
        "a",
        &json!({"sched": "fails-there:2", "onFailure": {"window": "30m"}}),
    );
    until(&mut world, Complete);
    world.failing.insert("node2".into());
    world.run_until("quarantine", |world| {
        !world.status("a").quarantined.is_empty()
    });
    assert_eq!(world.phase("a"), Some(Complete));
    world.run(30);
    assert_eq!(world.attached()[1], "-");
    world.failing.insert("node3".into());
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 4]);
}

#[test]
fn a_benign_end_never_counts() {
    let mut world = with_good(2, &canary());
    world.edit(
        "a",
        &json!({"sched": "hotplug:2", "rollout": {"soak": "10s", "canary": {}}}),
    );
    until(&mut world, Complete);
    world.run(900);
    assert_eq!(world.phase("a"), Some(Complete));
    assert_eq!(world.status("a").quarantined, []);
}

#[test]
fn a_kernel_that_has_another_scheduler_fails_no_revision() {
    let mut world = with_good(2, &json!({"soak": "30s"}));
    world.failing.insert("node1".into());
    world.edit("a", &json!({"sched": "busy-there:2"}));
    world.run(600);
    assert_eq!(world.phase("a"), Some(Rolling), "{}", world.report());
    world.failing.clear();
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["busy-there:2"; 2]);
}

#[test]
fn restart_leaves_it_to_kubernetes() {
    let mut world = with_good(2, &canary());
    world.edit(
        "a",
        &json!({"sched": "stall:2", "onFailure": {"action": "Restart"}}),
    );
    world.run(900);
    assert_eq!(world.phase("a"), Some(Canary));
    assert_eq!(world.attached()[1], "good:1");
}

#[test]
fn a_widened_selector_starts_on_a_canary_among_the_new_nodes() {
    let mut world = World::new(4);
    for node in &mut world.nodes[..2] {
        node.labels.insert("zone".to_owned(), "x".to_owned());
    }
    let mut narrow = spec("good:1", &canary());
    narrow["nodeSelector"] = json!({"zone": "x"});
    world.add("a", &narrow);
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:1", "good:1", "-", "-"]);
    world.edit("a", &json!({"nodeSelector": {}}));
    until_attached(&mut world, &["good:1", "good:1", "good:1", "-"]);
    world.run(50);
    assert_eq!(world.attached()[3], "-");
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:1"; 4]);
}

#[test]
fn a_canary_that_vanishes_is_replaced_and_one_larger_than_the_fleet_is_the_fleet() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1"]);
    world.nodes.remove(0);
    until_attached(&mut world, &["good:2", "good:1"]);
    until(&mut world, Complete);
    let large = json!({"soak": "10s", "canary": {"nodes": 20}});
    world.edit("a", &json!({"sched": "good:3", "rollout": large}));
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:3", "good:3"]);
}

#[test]
fn a_canary_selector_that_matches_nothing_blocks_and_says_so() {
    let mut world = with_good(2, &canary());
    let nowhere = json!({"soak": "10s", "canary": {"nodeSelector": {"zone": "y"}}});
    world.edit("a", &json!({"sched": "good:2", "rollout": nowhere}));
    world.run(300);
    assert_eq!(world.attached(), ["good:1"; 2]);
    assert_eq!(reason(&world, "Progressing"), "RolloutBlocked");
}

#[test]
fn only_a_changed_pool_gets_a_canary() {
    let mut world = World::new(4);
    for node in &mut world.nodes[2..] {
        node.labels.insert("pool".to_owned(), "p".to_owned());
    }
    let pool = |image| json!([{"name": "p", "nodeSelector": {"pool": "p"}, "sched": image}]);
    let mut first = spec("good:1", &canary());
    first["pools"] = pool("good:p1");
    world.add("a", &first);
    until(&mut world, Complete);
    world.edit("a", &json!({"pools": pool("stall:p2")}));
    until_attached(&mut world, &["good:1", "good:1", "stall:p2", "good:p1"]);
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1", "good:1", "good:p1", "good:p1"]);
}

#[test]
fn a_dead_node_does_not_stop_the_others_for_ever() {
    let mut world = with_good(4, &json!({"soak": "30s"}));
    let taint = Taint {
        key: "node.kubernetes.io/unreachable".to_owned(),
        effect: "NoExecute".to_owned(),
        time_added: Some(Time(world.now)),
        value: None,
    };
    world.nodes[0].taints.push(taint);
    world.dead.insert("node1".into());
    world.pods[0].gate.as_mut().unwrap().attached = false;
    world.edit("a", &json!({"sched": "good:2"}));
    world.run_until("the others", |world| world.attached()[1..] == ["good:2"; 3]);
    world.run_until("the end", |world| world.phase("a") == Some(Complete));
}

#[test]
fn a_clock_that_jumps_breaks_nothing() {
    for seconds in [-86_400, 86_400] {
        let mut world = with_good(2, &canary());
        world.edit("a", &json!({"sched": "good:2"}));
        until_attached(&mut world, &["good:2", "good:1"]);
        world.now += SignedDuration::from_secs(seconds);
        for pod in &mut world.pods {
            pod.ends_at = None;
        }
        world.run(10);
        world.edit("a", &json!({"sched": "good:1"}));
        until_attached(&mut world, &["good:1"; 2]);
    }
}

#[test]
fn a_bad_revision_with_a_new_pool_goes_back_whole() {
    let mut world = World::new(3);
    world.nodes[2]
        .labels
        .insert("pool".to_owned(), "p".to_owned());
    world.add("a", &spec("good:1", &json!({"soak": "10s"})));
    until(&mut world, Complete);
    let pool = json!([{"name": "p", "nodeSelector": {"pool": "p"}, "sched": "stall:p"}]);
    // The limit is one of each part.
    world.laws.ignores_budget = true;
    world.edit("a", &json!({"sched": "good:2", "pools": pool}));
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 3]);
}

#[test]
fn a_rejected_first_version_starts_nowhere_when_only_the_selection_changes() {
    let mut world = World::new(3);
    world.add("a", &spec("stall:1", &canary()));
    until(&mut world, RolledBack);
    world.nodes[1]
        .labels
        .insert("zone".to_owned(), "x".to_owned());
    world.edit("a", &json!({"nodeSelector": {"zone": "x"}}));
    world.run(120);
    assert_eq!(world.attached(), ["-", "-", "-"]);
    world.request("a", "retry");
    until_attached(&mut world, &["-", "stall:1", "-"]);
    until(&mut world, RolledBack);
}

#[test]
fn detach_of_a_canary_never_reaches_the_other_nodes() {
    let mut world = World::new(4);
    let mut first = spec("stall:1", &canary());
    first["onFailure"] = json!({"action": "Detach"});
    world.add("a", &first);
    until(&mut world, RolledBack);
    world.run(300);
    assert_eq!(world.attached(), ["-"; 4]);
    assert_eq!(world.status("a").quarantined.len(), 2);
}

#[test]
fn the_canary_of_a_widened_selector_can_fail() {
    let mut world = World::new(4);
    for node in &mut world.nodes[..2] {
        node.labels.insert("zone".to_owned(), "x".to_owned());
    }
    world.failing.insert("node3".into());
    let mut narrow = spec("fails-there:1", &canary());
    narrow["nodeSelector"] = json!({"zone": "x"});
    world.add("a", &narrow);
    until(&mut world, Complete);
    world.edit("a", &json!({"nodeSelector": {}}));
    until(&mut world, RolledBack);
    world.run(300);
    assert_eq!(
        world.attached(),
        ["fails-there:1", "fails-there:1", "-", "-"]
    );
}

#[test]
fn a_hotplug_long_after_the_attach_is_no_failure() {
    let mut world = with_good(3, &json!({"soak": "10s"}));
    world.run(600);
    for pod in &mut world.pods {
        // The kernel detaches before the process ends, and both before the gate is written.
        if let Container::Running { attached, .. } = &mut pod.container {
            *attached = None;
        }
    }
    world.advance();
    world.manager();
    world.run(60);
    assert_eq!(world.phase("a"), Some(Complete));
    assert_eq!(world.status("a").quarantined, []);
}

#[test]
fn a_registry_that_is_away_harms_no_complete_revision() {
    let mut world = with_good(3, &json!({"soak": "10s"}));
    for pod in &mut world.pods[..2] {
        pod.container = Container::CannotStart;
        pod.gate = None;
    }
    world.run(600);
    assert_eq!(world.phase("a"), Some(Complete));
    assert_eq!(world.status("a").quarantined, []);
}

#[test]
fn a_dead_node_does_not_stop_a_canary() {
    let mut world = with_good(4, &canary());
    world.act_die("node4");
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1", "good:1"]);
    until(&mut world, Complete);
    assert_eq!(world.attached()[..3], ["good:2", "good:2", "good:2"]);
}

#[test]
fn what_is_settled_writes_nothing() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "stall:2"}));
    until(&mut world, RolledBack);
    world.run(120);
    let before = world.schedexts[0].status.clone();
    for _ in 0..400 {
        world.advance();
        world.manager();
    }
    assert_eq!(world.schedexts[0].status, before);
}
