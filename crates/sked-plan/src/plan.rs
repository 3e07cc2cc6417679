//! What to do for one SchedExt: which DaemonSets to make, to put right, to remove.
//!
//! The manager carries the steps out in their order. Nothing here looks at nodes: where a
//! DaemonSet may go is in its share of the claims.

mod wanted;

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::DaemonSet;

use crate::name::{NodeName, ObjectKey, Uid};
use crate::observed::Observed;
use crate::part::{parts, uid};

pub use crate::status::status;

/// What to do. Nothing is left to choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Writes to DaemonSets, in their order.
    pub steps: Vec<Step>,
    /// Names that it needs and somebody else has.
    pub taken: Vec<Taken>,
    /// DaemonSets that must wait.
    pub held: Vec<Held>,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// There is none yet.
    Create(Box<DaemonSet>),
    /// There is one that differs: all that is ours to say is said again. What is to be written is
    /// [`crate::daemonset::overlay`] over the object as it is then.
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

/// A DaemonSet that must wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub key: ObjectKey,
    /// What for.
    pub until: Until,
}

/// What a DaemonSet waits for. Each of them is followed by an event that wakes the manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The claims have looked at the spec as it is now.
    Claimed,
    /// These nodes say who owns them.
    Labelled(Vec<NodeName>),
    /// The DaemonSet of the same name that is being deleted is gone.
    Gone,
}

/// How the writes went: the first that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What went wrong.
    pub failure: Option<Failure>,
}

/// A write that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was attempted.
    pub attempt: Attempt,
    /// On which DaemonSet.
    pub key: ObjectKey,
    /// The API server's HTTP status, when it answered.
    pub status: Option<u16>,
    /// Its reason in a word (`Forbidden`, `AlreadyExists`), when it gave one.
    pub reason: String,
    /// What it said.
    pub message: String,
}

/// What was attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// To make it.
    Create,
    /// To put it right.
    Replace,
    /// To remove it.
    Delete,
}

/// What to do for one SchedExt. One that is being deleted needs nothing: the garbage collector
/// removes what it controls.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    if observed.schedext.metadata.deletion_timestamp.is_some() {
        return plan;
    }
    let mut wanted = BTreeSet::new();
    for part in parts(&observed.schedext) {
        if let Some(key) = wanted::decide(observed, &part, &mut plan) {
            wanted.insert(key);
        }
    }
    plan.steps.extend(orphans(observed, &wanted));
    plan
}

/// DaemonSets that it controls and does not want any more: of pools that are gone or yield.
fn orphans(observed: &Observed, wanted: &BTreeSet<ObjectKey>) -> impl Iterator<Item = Step> {
    let uid = uid(&observed.schedext);
    let ours = observed.daemonsets.iter().filter(move |live| {
        live.controller.as_ref() == Some(&uid) && !live.deleting && !wanted.contains(&live.key)
    });
    ours.map(|live| Step::Delete {
        key: live.key.clone(),
        uid: live.uid.clone(),
    })
}

#[cfg(test)]
mod tests;
