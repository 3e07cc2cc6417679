//! What to say about a SchedExt: only what was observed, and only words that help.
//!
//! ```text
//! names taken · writes that failed · pods refused · pods · nodes lost ─▶ Trouble
//!                                  Trouble + what is under way ─▶ conditions, problems
//! ```
//!
//! A pod that runs says nothing about the kernel: `attached` counts kernels that say so, and what no
//! kernel says is Unknown. The same input gives the same status, and what is still true keeps its time, so that
//! nothing is written when nothing has changed.

mod condition;
mod event;
mod failure;
mod nodes;
mod pods;
mod problem;
mod progress;
mod revision;
mod trouble;

use jiff::Timestamp;
use sked_api::{Counts, PoolStatus, SchedExtStatus};

use nodes::{Learned, Placed};

use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::part::parts;
use crate::plan::{Outcome, Plan};

pub use event::{Event, EventKind, events};

/// What to say about it. Of one that is being deleted nothing new is said.
pub fn status(observed: &Observed, plan: &Plan, outcome: &Outcome) -> SchedExtStatus {
    let schedext = &observed.schedext;
    let before = schedext.status.clone().unwrap_or_default();
    if schedext.metadata.deletion_timestamp.is_some() {
        return before;
    }
    let placed = nodes::placed(observed);
    let troubles = trouble::all(observed, &placed, plan, outcome);
    let progress = progress::progress(observed, &placed, plan, &troubles);
    let now = whole_seconds(observed.now);
    let (ops, ops_template) = base_name(observed, &placed, &before);
    let (problems, more_problems) = problem::problems(observed, &troubles, &before, now);
    SchedExtStatus {
        observed_generation: schedext.metadata.generation,
        revision: Some(revision::revision(schedext)),
        counts: Some(counts(observed, &placed)),
        ops,
        ops_template,
        pools: pools(observed, &placed, &before),
        problems,
        more_problems,
        conditions: condition::conditions(observed, &placed, &troubles, &progress, &before, now),
    }
}

/// As precise as the API is, so that what is read back equals what was written.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// When the status has to be looked at again though nothing happens: a scheduler that is not
/// attached in time is trouble.
pub fn due(observed: &Observed) -> Option<Timestamp> {
    let placed = nodes::placed(observed);
    let later = placed.iter().filter_map(pods::deadline);
    later.filter(|deadline| *deadline > observed.now).min()
}

fn counts(observed: &Observed, placed: &[Placed<'_>]) -> Counts {
    let share = &observed.share;
    let of = |state: fn(&NodeState) -> bool| {
        count(placed.iter().filter(|one| state(&one.state)).count())
    };
    Counts {
        desired: count(share.parts.values().map(|part| part.nodes).sum()),
        attached: nodes::attached(&placed.iter().collect::<Vec<_>>()).map(count),
        ejected: of(|state| *state == NodeState::Ejected),
        unknown: of(|state| matches!(state, NodeState::Unknown(_))),
        conflicted: count(share.lost.count),
        foreign: count(share.barred.foreign),
        unsupported: count(share.barred.unsupported),
    }
}

fn base_name(observed: &Observed, placed: &[Placed<'_>], before: &SchedExtStatus) -> Learned {
    let known = (before.ops.clone(), before.ops_template.clone());
    match parts(&observed.schedext).next() {
        Some(base) => nodes::learned(&nodes::of_part(observed, placed, &base), known),
        None => known,
    }
}

fn pools(observed: &Observed, placed: &[Placed<'_>], before: &SchedExtStatus) -> Vec<PoolStatus> {
    let told = parts(&observed.schedext).filter_map(|part| {
        let name = part.pool_name()?.to_owned();
        let share = observed.share.parts.get(&Some(name.clone()));
        let old = before.pools.iter().find(|old| old.name == name);
        let known = old.map(|old| (old.ops.clone(), old.ops_template.clone()));
        let placed = nodes::of_part(observed, placed, &part);
        let (ops, ops_template) = nodes::learned(&placed, known.unwrap_or_default());
        Some(PoolStatus {
            name,
            desired: count(share.map_or(0, |share| share.nodes)),
            attached: nodes::attached(&placed).map(count),
            ops,
            ops_template,
        })
    });
    told.collect()
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
