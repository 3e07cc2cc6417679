//! The patches: each removes one check that cargo-mutants cannot remove. The reason stands above
//! each group.
//!
//! Not here: checks that the library makes as well with the same message (a second signature in an
//! envelope, a proof without a checkpoint), and those that repeat a check of the library; no test
//! can fail when one of two is removed.

mod conditions;
mod constructs;

use super::Patch;
use conditions::CONDITIONS;
use constructs::{ATTRIBUTES, PATTERNS, SEVERAL_PLACES, STATEMENTS};

pub(crate) fn all() -> impl Iterator<Item = &'static Patch> {
    [CONDITIONS, ATTRIBUTES, PATTERNS, STATEMENTS, SEVERAL_PLACES]
        .into_iter()
        .flatten()
}
