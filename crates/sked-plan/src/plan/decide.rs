//! Decides for the DaemonSet of one part: create, replace, wait, or leave it alone.

use std::collections::{BTreeMap, BTreeSet};

use sked_api::RolloutPhase;

use super::step::{Plan, PlanStep, TakenName, WaitingDaemonSet, WaitsFor};
use crate::daemonset::{Update, with_update};
use crate::fingerprint::{Fingerprint, fingerprint};
use crate::live_daemonset::LiveDaemonSet;
use crate::name::{NodeName, ObjectKey};
use crate::observed::Observed;
use crate::part::{Part, uid};
use crate::rollout::settings::max_unavailable;
use crate::rollout::{Settings, Templates, are_claims_current};

/// Adds to the plan what a part needs. Returns the name of its DaemonSet, unless the part must
/// yield that name.
pub(super) fn decide(
    observed: &Observed,
    part: &Part<'_>,
    update: &Update,
    plan: &mut Plan,
) -> Option<ObjectKey> {
    let key = part.key();
    let yields = observed.assignment.yields.get(&part.id());
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
        Some(live) => replace(observed, part, update, live, plan),
        None => match wait_reason(observed, part) {
            Some(waits_for) => plan.waiting.push(WaitingDaemonSet {
                key: key.clone(),
                waits_for,
            }),
            None => {
                let step = PlanStep::Create(Box::new(with_update(part, update)));
                plan.steps.push(step);
            }
        },
    }
    Some(key)
}

/// Leaves the part's DaemonSet as it is until the status records what happens next.
pub(super) fn hold(
    observed: &Observed,
    part: &Part<'_>,
    is_unrecorded: bool,
    plan: &mut Plan,
) -> Option<ObjectKey> {
    let key = part.key();
    if observed.assignment.yields.contains_key(&part.id()) {
        return None;
    }
    if is_unrecorded {
        plan.waiting.push(WaitingDaemonSet {
            key: key.clone(),
            waits_for: WaitsFor::Rollout,
        });
    }
    Some(key)
}

/// Whether the pods of a canary must not be replaced now, because the nodes of the other DaemonSets
/// use up the limit: while those go back from a revision that the spec asked for before. Or because
/// a node is on its way to the canary: the old pod is still ready there, and the DaemonSet
/// controller would replace another besides.
pub(super) fn canary_waits(
    observed: &Observed,
    part: &Part<'_>,
    recorded: usize,
    update: &Update,
    plan: &Plan,
) -> bool {
    let key = part.key();
    let uid = uid(part.schedext);
    let own = observed.daemonsets.iter();
    let own = own.filter(|live| live.controller.as_ref() == Some(&uid) && !live.deleting);
    let (canary, others): (Vec<_>, Vec<_>) = own.partition(|live| live.key == key);
    // One that is created has no pods yet, and one without a ready pod has nothing to lose.
    if canary.iter().all(|live| live.ready == 0) {
        return false;
    }
    let counted: i32 = canary.iter().map(|live| live.desired).sum();
    if usize::try_from(counted).unwrap_or_default() < recorded {
        return true;
    }
    let others_change = others
        .iter()
        .any(|live| live.observed_generation < live.generation || live.updated < live.desired);
    let down = others.iter().map(|live| {
        let dead = update.dead.get(&live.key).copied().unwrap_or_default();
        let unready = usize::try_from(live.desired - live.ready).unwrap_or_default();
        unready.saturating_sub(dead)
    });
    let nodes = update.nodes.values().sum();
    let limit = max_unavailable(part.schedext, nodes);
    !plan.steps.is_empty() || others_change || down.sum::<usize>() >= limit
}

/// How the DaemonSet controller is to replace pods: not at all while the roll-out is frozen; and a
/// dead node does not count against the limit, or it would stop all others.
pub(super) fn update(observed: &Observed, templates: &Templates<'_>) -> Update {
    let deadline = Settings::new(&observed.schedext).attach_deadline;
    let is_dead = |node: &NodeName| {
        let since = observed.unreachable.get(node);
        since.is_some_and(|since| observed.now.duration_since(*since) >= deadline)
    };
    let mut dead: BTreeMap<ObjectKey, usize> = BTreeMap::new();
    for live in &observed.daemonsets {
        let pods = observed.pods.iter().filter(|pod| pod.daemonset == live.uid);
        let nodes: BTreeSet<_> = pods.filter_map(|pod| pod.node.as_ref()).collect();
        let count = nodes.into_iter().filter(|node| is_dead(node)).count();
        dead.insert(live.key.clone(), count);
    }
    let nodes = observed.assignment.parts.iter();
    let nodes = nodes.map(|(id, part)| (id.clone(), part.nodes.len()));
    Update {
        is_frozen: templates.is_frozen(),
        is_going_back: matches!(
            templates.phase(),
            Some(RolloutPhase::Canary | RolloutPhase::RolledBack)
        ),
        dead,
        nodes: nodes.collect(),
    }
}

fn replace(
    observed: &Observed,
    part: &Part<'_>,
    update: &Update,
    live: &LiveDaemonSet,
    plan: &mut Plan,
) {
    let desired = with_update(part, update);
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
    if !are_claims_current(&observed.schedext, assignment) {
        return Some(WaitsFor::Claims);
    }
    let Some(part) = assignment.parts.get(&part.id()) else {
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
