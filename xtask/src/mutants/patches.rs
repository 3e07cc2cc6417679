//! The patches: each removes one check of the verifier that cargo-mutants cannot remove, or of the
//! planner. The reason stands above
//! each group.
//!
//! Not here: checks that the library makes as well with the same message (a second signature in an
//! envelope, a proof without a checkpoint), and those that repeat a check of the library; no test
//! can fail when one of two is removed.

mod conditions;
mod constructs;
mod planner;

use super::Patch;
use conditions::CONDITIONS;
use constructs::{ATTRIBUTES, PATTERNS, SEVERAL_PLACES, STATEMENTS};
use planner::PLANNER;

pub(crate) fn all() -> impl Iterator<Item = &'static Patch> {
    [
        CONDITIONS,
        ATTRIBUTES,
        PATTERNS,
        STATEMENTS,
        SEVERAL_PLACES,
        PLANNER,
    ]
    .into_iter()
    .flatten()
}
