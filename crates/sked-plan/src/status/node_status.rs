//! What each node of one SchedExt runs, and why: the pods' states that the status counts, one by one.

use jiff::Timestamp;

use super::pod_issue;
use crate::name::{NodeName, ObjectKey};
use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::part::PartId;
use crate::placed_pods;
use crate::rollout::{Templates, is_deployed, soak};

/// A pod that is not being deleted, and its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    pub node: NodeName,
    pub pod: ObjectKey,
    /// None for a DaemonSet that is not needed any more.
    pub part: Option<PartId>,
    /// The revision of its part; empty for pods of earlier templates.
    pub revision: String,
    /// Whether it runs what its DaemonSet should run.
    pub is_current: bool,
    pub state: NodeState,
    /// Since when the kernel runs it.
    pub attached_since: Option<Timestamp>,
    /// Until when it must run before the roll-out goes on, if the roll-out waits for it.
    pub soaked_at: Option<Timestamp>,
    pub problem: Option<NodeProblem>,
}

/// What is wrong with a pod, as `status.problems` would have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProblem {
    pub reason: String,
    pub message: String,
    pub since: Option<Timestamp>,
}

/// By node.
pub fn node_statuses(observed: &Observed) -> Vec<NodeStatus> {
    let placed = placed_pods::placed(observed);
    let soaking = soak::soaking(observed, &placed);
    let daemonsets = || observed.daemonsets.iter().map(|live| &**live);
    let is_deployed = is_deployed(&observed.schedext, daemonsets());
    let templates = Templates::new(&observed.schedext, is_deployed);
    let parts = templates.parts();
    let statuses = placed.iter().filter_map(|placed| {
        let pod = placed.pod;
        let live = daemonsets().find(|live| live.uid == pod.daemonset)?;
        let part = parts.iter().find(|part| part.key() == live.key);
        let soaking = soaking.iter().find(|one| one.pod == pod.key);
        let issue = pod_issue::issue(placed, observed.now);
        Some(NodeStatus {
            node: pod.node.clone()?,
            pod: pod.key.clone(),
            part: part.map(|part| part.id()),
            revision: pod.revision.clone(),
            is_current: soaking.is_some_and(|one| one.is_current),
            state: placed.state.clone(),
            attached_since: soaking.and_then(|one| one.attached_since),
            soaked_at: soaking.and_then(|one| one.soaked_at),
            problem: issue.map(|issue| NodeProblem {
                reason: issue
                    .exit_reason
                    .unwrap_or(issue.reason.as_str())
                    .to_owned(),
                message: issue.message,
                since: issue.since,
            }),
        })
    });
    let mut statuses: Vec<_> = statuses.collect();
    statuses.sort_by(|one, other| (&one.node, &one.pod).cmp(&(&other.node, &other.pod)));
    statuses
}
