//! Whether a node can run a scheduler of sked's: not if its kernel has no sched_ext, and not if
//! its kernel runs a foreign scheduler.
//!
//! An attached scheduler is foreign if no pod of ours can have attached it. A report that arrives
//! before the pod itself makes our own scheduler look foreign for a moment, so the result is
//! debounced ([`crate::debounce`]) before anything is done.

use std::fmt;

use jiff::Timestamp;
use schedkit_core::OpsName;
use sked_api::label;

use crate::kernel_state::KernelState;
use crate::live_pod::{LivePod, PodState};
use crate::node_state::can_have_attached;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Eligibility {
    Eligible,
    Excluded(ExclusionReason),
}

/// Why no scheduler of sked's may run on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExclusionReason {
    /// The kernel has no sched_ext; its release, where known.
    Unsupported(String),
    /// The kernel runs a scheduler that sked did not start; its name, where known.
    Foreign(Option<OpsName>),
    /// The owner label says `quarantined`. Reserved: this version of sked never sets it.
    Quarantined,
}

impl ExclusionReason {
    /// The value of the node's owner label.
    pub fn label_value(&self) -> &'static str {
        let [unsupported, foreign, quarantined] = label::RESERVED;
        match self {
            Self::Unsupported(_) => unsupported,
            Self::Foreign(_) => foreign,
            Self::Quarantined => quarantined,
        }
    }

    /// The reason behind a reserved label value, without its details.
    pub fn from_label_value(value: &str) -> Option<Self> {
        let all = [
            Self::Unsupported(String::new()),
            Self::Foreign(None),
            Self::Quarantined,
        ];
        all.into_iter().find(|one| one.label_value() == value)
    }
}

impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label_value())
    }
}

/// `None` while the kernel is unknown. `pods` are all pods of ours on that node.
pub fn eligibility<'a>(
    kernel: &KernelState,
    mut pods: impl Iterator<Item = &'a LivePod>,
) -> Option<Eligibility> {
    match kernel {
        KernelState::Unknown(_) => None,
        KernelState::Unsupported(release) => Some(Eligibility::Excluded(
            ExclusionReason::Unsupported(release.clone()),
        )),
        KernelState::Disabled | KernelState::Enabling => Some(Eligibility::Eligible),
        KernelState::Enabled { ops, since } => Some(match pods.any(|pod| may_run(pod, *since)) {
            true => Eligibility::Eligible,
            false => Eligibility::Excluded(ExclusionReason::Foreign(Some(ops.clone()))),
        }),
    }
}

/// Whether the scheduler that was attached at that time may be this pod's. Its name is no evidence:
/// what is known of names comes from the reports of other nodes, which must not take a node away. A
/// pod that is being deleted may have run until now, even if its status lags behind.
fn may_run(pod: &LivePod, since: Timestamp) -> bool {
    can_have_attached(pod, since) || (pod.deleting && pod.state == PodState::Running)
}

#[cfg(test)]
mod tests;
