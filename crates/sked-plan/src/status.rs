//! Computes a SchedExt's status from what was observed, its plan and the outcome of the plan.
//!
//! ```text
//! taken names · failed writes · refused pods · pods' states ─collect▶ issues
//!                              issues + progress + lost and excluded nodes ─▶ conditions, problems
//! ```
//!
//! A running pod says nothing about the kernel: `attached` counts kernels that report it, and a
//! kernel without a trusted report is unknown. The same input gives the same status, and a value
//! that did not change keeps its time, so that an unchanged status is not written.

mod api_value;
mod collect;
mod condition;
mod event;
mod failure;
mod issue;
mod node_list;
mod node_status;
mod pod_issue;
mod problem;
mod progress;
mod rollout;
mod verification;

use std::sync::Arc;

use jiff::Timestamp;
use sked_api::{Counts, PoolStatus, SchedExtStatus};

use api_value::{count, whole_seconds};

use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::part::{Part, Stage, parts};
use crate::placed_pods::{self, OpsAndTemplate, PlacedPod};
use crate::plan::{Outcome, Plan, unbound_pods};
use crate::revision::revision;
use crate::rollout::Record;
use crate::rollout::advance::{advance, due as rollout_due};
use progress::Progress;
use verification::Section;

pub use event::{Event, EventKind, events};
pub use node_status::{NodeProblem, NodeStatus, node_statuses};

/// The status of a SchedExt that is being deleted does not change.
pub fn status(observed: &Observed, plan: &Plan, outcome: &Outcome) -> SchedExtStatus {
    let before = observed.schedext.status.clone().unwrap_or_default();
    if observed.schedext.metadata.deletion_timestamp.is_some() {
        return before;
    }
    let status = with_known_names(observed, plan, outcome, &before);
    if names(&status) == names(&before) {
        return status;
    }
    // A name that was learned just now holds for the nodes that it was not learned from.
    let mut observed = observed.clone();
    Arc::make_mut(&mut observed.schedext).status = Some(SchedExtStatus {
        ops: status.ops,
        ops_template: status.ops_template,
        pools: status.pools,
        ..before.clone()
    });
    with_known_names(&observed, plan, outcome, &before)
}

/// The names that nodes are held to.
fn names(status: &SchedExtStatus) -> Vec<[&Option<String>; 2]> {
    let pools = status.pools.iter();
    let pools = pools.map(|pool| [&pool.ops, &pool.ops_template]);
    let base = [&status.ops, &status.ops_template];
    pools.chain([base]).collect()
}

fn with_known_names(
    observed: &Observed,
    plan: &Plan,
    outcome: &Outcome,
    before: &SchedExtStatus,
) -> SchedExtStatus {
    let schedext = &observed.schedext;
    let placed = placed_pods::placed(observed);
    let now = whole_seconds(observed.now);
    let (mut record, hold) = advance(observed, &placed, plan, now);
    record.keep_unverified(schedext, observed.stored());
    let mut issues = collect::issues(observed, &placed, plan, outcome);
    let verification = Section::of(observed);
    issues.extend(verification.issue());
    let progress = progress::progress(observed, &placed, plan, &issues);
    let progress = rollout::progress(observed, &placed, &record, hold, progress);
    let progress = match verification.waits() {
        Some((reason, message)) => Progress::RollingOut(reason, message),
        None => progress,
    };
    issues.extend(rollout::issues(schedext, &record));
    let quarantined = count(record.quarantined.len());
    let (ops, ops_template) = base_name(observed, &placed);
    let (problems, more_problems) = problem::problems(observed, &issues, before, now);
    let Record {
        rollout,
        last_good,
        previous_good,
        rejected,
        quarantined: quarantined_nodes,
        handled_request,
    } = record;
    SchedExtStatus {
        observed_generation: schedext.metadata.generation,
        revision: Some(revision(schedext)),
        counts: Some(Counts {
            quarantined,
            ..counts(observed, &placed)
        }),
        verification: Some(verification.state),
        resolved_image: verification.resolved_image.clone(),
        accepted: verification.accepted.clone(),
        rollout,
        last_good,
        previous_good,
        rejected,
        quarantined: quarantined_nodes,
        handled_request,
        ops,
        ops_template,
        pools: pools(observed, &placed),
        problems,
        more_problems,
        conditions: condition::conditions(
            observed,
            &placed,
            &issues,
            &progress,
            &verification,
            before,
            now,
        ),
    }
}

