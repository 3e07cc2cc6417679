//! The state of a node's kernel, derived from the node agent's report if that can be trusted.
//!
//! Agents write a report when something changed, so its age means nothing. A report is trusted
//! while its agent is ready (an agent is ready only while the API server has the current report),
//! while it is about the current boot, and while it belongs to this Node and not to an earlier one
//! of the same name. Otherwise the state is unknown, which is never treated as "not attached".

use jiff::Timestamp;
use schedkit_core::{OpsName, sanitize};

use crate::node::Node;
use crate::node_report::NodeReport;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KernelState {
    /// There is no report that can be trusted.
    Unknown(UnknownReason),
    /// The kernel has no sched_ext; its release.
    Unsupported(String),
    /// No scheduler is attached, or one is being detached.
    Disabled,
    /// A scheduler is being attached.
    Enabling,
    /// A scheduler is attached.
    Enabled { ops: OpsName, since: Timestamp },
}

/// Why the state is unknown. Displays as half a sentence with what to check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnknownReason {
    /// The API server does not know reports.
    NotInstalled,
    /// There is no report.
    NoReport,
    /// The agent is not ready, so the report may be outdated.
    NoAgent,
    /// The report is about an earlier boot.
    OtherBoot,
    /// The report belongs to an earlier Node of the same name, or has no owner.
    OtherNode,
    /// The agent could not read the state, or sked does not know the value.
    Unclear(String),
}

pub fn kernel_state(node: &Node, report: Option<&NodeReport>, agent_is_ready: bool) -> KernelState {
    let Some(report) = report else {
        return KernelState::Unknown(UnknownReason::NoReport);
    };
    if report.owner.as_ref() != Some(&node.uid) {
        return KernelState::Unknown(UnknownReason::OtherNode);
    }
    if !agent_is_ready {
        return KernelState::Unknown(UnknownReason::NoAgent);
    }
    if report.boot_id.as_ref() != Some(&node.boot_id) {
        return KernelState::Unknown(UnknownReason::OtherBoot);
    }
    reported_state(report)
}

fn reported_state(report: &NodeReport) -> KernelState {
    let unclear = |text: &str| KernelState::Unknown(UnknownReason::Unclear(sanitize::brief(text)));
    if report.supported == Some(false) {
        return KernelState::Unsupported(report.release.clone().unwrap_or_default());
    }
    match (report.state.as_deref(), &report.ops, report.since) {
        (Some("enabled"), Some(ops), Some(since)) => KernelState::Enabled {
            ops: ops.clone(),
            since,
        },
        (Some("enabled"), _, _) => unclear("a scheduler is attached and its name is unknown"),
        (Some("disabled" | "disabling"), _, _) => KernelState::Disabled,
        (Some("enabling" | "prepping"), _, _) => KernelState::Enabling,
        (Some(state), _, _) => unclear(&format!("the kernel reports the unknown state {state}")),
        (None, _, _) => unclear(report.trouble.as_deref().unwrap_or("the report is empty")),
    }
}

impl std::fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::NotInstalled => {
                "the CRD schedextnodes.sked.schedkit.io is not installed, so no agent can report the \
                 state of its kernel: apply config/crd and config/agent of this version"
            }
            Self::NoReport => {
                "no agent has reported the state of its kernel: check that sked-node-agent runs there"
            }
            Self::NoAgent => {
                "its agent is not ready, so the last report may be outdated: check the pod of \
                 sked-node-agent there"
            }
            Self::OtherBoot => "the last report is from before the last reboot",
            Self::OtherNode => "the last report is about an earlier node of this name",
            Self::Unclear(text) => return write!(f, "its agent reports no clear state: {text}"),
        };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests;
