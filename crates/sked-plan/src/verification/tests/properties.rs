//! Whatever happens in whatever order.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Move {
    Edit(u8),
    /// About a tag.
    Says(u8, u8),
    /// About what it was resolved to.
    SaysOfDigest(u8, u8),
    Policy(u8),
    Enforce(bool),
    Refreshed(bool),
    Complete,
    Enter(RolloutPhase),
    Fail,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let phase = prop_oneof![
        Just(RolloutPhase::Canary),
        Just(RolloutPhase::Rolling),
        Just(RolloutPhase::Failed),
    ];
    let one = prop_oneof![
        (1..5_u8).prop_map(Move::Edit),
        (1..5_u8, 0..6_u8).prop_map(|(image, verdict)| Move::Says(image, verdict)),
        (1..5_u8, 0..6_u8).prop_map(|(image, verdict)| Move::SaysOfDigest(image, verdict)),
        (0..4_u8).prop_map(Move::Policy),
        any::<bool>().prop_map(Move::Enforce),
        any::<bool>().prop_map(Move::Refreshed),
        Just(Move::Complete),
        phase.prop_map(Move::Enter),
        Just(Move::Fail),
    ];
    prop::collection::vec(one, 1..32)
}

fn spec(tag: u8, is_staged: bool) -> Value {
    let sched = format!("r.example/x:{tag}");
    match is_staged {
        true => json!({"sched": sched, "rollout": {"canary": {}}}),
        false => json!({"sched": sched}),
    }
}

impl World {
    fn fingerprint(&self) -> Option<&str> {
        self.policy.as_ref().and_then(PolicyState::fingerprint)
    }

    fn verdict(&self, tag: u8, kind: u8) -> Verdict {
        match kind {
            0 => refused(),
            1 => unsigned(),
            2 => trouble(),
            _ => accepted(
                char::from(b'0' + tag),
                self.fingerprint().unwrap_or_default(),
            ),
        }
    }

    fn apply(&mut self, one: Move, is_staged: bool) {
        let status = self.schedext.status.as_ref();
        let has_record = status.is_some_and(|status| status.rollout.is_some());
        let runs = what_runs(&self.schedext);
        let good = status.and_then(|status| status.last_good.as_ref());
        let has_good = good.is_some_and(|good| good.revision != crate::revision::revision(&runs));
        match one {
            Move::Edit(tag) => self.edit(spec(tag, is_staged)),
            Move::Says(tag, kind) => {
                self.says(&format!("r.example/x:{tag}"), self.verdict(tag, kind));
            }
            Move::SaysOfDigest(tag, kind) => {
                let image = digest(char::from(b'0' + tag));
                self.says(&image, self.verdict(tag, kind));
            }
            Move::Policy(0) => {
                let why = "gone".to_owned();
                self.policy = Some(PolicyState::Missing { why });
                self.verdicts.clear();
            }
            Move::Policy(number) => self.policy(&format!("p{number}")),
            Move::Enforce(enforces) => self.enforces = enforces,
            Move::Refreshed(refreshed) => self.is_refreshed = refreshed,
            Move::Complete if has_record => self.complete(),
            Move::Enter(phase) if has_record && has_good => self.enters(phase),
            Move::Fail if has_record && has_good => self.fails(),
            Move::Complete | Move::Enter(_) | Move::Fail => {}
        }
    }

    /// Whether the record says that the policy leaves the nodes without a scheduler.
    fn is_off(&self) -> bool {
        let status = self.schedext.status.as_ref();
        status.is_some_and(|status| {
            let phase = status.rollout.as_ref().map(|rollout| rollout.phase);
            let rejected = status.rejected.as_ref();
            phase == Some(RolloutPhase::RolledBack)
                && rejected.is_some_and(|rejected| rejected.reason == "PolicyViolated")
                && status.last_good.is_none()
        })
    }

    /// Whether what the spec asks for failed, other than by the policy.
    fn has_failed(&self) -> bool {
        let runs = what_runs(&self.schedext);
        let status = runs.status.as_ref();
        let rejected = status.and_then(|status| status.rejected.as_ref());
        rejected.is_some_and(|rejected| {
            rejected.reason != "PolicyViolated"
                && rejected.revision == crate::revision::revision(&runs)
        })
    }

    /// The good revisions that the policy accepts, or may accept.
    fn possible_goods(&self) -> Vec<String> {
        let status = self.schedext.status.iter();
        let goods = status.flat_map(|status| [&status.last_good, &status.previous_good]);
        let possible = goods.flatten().filter_map(|good| {
            let image = good.spec["sched"].as_str().unwrap();
            let was_accepted =
                good.policy.is_some() && good.policy.as_deref() == self.fingerprint();
            match self.verdicts.get(image) {
                Some(Verdict::Refused(_)) => None,
                Some(Verdict::Unsigned(_)) if !was_accepted => None,
                _ => Some(image.to_owned()),
            }
        });
        possible.collect()
    }
}

fn image_of(step: &PlanStep) -> Option<String> {
    let (PlanStep::Create(desired) | PlanStep::Replace { desired, .. }) = step else {
        return None;
    };
    let spec = desired.spec.as_ref().unwrap();
    let pod = spec.template.spec.as_ref().unwrap();
    pod.containers[0].image.clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Only what was accepted is ever written, by its digest; nothing but the enforcement takes
    /// anything off, and not while there is, or may be, a good revision to go back to.
    #[test]
    fn only_accepted_digests_are_written(moves in moves(), is_staged: bool) {
        let mut world = World::new(spec(1, is_staged));
        let mut ever = BTreeSet::new();
        for one in moves {
            world.apply(one, is_staged);
            ever.extend(world.verdicts.values().filter_map(|verdict| match verdict {
                Verdict::Accepted { resolved, .. } => Some(resolved.clone()),
                _ => None,
            }));
            for _ in 0..4 {
                let before = world.runs().len();
                let was_off = world.is_off();
                let possible = world.possible_goods();
                let target = what_runs(&world.schedext).spec.sched;
                let has_failed = world.has_failed();
                let plan = world.round();
                for image in plan.steps.iter().filter_map(image_of) {
                    prop_assert!(ever.contains(&image), "{image} was never accepted");
                }
                prop_assert!(world.enforces || before <= world.runs().len());
                if world.is_off() && !was_off {
                    let left: Vec<_> = possible
                        .iter()
                        .filter(|image| **image != target || !has_failed)
                        .collect();
                    prop_assert!(left.is_empty(), "there was {left:?} to go back to");
                }
            }
        }
    }
}
