//! Decides for the DaemonSet of one part: create, replace, wait, or leave it alone.

use super::step::{Plan, PlanStep, TakenName, WaitingDaemonSet, WaitsFor};
use crate::daemonset::daemonset;
use crate::fingerprint::{Fingerprint, fingerprint};
use crate::live_daemonset::LiveDaemonSet;
use crate::name::ObjectKey;
use crate::observed::Observed;
use crate::part::{Part, uid};

/// Adds to the plan what a part needs. Returns the name of its DaemonSet, unless the part must
/// yield that name.
pub(super) fn decide(observed: &Observed, part: &Part<'_>, plan: &mut Plan) -> Option<ObjectKey> {
    let key = part.key();
    let yields = part
        .pool_name()
        .and_then(|pool| observed.assignment.yields.get(pool));
    if let Some(other) = yields {
        let by = format!("the SchedExt {other}, whose own DaemonSet has precedence");
        plan.taken.push(TakenName { key, by });
        return None;
    }
    let live = observed.daemonsets.iter().find(|live| live.key == key);
    match live {
        Some(live) if live.deleting => plan.waiting.push(WaitingDaemonSet {
            key: key.clone(),
            waits_for: WaitsFor::Deletion,
        }),
        Some(live) if live.controller.as_ref() != Some(&uid(part.schedext)) => {
            let by = other_controller(live);
            let key = key.clone();
            plan.taken.push(TakenName { key, by });
        }
        Some(live) => replace(observed, part, live, plan),
        None => match wait_reason(observed, part) {
            Some(waits_for) => plan.waiting.push(WaitingDaemonSet {
                key: key.clone(),
                waits_for,
            }),
            None => {
                let step = PlanStep::Create(Box::new(daemonset(part)));
                plan.steps.push(step);
            }
        },
    }
    Some(key)
}

fn replace(observed: &Observed, part: &Part<'_>, live: &LiveDaemonSet, plan: &mut Plan) {
    let desired = daemonset(part);
    // An object that cannot be serialized can neither be compared nor be sent.
    let Ok(value) = serde_json::to_value(&desired) else {
        return;
    };
    let fingerprint = fingerprint(&value);
    if fingerprint == live.fingerprint {
        return;
    }
    match wait_reason(observed, part) {
        Some(waits_for) => plan.waiting.push(WaitingDaemonSet {
            key: live.key.clone(),
            waits_for,
        }),
        None if is_futile(observed, live, fingerprint) => {}
        None => plan.steps.push(PlanStep::Replace {
            desired: Box::new(desired),
            uid: live.uid.clone(),
        }),
    }
}

/// Whether the same replace was tried before and the live DaemonSet is what the API server made of
/// it. To repeat it would be an endless fight with a mutating webhook.
fn is_futile(observed: &Observed, live: &LiveDaemonSet, desired: Fingerprint) -> bool {
    let tried = observed.futile.get(&live.uid);
    tried.is_some_and(|tried| tried.desired == desired && tried.stored == live.fingerprint)
}

/// The claims list the nodes whose labels must be written first: those on which the DaemonSet as it
/// is now would not run. So a change that only narrows a DaemonSet never waits.
fn wait_reason(observed: &Observed, part: &Part<'_>) -> Option<WaitsFor> {
    let assignment = &observed.assignment;
    let generation = part.schedext.metadata.generation.unwrap_or_default();
    if assignment.generation != generation {
        return Some(WaitsFor::Claims);
    }
    let Some(part) = assignment.parts.get(&part.pool_name().map(str::to_owned)) else {
        return Some(WaitsFor::Claims);
    };
    let nodes = part.waits_for.clone();
    (!nodes.is_empty()).then_some(WaitsFor::Labels(nodes))
}

fn other_controller(live: &LiveDaemonSet) -> String {
    match (&live.other_controller, &live.controller) {
        (Some(other), _) => other.clone(),
        (None, Some(_)) => "another SchedExt, or an earlier one of the same name".to_owned(),
        (None, None) => "no controller".to_owned(),
    }
}
