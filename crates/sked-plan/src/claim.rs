//! Which SchedExt owns which node: one owner for each node, over all SchedExts and pools.
//!
//! ```text
//! who claims    a SchedExt claims a node through its first pool that matches, else through its base
//! who gets it   the highest priority; among those
//!                 the incumbent (named by the node's label; without such a label: its pod has run there)
//!                 else the oldest, else the first by namespace and name
//! label         written where the template of any other DaemonSet, desired or live, admits a pod
//!               as well; removed where no other does any more
//! ```
//!
//! Only priority takes a node from an incumbent. Age and name decide between newcomers; otherwise
//! an older SchedExt that is widened would push a younger one off nodes where it has run for
//! months. Between the parts of one SchedExt there is no incumbent: the author of the SchedExt
//! defined which part a node is for.
//!
//! Templates admit a pod where there is no label. So a candidate is what a SchedExt selects *and*
//! what its live DaemonSet still admits: while the DaemonSet of a deleted or narrowed SchedExt is
//! there, the label stays.
//!
//! A SchedExt that cannot be parsed keeps the nodes that it has (a label, or without one a pod) and
//! claims no other. A node that is not ready, or has another taint that comes and goes by itself,
//! keeps its owner.
//!
//! A canary claims the nodes that the status records as its own, before the other parts of its
//! SchedExt, and always by the label: its template admits no other node. A node where a SchedExt's
//! scheduler failed is not claimed by it (see `rollout`); as long as nobody else claims it, its label
//! has a value that no template asks for.
//!
//! An excluded node (its kernel has no sched_ext, or runs a foreign scheduler) has no owner, and
//! nobody is in conflict there. Its label has the reason as long as any template would admit a pod.
//! While its kernel is unknown, a reserved label stays as it is. Nodes that are not ready or being
//! deleted count like any other, as they do for the DaemonSet controller.

mod canary;
mod candidate;
mod exclusion;
mod explain;
mod inputs;
mod label;
mod node_resolver;

use std::sync::Arc;

use exclusion::exclusion;
use inputs::ClaimInputs;
use label::CurrentLabel;
use node_resolver::NodeResolver;

use crate::assignment::Assignments;
use crate::node::Node;
use crate::observed::Fleet;

pub use explain::{CandidateRule, ClaimRule, DecidedBy, Explainer, Explanation, Why};
pub use label::{LabelWrite, OwnerLabel};
pub use node_resolver::{LabelRule, Presence};

/// Who owns which node, and the label writes that make it so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// By the SchedExt's uid. A SchedExt that is being deleted has no assignment.
    pub assignments: Assignments,
    /// In the order of the nodes' names.
    pub writes: Vec<LabelWrite>,
}

pub fn claim(fleet: &Fleet) -> Claims {
    let inputs = ClaimInputs::new(fleet);
    let mut assignments = inputs.empty_assignments();
    let mut writes = Vec::new();
    let mut nodes: Vec<&Node> = fleet.nodes.iter().map(|node| &**node).collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let mut node_resolver = NodeResolver::default();
    for node in nodes {
        let label = CurrentLabel::of(node);
        node_resolver.resolve(&inputs, node, label);
        let exclusion = exclusion(fleet, node, label);
        writes.extend(node_resolver.write(&inputs, node, label, exclusion.as_ref()));
        match exclusion {
            Some(reason) => {
                node_resolver.record_exclusion(&inputs, node, label, &reason, &mut assignments);
            }
            None => node_resolver.record(&inputs, node, label, &mut assignments),
        }
    }
    let assignments = inputs.claimants.iter().zip(assignments);
    Claims {
        assignments: assignments
            .map(|(claimant, assignment)| (claimant.uid.clone(), Arc::new(assignment)))
            .collect(),
        writes,
    }
}

#[cfg(test)]
mod tests;
