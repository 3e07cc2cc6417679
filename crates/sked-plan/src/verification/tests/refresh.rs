//! Tags that are looked at again because somebody asks for it.

use super::*;

#[test]
fn a_tag_that_moves_is_pinned_until_somebody_asks() {
    let mut world = with_v1();
    world.says("r.example/x:1", accepted('2', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    world.asks("refresh");
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    assert_eq!(world.status().handled_request, None);
    world.is_refreshed = true;
    world.round();
    world.is_refreshed = false;
    world.settle();
    assert_eq!(world.runs(), [digest('2')]);
    assert_eq!(world.status().handled_request.as_deref(), Some("refresh"));
}

#[test]
fn a_tag_that_moves_to_unsigned_bytes_leaves_what_runs() {
    let mut world = with_v1();
    world.asks("refresh");
    world.says("r.example/x:1", Verdict::Refused("not signed".to_owned()));
    world.is_refreshed = true;
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    let handled = world.status().handled_request.clone().unwrap();
    assert_eq!(handled, "refresh - refused: not signed");
    assert!(world.is("False", Reason::ImageRefused));
    // The condition goes on saying so, and a manager that starts looks again.
    world.is_refreshed = false;
    world.settle();
    assert!(world.is("False", Reason::ImageRefused));
    assert!(
        references(&world.schedext, has_refused_refresh(&world.schedext)).contains("r.example/x:1")
    );
    // It is signed meanwhile: followed only when somebody asks again.
    world.says("r.example/x:1", accepted('2', "p1"));
    world.settle();
    assert!(world.is("True", Reason::Verified));
    assert_eq!(world.runs(), [digest('1')]);
    world.asks("refresh#2");
    world.is_refreshed = true;
    world.settle();
    assert_eq!(world.runs(), [digest('2')]);
}

#[test]
fn tags_move_together_or_not_at_all() {
    let spec = json!({"sched": "r.example/x:1",
        "pools": [{"name": "p", "nodeSelector": {"p": "1"}, "sched": "r.example/y:1"}]});
    let mut world = World::new(spec);
    world.says("r.example/x:1", accepted('1', "p1"));
    world.says("r.example/y:1", accepted('2', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('1'), digest('2')]);
    world.asks("refresh");
    world.is_refreshed = true;
    world.says("r.example/x:1", accepted('3', "p1"));
    // The policy has changed since it was looked at.
    world.verdicts.remove("r.example/y:1");
    world.settle();
    assert_eq!(world.status().handled_request, None);
    assert_eq!(world.runs(), [digest('1'), digest('2')]);
    world.says("r.example/y:1", refused());
    world.settle();
    assert!(world.status().handled_request.is_some());
    assert_eq!(world.runs(), [digest('1'), digest('2')]);
    world.asks("refresh#2");
    world.says("r.example/y:1", accepted('4', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('3'), digest('4')]);
}

#[test]
fn without_a_policy_a_refresh_is_answered() {
    let mut world = World::new(json!({"sched": "r.example/x:1"}));
    world.policy = None;
    world.asks("refresh");
    world.settle();
    let handled = world.status().handled_request.clone().unwrap();
    assert!(handled.contains("--trust-policy"), "{handled}");
}
