//! What to do for one SchedExt.

use k8s_openapi::api::apps::v1::DaemonSet;
use sked_api::SchedExtStatus;

use crate::name::{ObjectKey, Uid};
use crate::observed::Observed;

/// What to do. Nothing is left to choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Writes to DaemonSets, in their order.
    pub steps: Vec<Step>,
    /// Names that it needs and somebody else has.
    pub taken: Vec<Taken>,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// There is none yet.
    Create(Box<DaemonSet>),
    /// There is one that differs: all that is ours to say is said again.
    Replace {
        /// What it becomes.
        wanted: Box<DaemonSet>,
        /// Only this life of it.
        uid: Uid,
    },
    /// A pool that is gone.
    Delete {
        /// Which.
        key: ObjectKey,
        /// Only this life of it.
        uid: Uid,
    },
}

/// A name that somebody else has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The DaemonSet that cannot be made.
    pub key: ObjectKey,
    /// Who has the name, as a person would say it.
    pub by: String,
}

/// How the writes went: the first that failed, as a person would say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What went wrong.
    pub failure: Option<Failure>,
}

/// A write that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was attempted.
    pub attempt: String,
    /// The API server's HTTP status, when it answered.
    pub status: Option<u16>,
    /// What it said.
    pub message: String,
}

/// What to do for one SchedExt.
pub fn plan(_observed: &Observed) -> Plan {
    Plan::default()
}

/// What to say about it.
pub fn status(_observed: &Observed, _plan: &Plan, _outcome: &Outcome) -> SchedExtStatus {
    SchedExtStatus::default()
}
