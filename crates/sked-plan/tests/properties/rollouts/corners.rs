//! Where two things come together: a failure, a request or a change while nodes are handed over, and
//! counts that are full.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use sked_api::QuarantinedNode;
use sked_api::RolloutPhase::{Canary, Complete, Failed, RolledBack};
use sked_plan::NodeName;

use super::kubelet::end;
use super::scenarios::{canary, spec, until, until_attached, with_good};
use super::world::{Container, World};

fn canary_of(nodes: u32) -> Value {
    json!({"soak": "10s", "canary": {"nodes": nodes}})
}

fn running(world: &World, image: &str) -> usize {
    let attached = world.attached();
    attached.iter().filter(|one| *one == image).count()
}

#[test]
fn a_first_version_that_fails_beyond_its_canary_keeps_the_canary() {
    let mut world = World::new(6);
    world.failing.insert("node5".into());
    world.add("a", &spec("fails-there:1", &canary_of(3)));
    until(&mut world, Failed);
    world.failing.clear();
    until_attached(&mut world, &["fails-there:1"; 6]);
    // It is good only when somebody says so.
    world.run(1200);
    assert_eq!(world.phase("a"), Some(Failed));
    world.request("a", "retry");
    until(&mut world, Complete);
}

#[test]
fn without_rollout_from_one_moment_to_the_next_the_canary_stays_until_it_is_handed_back() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1"]);
    world.edit("a", &json!({"sched": "good:3", "rollout": null}));
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:3"; 3]);
}

#[test]
fn a_retry_while_the_canarys_nodes_go_back_takes_none_away() {
    let mut world = with_good(5, &canary_of(3));
    world.edit(
        "a",
        &json!({"sched": "fails-there:2", "rollout": {"soak": "60s", "canary": {"nodes": 3}}}),
    );
    world.run_until("the canary runs", |world| {
        running(world, "fails-there:2") == 3
    });
    world.failing.insert("node1".into());
    until(&mut world, RolledBack);
    assert!(running(&world, "fails-there:2") > 0);
    world.failing.clear();
    world.request("a", "retry");
    until(&mut world, Canary);
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["fails-there:2"; 5]);
}

#[test]
fn a_canary_returns_to_a_version_that_was_never_complete() {
    let mut world = World::new(3);
    world.failing.insert("node3".into());
    world.add("a", &spec("fails-there:1", &json!({"soak": "30s"})));
    until(&mut world, Failed);
    world.failing.clear();
    until_attached(&mut world, &["fails-there:1"; 3]);
    world.run(60);
    let rollout = json!({"soak": "60s", "canary": {"nodes": 2}});
    world.edit("a", &json!({"sched": "fails-there:2", "rollout": rollout}));
    world.run_until("the canary runs", |world| {
        running(world, "fails-there:2") == 2
    });
    world.failing.insert("node1".into());
    until(&mut world, RolledBack);
    world.failing.clear();
    until_attached(&mut world, &["fails-there:1"; 3]);
}

#[test]
fn on_the_way_back_a_good_revision_that_does_not_attach_stops_it() {
    let mut world = World::new(6);
    world.add("a", &spec("never-there:1", &json!({"soak": "10s"})));
    until(&mut world, Complete);
    world.edit("a", &json!({"sched": "good:2"}));
    world.run_until("most have it", |world| running(world, "good:2") == 5);
    world.failing = world.nodes.iter().map(|node| node.name.clone()).collect();
    world.request("a", "abort");
    until(&mut world, RolledBack);
    world.run(2400);
    assert!(running(&world, "good:2") >= 3, "{:?}", world.attached());
}

#[test]
fn a_node_that_nobody_reports_about_does_not_keep_the_others_from_being_complete() {
    let mut world = World::new(4);
    world.unreported.insert("node4".into());
    world.add("a", &spec("good:1", &json!({"soak": "10s"})));
    until(&mut world, Complete);
}

