//! The state of a scheduler on a node, derived from its pod and from the kernel state.
//!
//! ```text
//! pod                  kernel                                  state
//! any                  has no sched_ext                        Unsupported
//! runs                 unknown                                 Unknown
//! runs                 enabled since the container's start     Attached; Foreign if the name differs
//! runs                 enabled since before it, or enabling    Attaching
//! runs                 disabled, and was attached              Detached
//! restarted            disabled, and the last exit is a failure Ejected or Detached, by that exit
//! runs                 disabled otherwise                      Attaching
//! ended                any                                     Ejected or Detached, by its exit message
//! cannot start         any                                     NotStarted
//! about to start       any                                     Attaching
//! failed               any                                     Detached
//! ```
//!
//! An attach counts for a container only if it happened after the container's start: otherwise an
//! outdated report would make a scheduler that is still loading look attached. kubelet reports the
//! start in whole seconds, rounded down, so an attach within the same second counts.

use jiff::{SignedDuration, Timestamp};
use schedkit_core::{OpsName, SchedulerName};

use crate::kernel_state::{KernelState, UnknownReason};
use crate::live_pod::{ContainerExit, LivePod, PodState};

/// The gate's reason after the kernel detached a scheduler whose process still runs. It also
/// records that this container was attached once.
const DETACHED: &str = "Detached";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// The kernel runs this scheduler.
    Attached(OpsName),
    /// Its pod is starting, or runs and is not attached yet.
    Attaching,
    /// The kernel ejected it: a stall, an error or SysRq-S.
    Ejected,
    /// The kernel does not run it, and no ejection is known.
    Detached,
    /// kubelet cannot start its container.
    NotStarted,
    /// The kernel runs another scheduler.
    Foreign(OpsName),
    /// The kernel has no sched_ext.
    Unsupported,
    Unknown(UnknownReason),
}

/// A change of a pod's readiness gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateUpdate {
    /// Whether the kernel runs this pod's scheduler.
    pub attached: bool,
    pub reason: &'static str,
    pub message: String,
}

/// `expected` is the scheduler name of the pod's template, if it is known.
pub fn node_state(
    pod: &LivePod,
    kernel: &KernelState,
    expected: Option<&SchedulerName>,
) -> NodeState {
    match (&pod.state, kernel) {
        (_, KernelState::Unsupported(_)) => NodeState::Unsupported,
        (PodState::Running, kernel) => running(pod, kernel, expected),
        (PodState::Ended, _) => pod.last_exit.as_ref().map_or(NodeState::Detached, ended),
        (PodState::Waiting { .. }, _) => NodeState::NotStarted,
        (PodState::Starting | PodState::Unscheduled(_), _) => NodeState::Attaching,
        (PodState::Failed { .. }, _) => NodeState::Detached,
    }
}

/// How far a node's clock may be behind that of the API server.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// Whether this pod's container can have caused an attach at that time. kubelet may be slow to
/// report that a container was started, so one that is about to start can have, too; the pod's
/// creation is by the API server's clock, and the attach by the node's.
pub fn can_have_attached(pod: &LivePod, since: Timestamp) -> bool {
    let earliest = match &pod.state {
        PodState::Running => pod.started,
        PodState::Starting | PodState::Waiting { .. } => pod.created.checked_sub(CLOCK_SKEW).ok(),
        PodState::Ended => pod.last_exit.as_ref().and_then(|exit| exit.at),
        PodState::Unscheduled(_) | PodState::Failed { .. } => return false,
    };
    earliest.is_none_or(|earliest| earliest <= since)
}

/// How the gate must change, if it must. An unknown state changes nothing: a pod that becomes
/// unready is replaced outside of a rolling update's budget.
pub fn gate_update(pod: &LivePod, state: &NodeState) -> Option<GateUpdate> {
    let (attached, reason, message) = match state {
        NodeState::Unknown(_) => return None,
        NodeState::Attached(ops) => (true, "Attached", format!("the kernel runs {ops}")),
        NodeState::Detached => (
            false,
            DETACHED,
            "the kernel does not run it any more".into(),
        ),
        NodeState::Ejected => (false, "Ejected", "the kernel ejected it".to_owned()),
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
    (!pod.deleting && now != attached).then_some(GateUpdate {
        attached,
        reason,
        message,
    })
}

fn running(pod: &LivePod, kernel: &KernelState, expected: Option<&SchedulerName>) -> NodeState {
    match kernel {
        KernelState::Unknown(reason) => NodeState::Unknown(reason.clone()),
        KernelState::Enabled { ops, since } if can_have_attached(pod, *since) => {
            if expected.is_none_or(|expected| *expected == ops.scheduler()) {
                NodeState::Attached(ops.clone())
            } else {
                NodeState::Foreign(ops.clone())
            }
        }
        KernelState::Enabled { .. } | KernelState::Enabling => NodeState::Attaching,
        KernelState::Disabled if was_attached(pod) => NodeState::Detached,
        KernelState::Disabled => match &pod.last_exit {
            Some(last_exit) if !last_exit.is_benign() => ended(last_exit),
            _ => NodeState::Attaching,
        },
        KernelState::Unsupported(_) => NodeState::Unsupported,
    }
}

/// Whether the kernel ran the scheduler of the current container, not only of an earlier one.
pub(crate) fn was_attached(pod: &LivePod) -> bool {
    let same = |since: Timestamp| pod.started.is_some_and(|started| started <= since);
    let gate = pod.gate.as_ref().filter(|gate| same(gate.since));
    gate.is_some_and(|gate| gate.attached || gate.reason == DETACHED)
}

fn ended(last_exit: &ContainerExit) -> NodeState {
    match &last_exit.exit_message {
        Some(message) if message.reason.is_ejection() => NodeState::Ejected,
        _ => NodeState::Detached,
    }
}

#[cfg(test)]
mod tests;
