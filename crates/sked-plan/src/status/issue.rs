//! One issue of a SchedExt: the common form from which conditions and `status.problems` are made.

use jiff::Timestamp;
use sked_api::Reason;

use crate::name::{NodeName, ObjectKey};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Issue {
    pub(super) reason: Reason,
    /// `None` if it concerns no single node.
    pub(super) node: Option<NodeName>,
    /// What is wrong and what to do.
    pub(super) message: String,
    /// Since when, if that is known.
    pub(super) since: Option<Timestamp>,
    /// The exit reason of a scheduler, which `status.problems` shows instead of the reason.
    pub(super) exit_reason: Option<&'static str>,
}

impl Issue {
    /// An issue that concerns no single node.
    pub(super) fn overall(reason: Reason, message: String) -> Self {
        Self {
            reason,
            node: None,
            message,
            since: None,
            exit_reason: None,
        }
    }
}

pub(super) fn name_taken(key: &ObjectKey, by: &str) -> Issue {
    Issue::overall(
        Reason::NameConflict,
        format!(
            "the DaemonSet {key} exists already and is controlled by {by}; sked does not touch it: \
             delete it, or give the SchedExt or its pool another name"
        ),
    )
}
