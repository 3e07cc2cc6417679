//! Words for the state of a scheduler and of a kernel, and for the parts of a SchedExt.

use sked_plan::kernel_state::KernelState;
use sked_plan::node_state::NodeState;
use sked_plan::part::{PartId, Stage};

pub(crate) fn state(state: &NodeState) -> &'static str {
    match state {
        NodeState::Attached(_) => "Attached",
        NodeState::Attaching => "Attaching",
        NodeState::Ejected => "Ejected",
        NodeState::Detached => "Detached",
        NodeState::NotStarted => "NotStarted",
        NodeState::Foreign(_) => "Foreign",
        NodeState::Unsupported => "Unsupported",
        NodeState::Unknown(_) => "Unknown",
    }
}

/// The scheduler that the kernel runs, as the kernel names it.
pub(crate) fn scheduler(state: &NodeState) -> Option<String> {
    match state {
        NodeState::Attached(ops) | NodeState::Foreign(ops) => Some(ops.to_string()),
        _ => None,
    }
}

/// A whole sentence about a node's kernel, without its end.
pub(crate) fn kernel(kernel: &KernelState) -> String {
    match kernel {
        KernelState::Unknown(reason) => format!("its kernel is unknown: {reason}"),
        KernelState::Unsupported(release) => format!("its kernel {release} has no sched_ext"),
        KernelState::Disabled => "its kernel runs no sched_ext scheduler".to_owned(),
        KernelState::Enabling => "its kernel is attaching a scheduler".to_owned(),
        KernelState::Enabled { ops, since } => {
            format!("its kernel has run {ops} since {since:.0}")
        }
    }
}

/// `base`, `pool batch`, `canary of the base`.
pub(crate) fn part(id: &PartId) -> String {
    let part = match &id.pool {
        None => "base".to_owned(),
        Some(pool) => format!("pool {pool}"),
    };
    match (id.stage, &id.pool) {
        (Stage::Stable, _) => part,
        (Stage::Canary, None) => "canary of the base".to_owned(),
        (Stage::Canary, Some(_)) => format!("canary of {part}"),
    }
}
