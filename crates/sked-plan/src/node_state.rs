//! One state for a scheduler on a node: what its pod does, against what the node's kernel says.
//!
//! ```text
//! pod                  kernel                                  state
//! any                  has no sched_ext                        Unsupported
//! runs                 nothing that can be believed            Unknown
//! runs                 enabled since the container's start     Attached; with another's name Foreign
//! runs                 enabled since before it, or enabling    Attaching
//! runs                 disabled, and was attached              Detached
//! runs again           disabled, and a failure ended it before Ejected or Detached, as it ended
//! runs                 disabled otherwise                      Attaching
//! ended                any                                     Ejected or Detached, by its last words
//! cannot start         any                                     NotStarted
//! about to start       any                                     Attaching
//! failed               any                                     Detached
//! ```
//!
//! An attach counts for a container only if it came after the container's start: else a report that
//! is a moment behind would call a scheduler attached that has just begun to load. kubelet tells
//! the start in whole seconds, rounded down, so an attach within the same second counts.

use jiff::Timestamp;
use schedkit_core::{OpsName, SchedulerName};

use crate::kernel::{Kernel, Silence};
use crate::observed::{Ending, LivePod, PodState};

/// What the gate says after the kernel let go of a scheduler whose process is still there. It is
/// also how the next look knows that this container was attached once.
const DETACHED: &str = "Detached";

/// A scheduler on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// The kernel runs it.
    Attached(OpsName),
    /// It is on its way.
    Attaching,
    /// The kernel threw it out.
    Ejected,
    /// The kernel does not run it, and threw nothing out that we know of.
    Detached,
    /// Its container cannot be started.
    NotStarted,
    /// The kernel runs another's.
    Foreign(OpsName),
    /// The kernel has no sched_ext.
    Unsupported,
    /// Nobody knows.
    Unknown(Silence),
}

/// What a readiness gate is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the kernel runs this pod's scheduler.
    pub attached: bool,
    /// In a word.
    pub reason: &'static str,
    /// In a sentence.
    pub message: String,
}

/// One row of the table. `expected` is what schedulers of the pod's template are called, if that
/// was learned already.
pub fn node_state(pod: &LivePod, kernel: &Kernel, expected: Option<&SchedulerName>) -> NodeState {
    match (&pod.state, kernel) {
        (_, Kernel::Unsupported(_)) => NodeState::Unsupported,
        (PodState::Running, kernel) => running(pod, kernel, expected),
        (PodState::Ended, _) => pod.ending.as_ref().map_or(NodeState::Detached, ended),
        (PodState::Waiting { .. }, _) => NodeState::NotStarted,
        (PodState::Starting | PodState::Unscheduled(_), _) => NodeState::Attaching,
        (PodState::Failed { .. }, _) => NodeState::Detached,
    }
}

/// Whether an attach at that moment can be the work of this pod's container.
pub fn can_be_its(pod: &LivePod, since: Timestamp) -> bool {
    pod.started.is_none_or(|started| started <= since)
}

/// What the gate must become; nothing when it is to stay as it is. What is not known changes
/// nothing: a pod that becomes unready is replaced outside of a roll-out's budget.
pub fn verdict(pod: &LivePod, state: &NodeState) -> Option<Verdict> {
    let (attached, reason, message) = match state {
        NodeState::Unknown(_) => return None,
        NodeState::Attached(ops) => (true, "Attached", format!("the kernel runs {ops}")),
        NodeState::Detached => (
            false,
            DETACHED,
            "the kernel does not run it any more".into(),
        ),
        NodeState::Ejected => (false, "Ejected", "the kernel threw it out".to_owned()),
        NodeState::Foreign(ops) => (
            false,
            "ForeignScheduler",
            format!("the kernel runs {ops}, which is another scheduler"),
        ),
        NodeState::Unsupported => (
            false,
            "UnsupportedKernel",
            "the kernel has no sched_ext".to_owned(),
        ),
        NodeState::Attaching | NodeState::NotStarted => (
            false,
            "Attaching",
            "the kernel does not run it yet".to_owned(),
        ),
    };
    let now = pod.gate.as_ref().is_some_and(|gate| gate.attached);
    (!pod.deleting && now != attached).then_some(Verdict {
        attached,
        reason,
        message,
    })
}

fn running(pod: &LivePod, kernel: &Kernel, expected: Option<&SchedulerName>) -> NodeState {
    match kernel {
        Kernel::Unknown(silence) => NodeState::Unknown(silence.clone()),
        Kernel::Enabled { ops, since } if can_be_its(pod, *since) => {
            if expected.is_none_or(|expected| *expected == ops.scheduler()) {
                NodeState::Attached(ops.clone())
            } else {
                NodeState::Foreign(ops.clone())
            }
        }
        Kernel::Enabled { .. } | Kernel::Enabling => NodeState::Attaching,
        Kernel::Disabled if was_attached(pod) => NodeState::Detached,
        Kernel::Disabled => match &pod.ending {
            Some(ending) if !ending.is_benign() => ended(ending),
            _ => NodeState::Attaching,
        },
        Kernel::Unsupported(_) => NodeState::Unsupported,
    }
}

/// Whether this container, and not one before it, was attached.
pub(crate) fn was_attached(pod: &LivePod) -> bool {
    let same = |since: Timestamp| pod.started.is_some_and(|started| started <= since);
    let gate = pod.gate.as_ref().filter(|gate| same(gate.since));
    gate.is_some_and(|gate| gate.attached || gate.reason == DETACHED)
}

fn ended(ending: &Ending) -> NodeState {
    match &ending.words {
        Some(words) if words.reason.is_ejection() => NodeState::Ejected,
        _ => NodeState::Detached,
    }
}

impl Ending {
    /// Whether nobody and nothing failed.
    pub fn is_benign(&self) -> bool {
        let words = self.words.as_ref();
        words.map_or(self.code == 0, |words| words.reason.is_benign())
    }
}

#[cfg(test)]
mod tests;
