//! Plans one SchedExt: which DaemonSets to create, replace, touch and delete. What each of them
//! follows is decided by [`crate::rollout`].
//!
//! Nodes play no role here: which nodes a DaemonSet may use is in the SchedExt's assignment.

mod decide;
mod outcome;
mod step;
pub(crate) mod unbound_pods;

use std::collections::BTreeSet;

use sked_api::RolloutPhase;

use crate::name::ObjectKey;
use crate::observed::Observed;
use crate::part::uid;
use crate::rollout::{Stable, Templates, is_deployed};

pub use outcome::{Attempt, Failure, Outcome};
pub use step::{Plan, PlanStep, TakenName, WaitingDaemonSet, WaitsFor};

/// A SchedExt that is being deleted gets an empty plan: the garbage collector removes what it
/// controls. So does one whose claims broke a rule, or of which no image was ever accepted: it is left
/// as it is.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    let deleting = observed.schedext.metadata.deletion_timestamp.is_some();
    let nothing = observed.verification.runs_nothing();
    if deleting || nothing || observed.assignment.violation.is_some() {
        return plan;
    }
    let live = observed.daemonsets.iter().map(|live| &**live);
    let templates = Templates::new(&observed.schedext, is_deployed(&observed.schedext, live));
    let is_held = matches!(templates.stable(), Stable::Held(_));
    let is_unrecorded = templates.record().is_none();
    let update = decide::update(observed, &templates);
    let mut needed = BTreeSet::new();
    for part in templates.stable_parts() {
        needed.extend(match is_held {
            true => decide::hold(observed, &part, is_unrecorded, &mut plan),
            false => decide::decide(observed, &part, &update, &mut plan),
        });
    }
    // Later its nodes are handed back one after the other, and none is restarted before.
    let runs_canary = templates.phase() == Some(RolloutPhase::Canary);
    for (part, nodes) in templates.canary_parts() {
        let waits =
            !runs_canary || decide::canary_waits(observed, &part, nodes.len(), &update, &plan);
        needed.extend(match waits {
            true => decide::hold(observed, &part, is_unrecorded, &mut plan),
            false => decide::decide(observed, &part, &update, &mut plan),
        });
    }
    // What is held stays, and so does what it may still need.
    if !is_held {
        plan.steps.extend(orphans(observed, &needed));
    }
    plan.steps.extend(unbound_pods::steps(observed));
    let verification = &observed.verification;
    plan.steps.retain(|step| match step {
        PlanStep::Create(desired) | PlanStep::Replace { desired, .. } => {
            !verification.forbids(desired)
        }
        PlanStep::Touch { .. } | PlanStep::Delete { .. } => true,
    });
    plan
}

/// Deletes the DaemonSets that the SchedExt controls and does not need any more.
fn orphans(observed: &Observed, needed: &BTreeSet<ObjectKey>) -> impl Iterator<Item = PlanStep> {
    let uid = uid(&observed.schedext);
    let ours = observed.daemonsets.iter().filter(move |live| {
        live.controller.as_ref() == Some(&uid) && !live.deleting && !needed.contains(&live.key)
    });
    ours.map(|live| PlanStep::Delete {
        key: live.key.clone(),
        uid: live.uid.clone(),
    })
}

#[cfg(test)]
mod tests;
