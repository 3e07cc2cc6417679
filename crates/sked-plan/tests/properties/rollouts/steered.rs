//! Stories of roll-outs that a person steers: by the spec, and by requests.

use serde_json::{Value, json};
use sked_api::RolloutPhase::{Canary, Complete, RolledBack, Rolling};

use super::scenarios::{canary, reason, until, until_attached, with_good};
use super::world::{Container, World};

#[test]
fn paused_stops_it_and_promote_and_abort_steer_it() {
    let mut world = with_good(3, &canary());
    let paused = json!({"soak": "60s", "paused": true, "canary": {"nodes": 1}});
    world.edit("a", &json!({"sched": "good:2", "rollout": paused}));
    world.run(200);
    assert_eq!(world.attached(), ["good:1"; 3]);
    assert_eq!(reason(&world, "Progressing"), "RolloutPaused");
    world.edit("a", &json!({"rollout": canary()}));
    until_attached(&mut world, &["good:2", "good:1", "good:1"]);
    world.request("a", "promote");
    until(&mut world, Rolling);
    world.run_until("the second", |world| {
        world.attached()[1..].contains(&"good:2".to_owned())
    });
    world.request("a", "abort");
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 3]);
    assert_eq!(world.status("a").rejected.unwrap().reason, "Aborted");
    world.request("a", "retry");
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:2"; 3]);
}

#[test]
fn a_request_that_is_impossible_changes_nothing_and_says_why() {
    let mut world = with_good(2, &canary());
    for request in ["promote", "abort", "retry", "release node9", "dance"] {
        world.request("a", request);
        world.run(3);
        assert_eq!(reason(&world, "Degraded"), "InvalidRequest", "{request}");
        assert_eq!(reason(&world, "Ready"), "Attached", "{request}");
    }
}

#[test]
fn a_change_in_the_middle_of_a_rollback_is_rolled_out() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "stall:2"}));
    until(&mut world, RolledBack);
    world.edit("a", &json!({"sched": "good:3"}));
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:3"; 3]);
}

#[test]
fn going_back_by_hand_needs_no_canary() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1"]);
    world.edit("a", &json!({"sched": "good:1"}));
    until_attached(&mut world, &["good:1"; 3]);
    until(&mut world, Complete);
}

#[test]
fn a_retry_begins_with_the_canary_again() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "stall:2"}));
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 3]);
    world.request("a", "retry");
    until_attached(&mut world, &["stall:2", "good:1", "good:1"]);
    assert_eq!(world.phase("a"), Some(Canary));
    until(&mut world, RolledBack);
}

#[test]
fn a_new_revision_in_the_canary_phase_keeps_the_canarys_node() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1"]);
    let canaries = |world: &World| {
        let of_canary = |one: &&Value| one["metadata"]["name"] == "a-canary";
        world
            .daemonsets
            .iter()
            .find(of_canary)
            .map(|one| one["metadata"]["uid"].clone())
    };
    let before = canaries(&world);
    world.edit("a", &json!({"sched": "good:3"}));
    until_attached(&mut world, &["good:3", "good:1", "good:1"]);
    assert_eq!(canaries(&world), before);
    until(&mut world, Complete);
}

#[test]
fn a_paused_rollout_that_fails_goes_back() {
    let mut world = with_good(3, &json!({"soak": "60s"}));
    world.edit("a", &json!({"sched": "stall:2"}));
    world.run_until("the first", |world| {
        world.attached().contains(&"stall:2".to_owned())
    });
    world.edit("a", &json!({"rollout": {"soak": "60s", "paused": true}}));
    until(&mut world, RolledBack);
    until_attached(&mut world, &["good:1"; 3]);
}

#[test]
fn too_many_nodes_without_a_scheduler_hold_a_new_revision_until_it_is_forced() {
    let mut world = with_good(4, &json!({"soak": "30s"}));
    let until = world.after(100_000);
    for pod in &mut world.pods[..2] {
        pod.container = Container::Ended { until };
    }
    world.run(2);
    world.edit("a", &json!({"sched": "good:2"}));
    world.run(60);
    assert_eq!(world.attached()[2..], ["good:1", "good:1"]);
    assert_eq!(reason(&world, "Progressing"), "FleetUnhealthy");
    world.request("a", "force");
    until_attached(&mut world, &["good:2"; 4]);
}

/// The DaemonSet controller must not replace a canary's pod while another node is on its way to it.
#[test]
fn a_change_back_at_any_moment_keeps_the_budget() {
    let two = json!({"soak": "5s", "canary": {"nodes": 2}});
    for seconds in 0..45 {
        let mut world = with_good(3, &two);
        world.edit("a", &json!({"sched": "good:2"}));
        world.run(seconds);
        world.edit("a", &json!({"sched": "good:1"}));
        until(&mut world, Complete);
        assert_eq!(world.attached(), ["good:1"; 3], "after {seconds} s");
    }
}
