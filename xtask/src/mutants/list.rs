//! The checks that are removed one at a time.
//!
//! Not here: what the library that verifies refuses as well and in the same words (a second
//! signature in an envelope, a proof without a checkpoint), and what is asked once more after it
//! said yes. Nobody can miss one of two.

mod authority;
mod claim;
mod log;
mod policy;
mod registry;
mod search;
mod who;

use super::Mutant;

pub(crate) fn all() -> impl Iterator<Item = &'static Mutant> {
    [
        who::MUTANTS,
        claim::MUTANTS,
        log::MUTANTS,
        authority::MUTANTS,
        search::MUTANTS,
        registry::MUTANTS,
        policy::MUTANTS,
    ]
    .into_iter()
    .flatten()
}
