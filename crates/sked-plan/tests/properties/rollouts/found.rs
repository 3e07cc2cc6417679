//! Mistakes that the explored model (`tests/model`) found.

use jiff::SignedDuration;
use serde_json::json;
use sked_api::RolloutPhase::{Canary, Rolling};

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
