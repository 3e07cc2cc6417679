//! Whatever happens in whatever order.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Move {
    Edit(u8),
    Says(u8, u8),
    Policy(u8),
    Enforce(bool),
    Refreshed(bool),
    Complete,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        (1..4_u8).prop_map(Move::Edit),
        (1..4_u8, 0..4_u8).prop_map(|(image, verdict)| Move::Says(image, verdict)),
        (0..3_u8).prop_map(Move::Policy),
        any::<bool>().prop_map(Move::Enforce),
        any::<bool>().prop_map(Move::Refreshed),
        Just(Move::Complete),
    ];
    prop::collection::vec(one, 1..24)
}

proptest! {
    /// Whatever happens in whatever order: only what was accepted is ever written, and nothing but an
    /// acceptance or the enforcement changes the nodes.
    #[test]
    fn only_accepted_digests_are_written(moves in moves()) {
        let mut world = World::new(json!({"sched": "r.example/x:1"}));
        let mut ever = BTreeSet::new();
        for one in moves {
            match one {
                Move::Edit(tag) => world.edit(json!({"sched": format!("r.example/x:{tag}")})),
                Move::Says(tag, verdict) => {
                    let digit = char::from(b'0' + tag);
                    let (tag, by_digest) = (format!("r.example/x:{tag}"), digest(digit));
                    let verdict = match verdict {
                        0 => Verdict::Refused("no".to_owned()),
                        1 => Verdict::Trouble("away".to_owned()),
                        _ => {
                            ever.insert(by_digest.clone());
                            accepted(digit, "p1")
                        }
                    };
                    world.says(&tag, verdict.clone());
                    world.says(&by_digest, verdict);
                }
                Move::Policy(0) => world.policy = Some(PolicyState::Missing { why: "x".to_owned() }),
                Move::Policy(_) => {
                    world.policy = Some(PolicyState::Loaded { fingerprint: "p1".to_owned() });
                }
                Move::Enforce(enforces) => world.enforces = enforces,
                Move::Refreshed(refreshed) => world.is_refreshed = refreshed,
                Move::Complete => {
                    if world.schedext.status.as_ref().is_some_and(|one| one.rollout.is_some()) {
                        world.complete();
                    }
                }
            }
            for _ in 0..2 {
                let before: Vec<_> = world.runs().into_iter().map(str::to_owned).collect();
                let plan = world.round();
                let deletes = plan.steps.iter().any(|step| matches!(step, PlanStep::Delete { .. }));
                prop_assert!(!deletes || world.enforces);
                for image in world.runs() {
                    prop_assert!(ever.contains(image), "{image} was never accepted");
                }
                prop_assert!(world.enforces || before.len() <= world.runs().len());
            }
        }
    }
}
