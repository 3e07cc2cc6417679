//! A SchedExt, its DaemonSets and what the verifier says of its images, round by round.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use sked_api::{Reason, RolloutPhase, SchedExt, SchedExtStatus, VerificationState};

use super::*;
use crate::check::check_plan;
use crate::fixture;
use crate::observed::Observed;
use crate::plan::{Outcome, Plan, PlanStep, plan};
use crate::status::status;

/// A reference by digest; each digit is another image.
fn digest(digit: char) -> String {
    format!("r.example/x@sha256:{}", digit.to_string().repeat(64))
}

fn accepted(digit: char, policy: &str) -> Verdict {
    Verdict::Accepted {
        resolved: digest(digit),
        signer: "somebody".to_owned(),
        policy: policy.to_owned(),
        at: Timestamp::UNIX_EPOCH,
    }
}

struct World {
    schedext: SchedExt,
    daemonsets: Vec<Value>,
    /// `None` without a trust policy.
    policy: Option<PolicyState>,
    verdicts: BTreeMap<String, Verdict>,
    is_refreshed: bool,
    enforces: bool,
}

impl World {
    fn new(spec: Value) -> Self {
        Self {
            schedext: fixture::schedext("a", spec),
            daemonsets: Vec::new(),
            policy: Some(PolicyState::Loaded {
                fingerprint: "p1".to_owned(),
            }),
            verdicts: BTreeMap::new(),
            is_refreshed: false,
            enforces: false,
        }
    }

    fn says(&mut self, image: &str, verdict: Verdict) {
        self.verdicts.insert(image.to_owned(), verdict);
    }

    fn edit(&mut self, spec: Value) {
        let generation = self.schedext.metadata.generation;
        let status = self.schedext.status.take();
        self.schedext = fixture::schedext("a", spec);
        self.schedext.metadata.generation = generation.map(|one| one + 1);
        self.schedext.status = status;
    }

    fn observed(&self) -> Observed {
        let Some(policy) = &self.policy else {
            return fixture::observed(&self.schedext, &self.daemonsets);
        };
        let known = Known {
            asked: Arc::new(self.schedext.clone()),
            policy: policy.clone(),
            verdicts: self.verdicts.clone(),
            is_refreshed: self.is_refreshed,
            follows_tags: false,
            enforces: self.enforces,
        };
        Observed {
            verification: Verification::On(Box::new(known)),
            ..fixture::observed(&what_runs(&self.schedext), &self.daemonsets)
        }
    }

    /// One reconciliation: writes what is planned, then the status.
    fn round(&mut self) -> Plan {
        let observed = self.observed();
        let plan = plan(&observed);
        assert_eq!(check_plan(&observed, &plan), vec![]);
        for step in &plan.steps {
            match step {
                PlanStep::Create(desired) | PlanStep::Replace { desired, .. } => {
                    let mut object = serde_json::to_value(desired).unwrap();
                    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                    object["metadata"]["uid"] = json!(format!("ds-{name}"));
                    object["metadata"]["resourceVersion"] = json!("1");
                    object["metadata"]["generation"] = json!(1);
                    object["status"] = json!({"observedGeneration": 1});
                    self.daemonsets
                        .retain(|one| one["metadata"]["name"] != *name);
                    self.daemonsets.push(object);
                }
                PlanStep::Delete { key, .. } => self
                    .daemonsets
                    .retain(|one| one["metadata"]["name"] != *key.name),
                PlanStep::Touch { .. } => {}
            }
        }
        let status = status(&observed, &plan, &Outcome::default());
        self.schedext.status = Some(status);
        plan
    }

    fn settle(&mut self) {
        for _ in 0..4 {
            self.round();
        }
    }

    fn runs(&self) -> Vec<&str> {
        let images = self.daemonsets.iter();
        let images = images.map(|one| &one["spec"]["template"]["spec"]["containers"][0]["image"]);
        images.map(|image| image.as_str().unwrap()).collect()
    }

    fn status(&self) -> &SchedExtStatus {
        self.schedext.status.as_ref().unwrap()
    }

    fn verified(&self) -> (String, String) {
        let mut conditions = self.status().conditions.iter();
        let verified = conditions.find(|one| one.type_ == "Verified").unwrap();
        (verified.status.clone(), verified.reason.clone())
    }

    fn is(&self, status: &str, reason: Reason) -> bool {
        self.verified() == (status.to_owned(), reason.as_str().to_owned())
    }

