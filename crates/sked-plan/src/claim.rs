//! Which SchedExt owns which node: one owner for each node, over all SchedExts and pools.
//!
//! ```text
//! who claims    a SchedExt claims a node through its first pool that matches, else through its base
//! who gets it   the highest priority; among those
//!                 the incumbent (named by the node's label; without such a label: its pod is there)
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
//! An excluded node (its kernel has no sched_ext, or runs a foreign scheduler) has no owner, and
//! nobody is in conflict there. Its label has the reason as long as any template would admit a pod.
//! While its kernel is unknown, a reserved label stays as it is. Nodes that are not ready or being
//! deleted count like any other, as they do for the DaemonSet controller.

mod candidate;
mod contest;
mod inputs;
mod label;

use std::sync::Arc;

use contest::Contest;
use inputs::ClaimInputs;
use label::CurrentLabel;

use crate::eligibility::{Eligibility, ExclusionReason};
use crate::node::Node;
use crate::observed::Fleet;
use crate::share::Shares;

pub use label::{LabelWrite, OwnerLabel};

/// Who owns which node, and the label writes that make it so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// By the SchedExt's uid. A SchedExt that is being deleted has no share.
    pub shares: Shares,
    /// In the order of the nodes' names.
    pub writes: Vec<LabelWrite>,
}

pub fn claim(fleet: &Fleet) -> Claims {
    let inputs = ClaimInputs::new(fleet);
    let mut shares = inputs.empty_shares();
    let mut writes = Vec::new();
    let mut nodes: Vec<&Node> = fleet.nodes.iter().map(|node| &**node).collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let mut contest = Contest::default();
    for node in nodes {
        let label = CurrentLabel::of(node);
        contest.resolve(&inputs, node, label);
        match exclusion(fleet, node, label) {
            Some(reason) => {
                writes.extend(contest.write_exclusion(node, label, &reason));
                contest.record_exclusion(&inputs, node, label, &reason, &mut shares);
            }
            None => {
                writes.extend(contest.write(&inputs, node, label));
                contest.record(&inputs, node, label, &mut shares);
            }
        }
    }
    let shares = inputs.claimants.iter().zip(shares);
    Claims {
        shares: shares
            .map(|(claimant, share)| (claimant.uid.clone(), Arc::new(share)))
            .collect(),
        writes,
    }
}

/// Why no SchedExt may use the node, if that is so. What the kernel reports counts; while it is
/// unknown, the label does. A quarantine does not end by what the kernel reports.
fn exclusion(fleet: &Fleet, node: &Node, label: CurrentLabel<'_>) -> Option<ExclusionReason> {
    let reserved = match label {
        CurrentLabel::Reserved(value) => Some(value),
        CurrentLabel::None | CurrentLabel::Owner(..) | CurrentLabel::Invalid(_) => None,
    };
    match (fleet.eligibility.get(&node.name), reserved) {
        (Some(Eligibility::Excluded(reason)), _) => Some(reason.clone()),
        (_, Some("quarantined")) => Some(ExclusionReason::Quarantined),
        (Some(Eligibility::Eligible), _) => None,
        (None, reserved) => reserved.and_then(ExclusionReason::from_label_value),
    }
}

#[cfg(test)]
mod tests;
