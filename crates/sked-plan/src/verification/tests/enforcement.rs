//! What runs and is refused later: told, and taken off if the manager enforces its policy.

use super::*;

#[test]
fn a_stricter_policy_is_told_and_enforced_only_if_asked() {
    let mut world = with_v1();
    world.complete();
    world.policy("p2");
    world.says(&digest('1'), Verdict::Refused("another key".to_owned()));
    world.settle();
    assert!(world.is("False", Reason::PolicyViolated));
    assert_eq!(world.runs(), [digest('1')]);
    let ready = |world: &World| {
        let mut conditions = world.status().conditions.clone().into_iter();
        conditions.find(|one| one.type_ == "Ready").unwrap().reason
    };
    assert_ne!(ready(&world), "PolicyViolated");
    world.enforces = true;
    world.settle();
    assert!(world.daemonsets.is_empty(), "{:?}", world.runs());
    assert_eq!(
        world.status().rejected.clone().unwrap().reason,
        "PolicyViolated"
    );
    // Nothing brings it back.
    world.asks("retry");
    world.settle();
    world.edit(json!({"sched": "r.example/x:1", "args": ["--again"]}));
    world.settle();
    assert!(world.daemonsets.is_empty());
    // Another image does.
    world.says("r.example/x:3", accepted('3', "p2"));
    world.edit(json!({"sched": "r.example/x:3"}));
    world.settle();
    assert_eq!(world.runs(), [digest('3')]);
}

