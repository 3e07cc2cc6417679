//! An independent judge of what the planner decided, by rules of its own.

use crate::claim::Claims;
use crate::observed::{Fleet, Observed};
use crate::plan::Plan;

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {}

/// Judges label writes.
pub fn check_claims(_fleet: &Fleet, _claims: &Claims) -> Vec<Violation> {
    Vec::new()
}

/// Judges the steps for one SchedExt.
pub fn check_plan(_observed: &Observed, _plan: &Plan) -> Vec<Violation> {
    Vec::new()
}