    /// The roll-out of what runs is complete.
    fn complete(&mut self) {
        let runs = what_runs(&self.schedext);
        let status = self.schedext.status.as_mut().unwrap();
        let rollout = status.rollout.as_mut().unwrap();
        rollout.phase = RolloutPhase::Complete;
        status.last_good = Some(Box::new(sked_api::GoodRevision {
            revision: crate::revision::revision(&runs),
            selection: crate::revision::selection(&runs),
            since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH),
            verified: self.policy.is_some(),
            spec: crate::rollout::good::fields(&runs),
        }));
    }
}

fn with_v1() -> World {
    let mut world = World::new(json!({"sched": "r.example/x:1", "args": ["--one"]}));
    world.says("r.example/x:1", accepted('1', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    world
}

#[test]
fn nothing_runs_before_it_is_accepted_and_then_by_its_digest() {
    let mut world = World::new(json!({"sched": "r.example/x:1"}));
    world.settle();
    assert!(world.daemonsets.is_empty());
    assert!(world.is("Unknown", Reason::Verifying));
    world.says("r.example/x:1", Verdict::Trouble("no route".to_owned()));
    world.settle();
    assert!(world.daemonsets.is_empty());
    assert!(world.is("Unknown", Reason::CannotVerify));
    world.says("r.example/x:1", accepted('1', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    assert!(world.is("True", Reason::Verified));
    assert_eq!(world.status().resolved_image, Some(digest('1')));
    assert_eq!(
        world.status().verification,
        Some(VerificationState::Verified)
    );
}

#[test]
fn a_refused_version_changes_nothing_on_the_nodes() {
    let mut world = with_v1();
    world.edit(json!({"sched": "r.example/x:2", "args": ["--two"]}));
    world.says(
        "r.example/x:2",
        Verdict::Refused("x:2 is not signed".to_owned()),
    );
    for _ in 0..4 {
        assert_eq!(world.round().steps, vec![]);
    }
    assert_eq!(world.runs(), [digest('1')]);
    assert!(world.is("False", Reason::ImageRefused));
    let status = world.status();
    assert_eq!(status.resolved_image, Some(digest('1')));
    let degraded = status.conditions.iter().find(|one| one.type_ == "Degraded");
    assert!(degraded.unwrap().message.contains("x:2 is not signed"));
    // With the arguments that belong to it.
    assert_eq!(what_runs(&world.schedext).spec.args, ["--one"]);
    // Back to what runs: no roll-out.
    world.edit(json!({"sched": "r.example/x:1", "args": ["--one"]}));
    assert_eq!(world.round().steps, vec![]);
    assert!(world.is("True", Reason::Verified));
}

#[test]
fn a_tag_that_moves_is_pinned_until_somebody_asks() {
    let mut world = with_v1();
    world.says("r.example/x:1", accepted('2', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    let annotations = [("sked.schedkit.io/request".to_owned(), "refresh".to_owned())];
    world.schedext.metadata.annotations = Some(annotations.into());
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
    let annotations = [("sked.schedkit.io/request".to_owned(), "refresh".to_owned())];
    world.schedext.metadata.annotations = Some(annotations.into());
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
    let annotations = [("sked.schedkit.io/request".to_owned(), "refresh".to_owned())];
    world.schedext.metadata.annotations = Some(annotations.into());
    world.settle();
    let handled = world.status().handled_request.clone().unwrap();
    assert!(handled.contains("--trust-policy"), "{handled}");
}

#[test]
fn a_manager_that_knows_nothing_goes_on_with_what_was_accepted() {
    let mut world = with_v1();
    world.verdicts.clear();
    world.policy = Some(PolicyState::Missing {
        why: "gone".to_owned(),
    });
    assert_eq!(world.round().steps, vec![]);
    assert!(world.is("Unknown", Reason::PolicyUnreadable));
    // As a node that joins would get it.
    world.daemonsets.clear();
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
}

#[test]
fn verification_that_is_turned_on_over_a_tag_waits_and_keeps_it() {
    let mut world = World::new(json!({"sched": "r.example/x:1"}));
    let policy = world.policy.take();
    world.settle();
    assert_eq!(world.runs(), ["r.example/x:1"]);
    assert_eq!(world.status().verification, Some(VerificationState::Off));
    world.complete();
    world.policy = policy;
    world.says("r.example/x:1", Verdict::Refused("not signed".to_owned()));
    for _ in 0..4 {
        assert_eq!(world.round().steps, vec![]);
    }
    assert_eq!(world.runs(), ["r.example/x:1"]);
    world.says("r.example/x:1", accepted('1', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
    // And off again.
    world.policy = None;
    world.settle();
    assert_eq!(world.runs(), ["r.example/x:1"]);
    assert_eq!(world.status().accepted, None);
}

#[test]
fn a_stricter_policy_is_told_and_enforced_only_if_asked() {
    let mut world = with_v1();
    world.complete();
    world.policy = Some(PolicyState::Loaded {
        fingerprint: "p2".to_owned(),
    });
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
    let annotations = [("sked.schedkit.io/request".to_owned(), "retry".to_owned())];
    world.schedext.metadata.annotations = Some(annotations.into());
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
    let mut world = with_v1();
    world.complete();
    world.says("r.example/x:2", accepted('2', "p1"));
    world.edit(json!({"sched": "r.example/x:2"}));
    world.settle();
    assert_eq!(world.runs(), [digest('2')]);
    world.enforces = true;
    world.says(&digest('2'), Verdict::Refused("denied".to_owned()));
    world.says(&digest('1'), accepted('1', "p2"));
    world.settle();
    assert_eq!(world.runs(), [digest('1')]);
}

#[test]
fn a_policy_that_changes_and_still_accepts_is_recorded() {
    let mut world = with_v1();
    world.policy = Some(PolicyState::Loaded {
        fingerprint: "p2".to_owned(),
    });
    world.says(&digest('1'), accepted('1', "p2"));
    world.settle();
    assert!(world.is("True", Reason::Verified));
    let images = &world.status().accepted.as_ref().unwrap().images;
    assert_eq!(images[0].policy, "p2");
    let before = world.status().clone();
    world.settle();
    assert_eq!(*world.status(), before, "a status is written once");
}

#[test]
fn a_pool_is_accepted_with_its_schedext_only() {
    let pool = |tag: u8| {
        json!({"sched": "r.example/x:1",
            "pools": [{"name": "p", "nodeSelector": {"p": "1"}, "sched": format!("r.example/x:{tag}")}]})
    };
    let mut world = World::new(pool(2));
    world.says("r.example/x:1", accepted('1', "p1"));
    world.settle();
    assert!(world.daemonsets.is_empty());
    world.says("r.example/x:2", accepted('2', "p1"));
    world.settle();
    assert_eq!(world.runs(), [digest('1'), digest('2')]);
    world.says("r.example/x:3", Verdict::Trouble("away".to_owned()));
    world.edit(pool(3));
    world.settle();
    assert_eq!(world.runs(), [digest('1'), digest('2')]);
}

#[test]
fn references_are_what_is_asked_for_and_what_runs() {
    let world = with_v1();
    let all = |again| {
        references(&world.schedext, again)
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(all(false), [digest('1')]);
    assert_eq!(all(true), ["r.example/x:1".to_owned(), digest('1')]);
}

#[test]
fn a_record_without_digests_runs_nothing() {
    let mut world = with_v1();
    let status = world.schedext.status.as_mut().unwrap();
    status.accepted.as_mut().unwrap().images[0].resolved = "r.example/x:1".to_owned();
    assert_eq!(runnable(&world.schedext), None);
}

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

/// For whoever is not the manager: nothing that it wrote is contradicted.
#[test]
fn a_reader_says_what_the_manager_recorded() {
    let mut world = with_v1();
    world.edit(json!({"sched": "r.example/x:2", "args": ["--two"]}));
    world.says("r.example/x:2", Verdict::Refused("not signed".to_owned()));
    world.settle();
    let written = world.status().clone();
    let asked = Arc::new(world.schedext.clone());
    assert!(was_on(&asked));
    assert_eq!(unaccepted(&asked), ["r.example/x:2"]);
    let read = Observed {
        verification: Verification::Recorded(Arc::clone(&asked)),
        ..fixture::observed(&as_recorded(&asked), &world.daemonsets)
    };
    let plan = plan(&read);
    assert_eq!(plan.steps, vec![]);
    assert_eq!(status(&read, &plan, &Outcome::default()), written);
}

#[test]
fn a_manager_that_starts_does_not_take_a_refusal_back() {
    let mut world = with_v1();
    world.edit(json!({"sched": "r.example/x:2"}));
    world.says("r.example/x:2", Verdict::Refused("not signed".to_owned()));
    world.settle();
    let before = world.status().clone();
    world.verdicts.clear();
    world.settle();
    assert_eq!(*world.status(), before);
}
