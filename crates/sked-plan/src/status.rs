//! What to say about a SchedExt: only what was observed, and only words that help.
//!
//! ```text
//! names taken · writes that failed · pods refused · pods · nodes lost ─▶ Trouble
//!                                  Trouble + what is under way ─▶ conditions, problems
//! ```
//!
//! A pod that runs says nothing about the kernel: `attached` stays absent, and `Ready` Unknown at
//! best. The same input gives the same status, and what is still true keeps its time, so that
//! nothing is written when nothing has changed.

mod condition;
mod event;
mod failure;
mod pods;
mod problem;
mod progress;
mod revision;
mod trouble;

use jiff::Timestamp;
use sked_api::{Counts, PoolStatus, SchedExtStatus};

use crate::observed::Observed;
use crate::plan::{Outcome, Plan};

pub use event::{Event, EventKind, events};

/// What to say about it. Of one that is being deleted nothing new is said.
pub fn status(observed: &Observed, plan: &Plan, outcome: &Outcome) -> SchedExtStatus {
    let schedext = &observed.schedext;
    let before = schedext.status.clone().unwrap_or_default();
    if schedext.metadata.deletion_timestamp.is_some() {
        return before;
    }
    let troubles = trouble::all(observed, plan, outcome);
    let progress = progress::progress(observed, plan, &troubles);
    let now = whole_seconds(observed.now);
    let (problems, more_problems) = problem::problems(observed, &troubles, &before, now);
    SchedExtStatus {
        observed_generation: schedext.metadata.generation,
        revision: Some(revision::revision(schedext)),
        counts: Some(counts(observed)),
        pools: pools(observed),
        problems,
        more_problems,
        conditions: condition::conditions(observed, &troubles, &progress, &before, now),
    }
}

/// As precise as the API is, so that what is read back equals what was written.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn counts(observed: &Observed) -> Counts {
    let share = &observed.share;
    Counts {
        desired: count(share.parts.values().map(|part| part.nodes).sum()),
        attached: None,
        conflicted: count(share.lost.count),
    }
}

fn pools(observed: &Observed) -> Vec<PoolStatus> {
    let pools = observed.schedext.spec.pools.iter();
    let told = pools.map(|pool| {
        let part = observed.share.parts.get(&Some(pool.name.clone()));
        PoolStatus {
            name: pool.name.clone(),
            desired: count(part.map_or(0, |part| part.nodes)),
            attached: None,
        }
    });
    told.collect()
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