/// When the plan and the status must be computed again even if no event arrives: at the next deadline
/// of a scheduler that is not attached yet, or of a pod that waits in vain.
pub fn due(observed: &Observed) -> Option<Timestamp> {
    let placed = placed_pods::placed(observed);
    let later = placed.iter().filter_map(pod_issue::deadline);
    let later = later.filter(|deadline| *deadline > observed.now);
    let rollout = rollout_due(observed, &placed);
    later
        .chain(unbound_pods::next_due(observed))
        .chain(rollout)
        .min()
}

fn counts(observed: &Observed, placed: &[PlacedPod<'_>]) -> Counts {
    let assignment = &observed.assignment;
    let of = |state: fn(&NodeState) -> bool| {
        count(placed.iter().filter(|one| state(&one.state)).count())
    };
    Counts {
        desired: count(assignment.nodes()),
        attached: placed_pods::attached(&placed.iter().collect::<Vec<_>>()).map(count),
        ejected: of(|state| *state == NodeState::Ejected),
        unknown: of(|state| matches!(state, NodeState::Unknown(_))),
        conflicted: count(assignment.lost.count),
        foreign: count(assignment.excluded.foreign),
        unsupported: count(assignment.excluded.unsupported),
        quarantined: 0,
    }
}

fn base_name(observed: &Observed, placed: &[PlacedPod<'_>]) -> OpsAndTemplate {
    let known = observed.schedext.status.as_ref();
    let known = known.map(|known| (known.ops.clone(), known.ops_template.clone()));
    let known = known.unwrap_or_default();
    match parts(&observed.schedext).next() {
        Some(base) => placed_pods::learned(&placed_pods::of_part(observed, placed, &base), known),
        None => known,
    }
}

fn pools(observed: &Observed, all_placed: &[PlacedPod<'_>]) -> Vec<PoolStatus> {
    let known = observed.schedext.status.iter();
    let known: Vec<_> = known.flat_map(|status| &status.pools).collect();
    let pools = parts(&observed.schedext).filter_map(|part| {
        let name = part.pool_name()?.to_owned();
        let own = observed.assignment.parts.iter();
        let own = own.filter(|(id, _)| id.pool.as_ref() == Some(&name));
        let desired: usize = own.map(|(_, assignment)| assignment.nodes.len()).sum();
        let known = known.iter().find(|known| known.name == name);
        let known = known.map(|old| (old.ops.clone(), old.ops_template.clone()));
        let placed = placed_pods::of_part(observed, all_placed, &part);
        let (ops, ops_template) = placed_pods::learned(&placed, known.unwrap_or_default());
        Some(PoolStatus {
            name,
            desired: count(desired),
            attached: placed_pods::attached(&with_canary(observed, all_placed, &part)).map(count),
            ops,
            ops_template,
        })
    });
    pools.collect()
}

/// The pods of a part and of its canary.
fn with_canary<'a>(
    observed: &Observed,
    placed: &'a [PlacedPod<'a>],
    part: &Part<'_>,
) -> Vec<&'a PlacedPod<'a>> {
    debug_assert_eq!(part.stage, Stage::Stable);
    let mut pods = placed_pods::of_part(observed, placed, part);
    pods.extend(placed_pods::of_part(observed, placed, &part.canary()));
    pods
}

#[cfg(test)]
mod tests;
