//! What a node's kernel says, as far as it can be believed.
//!
//! A report is written when something changed, so its age says nothing. It is believed while the
//! agent that wrote it is ready (an agent is ready only when the API server has what the kernel
//! says now), while it is of this start of the machine, and while it belongs to this Node and not
//! to an earlier one of the same name. Anything else is not known, and never taken for a no.

use jiff::Timestamp;
use schedkit_core::{OpsName, foreign};

use crate::observed::{Node, Report};

/// What a kernel says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Nothing that can be believed.
    Unknown(Silence),
    /// It has no sched_ext; its release.
    Unsupported(String),
    /// No scheduler is attached, or one is on its way out.
    Disabled,
    /// A scheduler is taking over.
    Enabling,
    /// A scheduler is attached.
    Enabled {
        /// Its name.
        ops: OpsName,
        /// Since when.
        since: Timestamp,
    },
}

/// Why nothing can be believed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Silence {
    /// Nobody has reported.
    NoReport,
    /// Who reported is not ready: things may have changed since.
    NoAgent,
    /// The machine has been started again since.
    OtherBoot,
    /// It is about an earlier node of the same name, or was written by somebody else.
    OtherNode,
    /// The agent could not read it, or it makes no sense to us; brief.
    Unclear(String),
}

/// What the kernel of `node` says.
pub fn kernel(node: &Node, report: Option<&Report>, agent_is_ready: bool) -> Kernel {
    let Some(report) = report else {
        return Kernel::Unknown(Silence::NoReport);
    };
    if report.owner.as_ref() != Some(&node.uid) {
        return Kernel::Unknown(Silence::OtherNode);
    }
    if !agent_is_ready {
        return Kernel::Unknown(Silence::NoAgent);
    }
    if report.boot_id.as_ref() != Some(&node.boot_id) {
        return Kernel::Unknown(Silence::OtherBoot);
    }
    said(report)
}

fn said(report: &Report) -> Kernel {
    let unclear = |text: &str| Kernel::Unknown(Silence::Unclear(foreign::brief(text)));
    if report.supported == Some(false) {
        return Kernel::Unsupported(report.release.clone().unwrap_or_default());
    }
    match (report.state.as_deref(), &report.ops, report.since) {
        (Some("enabled"), Some(ops), Some(since)) => Kernel::Enabled {
            ops: ops.clone(),
            since,
        },
        (Some("enabled"), _, _) => unclear("a scheduler is attached and its name is not known"),
        (Some("disabled" | "disabling"), _, _) => Kernel::Disabled,
        (Some("enabling" | "prepping"), _, _) => Kernel::Enabling,
        (Some(word), _, _) => unclear(&format!("the kernel is in a state called {word}")),
        (None, _, _) => unclear(report.trouble.as_deref().unwrap_or("the report is empty")),
    }
}

/// Half a sentence: what is missing, and what to look at.
impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::NoReport => {
                "no agent has reported what its kernel says: see whether sked-node-agent runs there"
            }
            Self::NoAgent => {
                "its agent is not ready, so the last report may be old: see the pod of \
                 sked-node-agent there"
            }
            Self::OtherBoot => "the last report is from before the machine was started again",
            Self::OtherNode => "the last report is about an earlier node of this name",
            Self::Unclear(text) => return write!(f, "its agent reports no clear state: {text}"),
        };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests;
