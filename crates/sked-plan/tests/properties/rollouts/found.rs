//! Mistakes that an exhaustive exploration of roll-outs found.

use jiff::SignedDuration;
use serde_json::json;
use sked_api::RolloutPhase::{Canary, Rolling};
use sked_plan::part::uid;

use super::manager::Write;
use super::scenarios::{canary, until, until_attached, with_good};
use super::world::{Container, World};

/// The canary's node boots again, and runs the scheduler before anybody saw that it did not.
fn boot_again(world: &mut World) {
    let now = world.now;
    let mut pods = world.pods.iter_mut();
    let pod = pods.find(|pod| pod.image == "good:2").unwrap();
    pod.container = Container::Running {
        started: now,
        attached: Some(now),
    };
}

#[test]
fn a_canarys_soak_begins_again_with_its_scheduler() {
    for is_reported in [true, false] {
        let mut world = with_good(3, &canary());
        world.edit("a", &json!({"sched": "good:2"}));
        until_attached(&mut world, &["good:2", "good:1", "good:1"]);
        world.run(50);
        assert_eq!(world.phase("a"), Some(Canary));
        boot_again(&mut world);
        if !is_reported {
            world.unreported.insert("node1".into());
        }
        let booted = world.now;
        until(&mut world, Rolling);
        let soaked = world.now.duration_since(booted);
        assert!(soaked >= SignedDuration::from_secs(60), "{soaked}");
    }
}

/// A node that the claims do not count yet, and whose scheduler is attached.
fn join(world: &mut World) {
    let mut joined = World::new(1).nodes.remove(0);
    joined.name = "node0".into();
    world.nodes.push(joined);
    while world.attached()[3] == "-" {
        world.advance();
    }
    for write in world.gates() {
        world.write(write);
    }
}

/// The nodes of the canary after the next round of the manager.
fn next_canary(world: &mut World) -> Vec<String> {
    let uid = uid(&world.schedexts[0]);
    let mut writes = world.reconcile(&uid).into_iter();
    let status = writes.find_map(|write| match write {
        Write::Status(_, _, status) => Some(status),
        _ => None,
    });
    let rollout = status.unwrap().rollout.unwrap();
    rollout.canary_nodes().map(str::to_owned).collect()
}

#[test]
fn a_node_that_the_claims_do_not_count_yet_hides_none_that_is_down() {
    let canary = json!({"soak": "60s", "canary": {"nodes": 2}});
    let mut world = with_good(3, &canary);
    world.edit("a", &json!({"sched": "never:2"}));
    world.run_until("the first node loses its scheduler", |world| {
        world.attached()[0] == "-"
    });
    join(&mut world);
    assert_eq!(world.attached()[0], "-");
    assert_eq!(next_canary(&mut world), ["node1"]);
}

/// Found as: a revision fails while it is rolled out, and a node vanishes and joins again while the
/// DaemonSet controller replaces the pod of another one.
#[test]
fn a_node_that_the_claims_do_not_count_yet_hides_no_pod_that_is_being_deleted() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    world.claim();
    join(&mut world);
    let mut pods = world.pods.iter();
    let leaving = pods
        .find(|pod| *pod.node.0 == *"node3")
        .unwrap()
        .uid
        .clone();
    world.delete_pod(&leaving);
    assert_eq!(next_canary(&mut world), ["node3"]);
}
