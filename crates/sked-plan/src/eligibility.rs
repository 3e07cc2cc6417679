//! Whether a node can run a scheduler of ours at all: its kernel has none, or runs somebody
//! else's.
//!
//! Somebody else's is what is attached while no pod of ours can have attached it. That is so for a
//! moment whenever a report is behind a pod, so whoever acts on it waits until it has lasted.

use std::fmt;

use schedkit_core::{OpsName, SchedulerName};
use sked_api::label;

use crate::kernel::Kernel;
use crate::node_state::{NodeState, node_state};
use crate::observed::{LivePod, PodState};

/// What a node is good for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Schedulers of ours.
    Free,
    /// Nothing, for a reason.
    Barred(Bar),
}

/// Why a node is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bar {
    /// Its kernel has no sched_ext; its release, where known.
    Unsupported(String),
    /// It runs a scheduler that sked did not start; its name, where known.
    Foreign(Option<OpsName>),
    /// A scheduler was taken off it after failures.
    Quarantined,
}

impl Bar {
    /// As the node's owner label says it.
    pub fn word(&self) -> &'static str {
        let [unsupported, foreign, quarantined] = label::RESERVED;
        match self {
            Self::Unsupported(_) => unsupported,
            Self::Foreign(_) => foreign,
            Self::Quarantined => quarantined,
        }
    }

    /// What a label tells, without its details.
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [
            Self::Unsupported(String::new()),
            Self::Foreign(None),
            Self::Quarantined,
        ];
        all.into_iter().find(|bar| bar.word() == word)
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a node is good for; nothing when its kernel is not known. The pods are all of ours on that
/// node, each with what its template's schedulers are called.
pub fn standing<'a>(
    kernel: &Kernel,
    mut pods: impl Iterator<Item = (&'a LivePod, Option<SchedulerName>)>,
) -> Option<Standing> {
    match kernel {
        Kernel::Unknown(_) => None,
        Kernel::Unsupported(release) => Some(Standing::Barred(Bar::Unsupported(release.clone()))),
        Kernel::Disabled | Kernel::Enabling => Some(Standing::Free),
        Kernel::Enabled { ops, .. } => {
            let ours = pods.any(|(pod, expected)| is_its(pod, kernel, expected.as_ref()));
            let foreign = || Standing::Barred(Bar::Foreign(Some(ops.clone())));
            Some(if ours { Standing::Free } else { foreign() })
        }
    }
}

/// A pod that is going may have been running until now, whatever is still said of it.
fn is_its(pod: &LivePod, kernel: &Kernel, expected: Option<&SchedulerName>) -> bool {
    let state = node_state(pod, kernel, expected);
    matches!(state, NodeState::Attached(_))
        || (pod.deleting
            && pod.state == PodState::Running
            && !matches!(state, NodeState::Foreign(_)))
}

#[cfg(test)]
mod tests;