#[test]
fn enforcement_goes_back_to_a_good_revision_that_the_policy_accepts() {
    let mut world = with_v2();
    world.enforces = true;
    world.says(&digest('2'), refused());
    world.says(&digest('1'), accepted('1', "p2"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
}

#[test]
fn a_registry_that_has_lost_a_signature_is_trouble() {
    let mut world = with_v1();
    world.complete();
    world.enforces = true;
    world.says(&digest('1'), unsigned());
    world.settle();
    assert!(world.is("Unknown", Reason::CannotVerify));
    let lost = "its registry has lost the signature";
    assert!(world.message().contains(lost), "{}", world.message());
    assert_eq!(world.runs(), [digest('1')]);
    // Also of an image that the spec names by its digest.
    let mut world = World::new(json!({"sched": digest('1')}));
    world.says(&digest('1'), accepted('1', "p1"));
    world.settle();
    world.says(&digest('1'), unsigned());
    world.settle();
    assert!(world.is("Unknown", Reason::CannotVerify));
    // Another policy may have refused what is lost.
    world.policy("p2");
    world.says(&digest('1'), unsigned());
    world.settle();
    assert!(world.is("False", Reason::PolicyViolated));
}

#[test]
fn a_signature_that_is_refused_is_refused_although_the_policy_is_the_same() {
    let mut world = with_v1();
    world.complete();
    world.enforces = true;
    // Of many signatures: the API server limits the text.
    world.says(&digest('1'), Verdict::Refused("no ".repeat(5000)));
    world.round();
    assert!(world.is("False", Reason::PolicyViolated));
    assert!(!world.message().contains("changed"), "{}", world.message());
    let rejected = world.status().rejected.clone().unwrap();
    assert!(rejected.message.len() < 8192);
    world.settle();
    assert!(world.daemonsets.is_empty());
}

#[test]
fn nothing_is_taken_off_before_it_is_known_what_to_go_back_to() {
    for (last, left) in [
        (accepted('1', "p2"), vec![digest('1')]),
        (refused(), Vec::new()),
    ] {
        let mut world = with_v2();
        world.enforces = true;
        world.policy("p2");
        // One image is judged after the other.
        world.says(&digest('2'), refused());
        world.settle();
        assert_eq!(world.runs(), [digest('2')]);
        world.says(&digest('1'), trouble());
        world.settle();
        assert_eq!(world.runs(), [digest('2')]);
        assert!(world.status().last_good.is_some());
        assert!(world.is("False", Reason::PolicyViolated));
        world.says(&digest('1'), last);
        world.settle();
        assert_eq!(world.runs(), left);
    }
}

#[test]
fn what_was_rolled_back_already_is_not_taken_off_again() {
    let mut world = with_v2();
    world.fails();
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    world.enforces = true;
    world.policy("p2");
    world.says(&digest('2'), refused());
    world.settle();
    world.says(&digest('1'), accepted('1', "p2"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    assert!(world.status().last_good.is_some());
    assert_eq!(world.status().rejected.clone().unwrap().reason, "Stall");
}

/// The spec asks for version 2, which has failed, and version 1 runs.
fn rolled_back() -> World {
    let mut world = with_v2();
    world.fails();
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    world.policy("p2");
    world
}

#[test]
fn what_runs_is_judged_and_not_what_the_spec_asks_for() {
    let mut world = rolled_back();
    world.says(&digest('1'), refused());
    world.says(&digest('2'), accepted('2', "p2"));
    world.settle();
    assert!(world.is("False", Reason::PolicyViolated));
    assert_eq!(world.runs(), [digest('1')]);
    world.enforces = true;
    world.settle();
    assert!(world.daemonsets.is_empty(), "{:?}", world.runs());
    // The other way round it does not run at all.
    let mut world = rolled_back();
    world.says(&digest('1'), accepted('1', "p2"));
    world.says(&digest('2'), refused());
    world.settle();
    assert!(world.is("False", Reason::ImageRefused));
}

#[test]
fn a_good_revision_that_is_lost_to_its_registry_runs_on() {
    let mut world = rolled_back();
    world.enforces = true;
    world.says(&digest('1'), accepted('1', "p2"));
    world.says(&digest('2'), accepted('2', "p2"));
    world.settle();
    world.says(&digest('1'), unsigned());
    world.settle();
    assert!(world.is("Unknown", Reason::CannotVerify));
    assert_eq!(world.runs(), [digest('1')]);
    // Another policy has never accepted it.
    world.policy("p3");
    world.says(&digest('1'), unsigned());
    world.says(&digest('2'), accepted('2', "p3"));
    world.settle();
    assert!(world.daemonsets.is_empty(), "{:?}", world.runs());
}

#[test]
fn what_the_nodes_went_back_to_is_judged_as_well() {
    let mut world = with_v2();
    world.complete();
    world.says("r.example/x:3", accepted('3', "p1"));
    world.edit(json!({"sched": "r.example/x:3"}));
    world.settle();
    world.enforces = true;
    for (refuses, left) in [
        ('3', vec![digest('2')]),
        ('2', vec![digest('1')]),
        ('1', Vec::new()),
    ] {
        world.says(&digest(refuses), refused());
        world.settle();
        assert_eq!(world.runs(), left, "without {refuses}");
    }
}

#[test]
fn where_only_the_earlier_revision_is_refused_the_nodes_get_the_next_one() {
    for paused in [false, true] {
        let mut world = with_v1();
        world.complete();
        world.says("r.example/x:2", accepted('2', "p1"));
        let rollout = json!({"canary": {}, "paused": paused});
        world.edit(json!({"sched": "r.example/x:2", "rollout": rollout}));
        world.settle();
        world.enters(RolloutPhase::Canary);
        world.settle();
        assert_eq!(world.runs(), [digest('1')]);
        world.policy("p2");
        world.says(&digest('1'), refused());
        world.says(&digest('2'), accepted('2', "p2"));
        world.settle();
        assert!(world.is("False", Reason::PolicyViolated));
        assert_eq!(world.runs(), [digest('1')]);
        world.enforces = true;
        world.settle();
        assert_eq!(world.runs(), [digest('2')]);
        let strategy = &world.daemonsets[0]["spec"]["updateStrategy"];
        assert_eq!(strategy["type"], "RollingUpdate", "paused: {paused}");
    }
}

#[test]
fn nothing_goes_back_to_what_is_refused() {
    let mut world = with_v2();
    world.policy("p2");
    world.says(&digest('1'), refused());
    world.says(&digest('2'), accepted('2', "p2"));
    world.asks("abort");
    world.settle();
    assert_eq!(world.runs(), [digest('2')]);
    let rollout = world.status().rollout.clone().unwrap();
    assert_eq!(rollout.phase, RolloutPhase::Failed);
}

#[test]
fn what_runs_is_told_before_what_its_tag_names_by_now() {
    let mut world = with_v1();
    world.follows_tags = true;
    world.policy("p2");
    world.says(&digest('1'), refused());
    world.says("r.example/x:1", unsigned());
    world.settle();
    assert!(world.is("False", Reason::PolicyViolated));
    let besides = "besides, not signed";
    assert!(world.message().contains(besides), "{}", world.message());
}

#[test]
fn what_is_refused_does_not_spread() {
    let with_args = json!({"sched": "r.example/x:1", "args": ["--two"]});
    let with_pool = json!({"sched": "r.example/x:1", "args": ["--one"],
        "pools": [{"name": "p", "nodeSelector": {"p": "1"}}]});
    for spec in [with_args, with_pool] {
        let mut world = with_v1();
        world.complete();
        world.policy("p2");
        world.edit(spec.clone());
        // It is not judged yet.
        assert_eq!(world.round().steps, vec![]);
        world.says(&digest('1'), refused());
        for _ in 0..4 {
            assert_eq!(world.round().steps, vec![], "{spec}");
        }
        assert!(world.is("False", Reason::PolicyViolated));
        assert_eq!(unaccepted(&world.schedext), ["r.example/x:1"]);
        let runs = what_runs(&world.schedext);
        assert_eq!(
            (runs.spec.args, runs.spec.pools),
            (vec!["--one".to_owned()], vec![])
        );
        // The policy accepts it after all.
        world.says(&digest('1'), accepted('1', "p2"));
        world.settle();
        assert!(world.is("True", Reason::Verified));
        assert_eq!(unaccepted(&world.schedext), Vec::<String>::new());
        assert_eq!(
            what_runs(&world.schedext).spec.pools,
            world.schedext.spec.pools
        );
        assert_eq!(
            what_runs(&world.schedext).spec.args,
            world.schedext.spec.args
        );
    }
}

#[test]
fn other_arguments_need_no_registry_while_the_policy_is_the_same() {
    let mut world = with_v1();
    world.verdicts.clear();
    world.edit(json!({"sched": "r.example/x:1", "args": ["--two"]}));
    world.settle();
    assert!(world.is("True", Reason::Verified));
    assert_eq!(what_runs(&world.schedext).spec.args, ["--two"]);
}
