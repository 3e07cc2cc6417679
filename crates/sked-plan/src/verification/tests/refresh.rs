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
