//! Roll-outs whose surroundings go wrong: nothing to go back to, drained nodes, rivals, no nodes.

use k8s_openapi::api::core::v1::Taint;
use serde_json::json;
use sked_api::RolloutPhase::{Canary, Complete, RolledBack};

use super::scenarios::{canary, reason, spec, until, until_attached, with_good};
use super::world::World;

#[test]
fn a_last_good_image_that_the_registry_lost_costs_only_the_nodes_that_left_it() {
    for (rollout, others) in [(canary(), 2), (json!({"soak": "30s"}), 2)] {
        let mut world = with_good(3, &rollout);
        world.missing.insert("good:1".to_owned());
        world.edit("a", &json!({"sched": "stall:2"}));
        until(&mut world, RolledBack);
        world.run(600);
        let attached = world.attached();
        let running = attached.iter().filter(|image| *image == "good:1").count();
        assert_eq!(running, others, "{attached:?}");
        assert_eq!(reason(&world, "Ready"), "RolledBack");
        let problems = world.status("a").problems;
        let is_told = problems.iter().any(|one| one.reason == "ImageError");
        assert!(is_told, "{problems:?}");
        world.edit("a", &json!({"sched": "good:3"}));
        until(&mut world, Complete);
        assert_eq!(world.attached(), ["good:3"; 3]);
    }
}

#[test]
fn a_canary_node_that_is_drained_in_its_soak_soaks_again() {
    let mut world = with_good(3, &canary());
    world.edit("a", &json!({"sched": "good:2"}));
    until_attached(&mut world, &["good:2", "good:1", "good:1"]);
    world.run(40);
    world.nodes[0].taints.push(Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    });
    // `kubectl drain` leaves pods of DaemonSets alone; somebody deletes it.
    let pod = world.pods.iter().find(|pod| pod.image == "good:2").unwrap();
    let pod = pod.uid.clone();
    world.delete_pod(&pod);
    world.run(40);
    assert_eq!(world.phase("a"), Some(Canary));
    world.nodes[0].taints.clear();
    until(&mut world, Complete);
    assert_eq!(world.attached(), ["good:2"; 3]);
}

#[test]
fn two_that_roll_over_each_others_nodes_both_arrive() {
    let mut world = World::new(4);
    for node in &mut world.nodes[2..] {
        node.labels.insert("zone".to_owned(), "b".to_owned());
    }
    world.add("a", &spec("good:a1", &canary()));
    until(&mut world, Complete);
    let mut b = spec(
        "good:b1",
        &json!({"soak": "10s", "canary": {"nodes": "50%"}}),
    );
    b["nodeSelector"] = json!({"zone": "b"});
    b["priority"] = json!(10);
    world.add("b", &b);
    world.edit("a", &json!({"sched": "good:a2"}));
    // The nodes of the one with the higher priority are taken away from the other one.
    world.laws.ignores_budget = true;
    world.run(20);
    world.edit("b", &json!({"sched": "good:b2"}));
    let images = ["good:a2", "good:a2", "good:b2", "good:b2"];
    until_attached(&mut world, &images);
    let are_complete = |world: &World| {
        ["a", "b"]
            .iter()
            .all(|name| world.phase(name) == Some(Complete))
    };
    world.run_until("both are complete", are_complete);
    assert_eq!(world.attached(), images);
}

#[test]
fn without_nodes_a_rollout_ends_and_the_first_one_to_join_gets_it() {
    let mut world = World::new(0);
    world.add("a", &spec("good:1", &canary()));
    world.run(300);
    world.edit("a", &json!({"sched": "good:2"}));
    world.run(300);
    let joined = World::new(1).nodes.remove(0);
    world.nodes.push(joined);
    until_attached(&mut world, &["good:2"]);
    until(&mut world, Complete);
}
