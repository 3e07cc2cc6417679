//! Plans one SchedExt: which DaemonSets to create, replace, touch and delete.
//!
//! Nodes play no role here: which nodes a DaemonSet may use is in the SchedExt's assignment.

mod decide;
mod outcome;
mod step;
pub(crate) mod unbound_pods;

use std::collections::BTreeSet;

use crate::name::ObjectKey;
use crate::observed::Observed;
use crate::part::{parts, uid};

pub use outcome::{Attempt, Failure, Outcome};
pub use step::{Plan, PlanStep, TakenName, WaitingDaemonSet, WaitsFor};

/// A SchedExt that is being deleted gets an empty plan: the garbage collector removes what it
/// controls. So does one whose claims broke a rule: it is left as it is.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    let deleting = observed.schedext.metadata.deletion_timestamp.is_some();
    if deleting || observed.assignment.violation.is_some() {
        return plan;
    }
    let mut needed = BTreeSet::new();
    for part in parts(&observed.schedext) {
        if let Some(key) = decide::decide(observed, &part, &mut plan) {
            needed.insert(key);
        }
    }
    plan.steps.extend(orphans(observed, &needed));
    plan.steps.extend(unbound_pods::steps(observed));
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
