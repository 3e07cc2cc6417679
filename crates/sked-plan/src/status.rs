//! What to say about a SchedExt.

use sked_api::SchedExtStatus;

use crate::observed::Observed;
use crate::plan::{Outcome, Plan};

/// Something worth telling in an event on the SchedExt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub kind: EventKind,
    /// In a word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
}

/// Whether somebody should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// What to say about it.
pub fn status(_observed: &Observed, _plan: &Plan, _outcome: &Outcome) -> SchedExtStatus {
    SchedExtStatus::default()
}

/// What changed from one status to the next and is worth telling.
pub fn events(_old: Option<&SchedExtStatus>, _new: &SchedExtStatus) -> Vec<Event> {
    Vec::new()
}
