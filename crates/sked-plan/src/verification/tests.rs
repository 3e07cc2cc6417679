//! A SchedExt, its DaemonSets and what the verifier says of its images, round by round.

mod enforcement;
mod properties;
mod refresh;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use sked_api::{Reason, RolloutPhase, SchedExt, SchedExtStatus, VerificationState};

use super::*;
use crate::check::check_plan;
use crate::fixture;
use crate::observed::Observed;
use crate::plan::{Outcome, Plan, PlanStep, plan};
use crate::rollout::requests::has_refused_refresh;
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

fn refused() -> Verdict {
    Verdict::Refused("another key".to_owned())
}

fn unsigned() -> Verdict {
    Verdict::Unsigned("not signed".to_owned())
}

fn trouble() -> Verdict {
    Verdict::Trouble("away".to_owned())
}

struct World {
    schedext: SchedExt,
    daemonsets: Vec<Value>,
    /// `None` without a trust policy.
    policy: Option<PolicyState>,
    verdicts: BTreeMap<String, Verdict>,
    is_refreshed: bool,
    follows_tags: bool,
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
            follows_tags: false,
            enforces: false,
        }
    }

    fn policy(&mut self, fingerprint: &str) {
        let fingerprint = fingerprint.to_owned();
        self.policy = Some(PolicyState::Loaded { fingerprint });
        self.verdicts.clear();
    }

    fn asks(&mut self, request: &str) {
        let request = ("sked.schedkit.io/request".to_owned(), request.to_owned());
        self.schedext.metadata.annotations = Some([request].into());
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
            tells_tags: has_refused_refresh(&self.schedext),
            follows_tags: self.follows_tags,
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

    fn message(&self) -> &str {
        let mut conditions = self.status().conditions.iter();
        let verified = conditions.find(|one| one.type_ == "Verified");
        &verified.unwrap().message
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
        let good = sked_api::GoodRevision {
            revision: crate::revision::revision(&runs),
            selection: crate::revision::selection(&runs),
            since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH),
            verified: self.policy.is_some(),
            policy: None,
            spec: crate::rollout::good::fields(&runs),
        };
        let new = good.revision.clone();
        let old = status.last_good.replace(Box::new(good));
        if let Some(old) = old.filter(|old| old.revision != new) {
            status.previous_good = Some(old);
        }
    }

    /// What runs is in this phase.
    fn enters(&mut self, phase: RolloutPhase) {
        let runs = what_runs(&self.schedext);
        let status = self.schedext.status.as_mut().unwrap();
        let rollout = status.rollout.as_mut().unwrap();
        rollout.phase = phase;
        rollout.revision = crate::revision::revision(&runs);
        rollout.selection = crate::revision::selection(&runs);
    }

    /// What is being rolled out fails on a node.
    fn fails(&mut self) {
        self.enters(RolloutPhase::RolledBack);
        let runs = what_runs(&self.schedext);
        let status = self.schedext.status.as_mut().unwrap();
        let rollout = status.rollout.as_ref().unwrap();
        status.rejected = Some(Box::new(sked_api::RejectedRevision {
            revision: crate::revision::revision(&runs),
            selection: crate::revision::selection(&runs),
            reason: "Stall".to_owned(),
            node: "node1".to_owned(),
            message: "it stalled".to_owned(),
            time: rollout.since.clone(),
        }));
    }
}

/// Version 2 is being rolled out, and version 1 is the last good one.
fn with_v2() -> World {
    let mut world = with_v1();
    world.complete();
    world.says("r.example/x:2", accepted('2', "p1"));
    world.edit(json!({"sched": "r.example/x:2"}));
    world.settle();
    assert_eq!(world.runs(), [digest('2')]);
    world
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
fn what_failed_before_verification_was_turned_on_is_not_rolled_out_again() {
    let mut world = World::new(json!({"sched": "r.example/x:1"}));
    let policy = world.policy.take();
    world.settle();
    world.complete();
    world.edit(json!({"sched": "r.example/x:2"}));
    world.settle();
    world.fails();
    world.settle();
    assert_eq!(world.runs(), ["r.example/x:1"]);
    world.policy = policy;
    world.says("r.example/x:2", accepted('2', "p1"));
    for _ in 0..4 {
        assert_eq!(world.round().steps, vec![]);
    }
    assert!(world.is("True", Reason::Verified));
    let status = world.status();
    assert_eq!(status.rejected.clone().unwrap().reason, "Stall");
    assert!(!status.last_good.clone().unwrap().verified);
    // Nothing goes back to it, and another version is rolled out.
    assert_eq!(what_runs(&world.schedext).status.unwrap().last_good, None);
    world.says("r.example/x:3", accepted('3', "p1"));
    world.edit(json!({"sched": "r.example/x:3"}));
    world.settle();
    assert_eq!(world.runs(), [digest('3')]);
}

#[test]
fn a_policy_that_changes_and_still_accepts_is_recorded() {
    let mut world = with_v1();
    world.policy("p2");
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
