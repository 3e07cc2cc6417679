//! A plan as data: the writes to DaemonSets, and what keeps others from being planned.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;

use crate::name::{NodeName, ObjectKey, Uid};

/// What to do for one SchedExt. It leaves nothing to decide to whoever executes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// In the order in which they must be executed.
    pub steps: Vec<PlanStep>,
    /// Names of DaemonSets that another object has.
    pub taken: Vec<TakenName>,
    /// DaemonSets that cannot be written yet.
    pub waiting: Vec<WaitingDaemonSet>,
}

impl Plan {
    /// Whether the DaemonSets are as they should be.
    pub fn is_settled(&self) -> bool {
        let touches = |step: &PlanStep| matches!(step, PlanStep::Touch { .. });
        self.steps.iter().all(touches) && self.taken.is_empty() && self.waiting.is_empty()
    }
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanStep {
    Create(Box<DaemonSet>),
    /// The live DaemonSet differs from the desired one. The body to write is
    /// [`crate::daemonset::overlay`] over the object as it is then.
    Replace {
        desired: Box<DaemonSet>,
        /// Replace only the object with this uid.
        uid: Uid,
    },
    /// Makes the DaemonSet controller process the DaemonSet again: an annotation gets this time.
    Touch {
        key: ObjectKey,
        /// Touch only the object with this uid.
        uid: Uid,
        at: Timestamp,
    },
    /// The DaemonSet of a pool that does not exist any more, or that yields its name.
    Delete {
        key: ObjectKey,
        /// Delete only the object with this uid.
        uid: Uid,
    },
}

/// The name of a DaemonSet that cannot be created because another object has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenName {
    pub key: ObjectKey,
    /// Who has the name, for a message.
    pub by: String,
}

/// A DaemonSet that cannot be written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDaemonSet {
    pub key: ObjectKey,
    pub waits_for: WaitsFor,
}

/// What a DaemonSet waits for. The end of each wait is an event that triggers a new plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The claims must read the current generation of the spec.
    Claims,
    /// These nodes need their owner labels.
    Labels(Vec<NodeName>),
    /// A DaemonSet of the same name is being deleted.
    Deletion,
    /// The status must record the next step of the roll-out.
    Rollout,
}
