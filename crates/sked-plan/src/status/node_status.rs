//! What each node of one SchedExt runs, and why: the pods' states that the status counts, one by one.

use jiff::Timestamp;

use super::pod_issue;
use crate::name::{NodeName, ObjectKey};
use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::part::{Part, PartId};
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
            part: part.map(Part::id),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::fixture::{live, observed, pod, schedext};
    use crate::kernel_state::{KernelState, UnknownReason};
    use crate::live_pod::{Gate, LivePod, PodState};

    #[test]
    fn a_node_is_shown_with_its_soak_and_another_with_its_problem() {
        let schedext = schedext("a", json!({"sched": "x:1", "rollout": {"soak": "90s"}}));
        let mut observed = observed(&schedext, &live(&schedext));
        let since: Timestamp = "2026-01-31T23:59:00Z".parse().unwrap();
        let gate = Gate {
            attached: true,
            reason: "Attached".to_owned(),
            since,
        };
        let runs = LivePod {
            gate: Some(gate),
            ..LivePod::clone(&pod("a", "node1", PodState::Running))
        };
        let waiting = PodState::Waiting {
            reason: "ImagePullBackOff".to_owned(),
            message: "not found".to_owned(),
        };
        observed.pods = vec![pod("a", "node2", waiting), Arc::new(runs)];
        let ops: schedkit_core::OpsName = "lab".parse().unwrap();
        let enabled = KernelState::Enabled {
            ops: ops.clone(),
            since,
        };
        observed.kernels.insert("node1".into(), enabled);
        let unknown = KernelState::Unknown(UnknownReason::NoReport);
        observed.kernels.insert("node2".into(), unknown);

        let statuses = node_statuses(&observed);
        let [one, two] = &statuses[..] else {
            panic!("{statuses:?}");
        };
        assert_eq!(one.state, NodeState::Attached(ops));
        assert_eq!(one.part, Some(PartId::stable(None)));
        assert_eq!(one.attached_since, Some(since));
        assert_eq!(one.soaked_at, Some("2026-02-01T00:00:30Z".parse().unwrap()));
        assert_eq!(one.problem, None);
        assert_eq!(two.state, NodeState::NotStarted);
        let problem = two.problem.as_ref().unwrap();
        assert_eq!(problem.reason, "ImageError");
    }
}