#[test]
fn a_canary_takes_no_more_of_a_pool_than_the_pool_may_lose() {
    let mut world = World::new(20);
    for node in &mut world.nodes[16..] {
        node.labels.insert("pool".to_owned(), "p".to_owned());
    }
    let pool = |image| json!([{"name": "p", "nodeSelector": {"pool": "p"}, "sched": image}]);
    let rollout = json!({"soak": "10s", "maxUnavailable": "10%", "canary": {"nodes": "50%"}});
    let mut first = spec("good:1", &rollout);
    first["pools"] = pool("good:p1");
    world.add("a", &first);
    until(&mut world, Complete);
    world.edit("a", &json!({"pools": pool("good:p2")}));
    while world.attached()[16..] != ["good:p2"; 4] {
        world.tick();
        let attached = world.attached();
        let down = attached[16..].iter().filter(|image| *image == "-").count();
        assert!(down <= 1, "{attached:?}");
    }
}

#[test]
fn a_dead_node_that_is_not_selected_any_more_gives_no_allowance() {
    let mut world = World::new(5);
    for node in &mut world.nodes {
        node.labels.insert("zone".to_owned(), "a".to_owned());
    }
    let mut first = spec("good:1", &json!({"soak": "30s"}));
    first["nodeSelector"] = json!({"zone": "a"});
    world.add("a", &first);
    until(&mut world, Complete);
    world.act_die("node5");
    world.run(200);
    world.nodes[4].labels.clear();
    world.run(60);
    world.edit("a", &json!({"sched": "good:2"}));
    until(&mut world, Complete);
    assert_eq!(world.attached()[..4], ["good:2"; 4]);
}

#[test]
fn the_soak_of_a_node_whose_clock_is_ahead_ends() {
    let mut world = with_good(2, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1"]);
    let ahead = world.after(86_400);
    let mut pods = world.pods.iter_mut();
    let pod = pods.find(|pod| pod.image == "good:2").unwrap();
    pod.gate.as_mut().unwrap().since = ahead;
    pod.container = Container::Running {
        started: ahead,
        attached: Some(ahead),
    };
    until(&mut world, Complete);
}

#[test]
fn a_canary_that_soaks_for_longer_than_the_window_still_fails_the_revision() {
    let mut world = with_good(5, &canary());
    let detach = json!({"action": "Detach", "window": "10s"});
    world.edit("a", &json!({"sched": "stall:2", "onFailure": detach}));
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 5]);
}

#[test]
fn a_canary_that_runs_another_revision_is_not_promoted() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1"]);
    world.edit("a", &json!({"sched": "never:3"}));
    world.request("a", "promote");
    world.run(100);
    assert_eq!(world.attached()[1..], ["good:1", "good:1"]);
}

fn fail(world: &mut World, node: &str) {
    let now = world.now;
    let mut pods = world.pods.iter_mut();
    let pod = pods.find(|pod| *pod.node.0 == *node).unwrap();
    end(
        pod,
        1,
        "EXIT: runnable task stall (watchdog failed to check in)",
        now,
    );
}

#[test]
fn a_node_is_counted_although_a_hundred_others_failed_once_long_ago() {
    let mut world = World::new(105);
    world.add("a", &json!({"sched": "good:1", "watchdogTimeout": "5s"}));
    until(&mut world, Complete);
    for number in 1..=101 {
        fail(&mut world, &format!("node{number}"));
    }
    world.run(15);
    world.now += SignedDuration::from_secs(700);
    world.run(5);
    assert_eq!(world.status("a").quarantined, []);
    for _ in 0..3 {
        fail(&mut world, "node105");
        world.run(2);
    }
    let quarantined = world.status("a").quarantined;
    let nodes: Vec<_> = quarantined.iter().map(|one| &*one.node).collect();
    assert_eq!(nodes, ["node105"]);
}

#[test]
fn a_full_quarantine_does_not_hide_that_a_revision_fails() {
    let mut world = World::new(4);
    world.add(
        "a",
        &json!({"sched": "fails-there:1", "watchdogTimeout": "5s"}),
    );
    until(&mut world, Complete);
    let revision = world.status("a").revision.unwrap();
    let since = Time(world.now);
    let long_ago = (0..100).map(|number| QuarantinedNode {
        node: format!("gone{number:03}"),
        revision: revision.clone(),
        reason: "Stall".to_owned(),
        message: String::new(),
        since: since.clone(),
    });
    let status = world.schedext_mut("a").status.as_mut().unwrap();
    status.quarantined = long_ago.collect();
    world.now += SignedDuration::from_secs(700);
    let both: [NodeName; 2] = ["node1".into(), "node2".into()];
    world.failing.extend(both);
    until(&mut world, Failed);
}
