//! A candidate for a node: one DaemonSet, desired by a SchedExt or live or both.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::label::CurrentLabel;
use crate::live_daemonset::LiveDaemonSet;
use crate::live_pod::{LivePod, PodState};
use crate::name::{NodeName, ObjectKey, OwnerId};
use crate::node::Node;
use crate::part::{Part, PartId, Stage};
use crate::placement::{Fit, Obstacle, Placement};

pub(super) struct Candidate {
    /// Index of the claimant; none for a DaemonSet that outlived its SchedExt.
    pub(super) claimant: Option<usize>,
    /// None for a DaemonSet that no SchedExt asks for any more.
    pub(super) desired: Option<DesiredPart>,
    /// The name of the DaemonSet.
    pub(super) daemonset: ObjectKey,
    live: LivePlacement,
    nodes: Nodes,
    /// Claims only nodes that it has: nobody knows what its SchedExt asks for.
    keeps_only: bool,
}

/// A base or a pool as its SchedExt defines it.
pub(super) struct DesiredPart {
    pub(super) owner: OwnerId,
    pub(super) id: PartId,
    placement: Placement,
}

/// Which of the nodes that its placement admits.
#[derive(Default)]
pub(super) struct Nodes {
    /// Only these: those of a canary.
    pub(super) only: Option<HashSet<NodeName>>,
    /// Not these: its scheduler failed there.
    pub(super) quarantined: HashSet<NodeName>,
}

/// Which nodes the live DaemonSet admits.
enum LivePlacement {
    /// There is no live DaemonSet.
    Absent,
    /// The same as desired: by far the most common case, which need not be evaluated twice.
    AsDesired,
    Other(Arc<Placement>),
}

/// How a candidate matches a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeMatch {
    /// Its SchedExt claims the node.
    pub(super) claims: bool,
    /// Its SchedExt claims the node, and no taint keeps its pod from running there now.
    pub(super) runs: bool,
    /// Its live DaemonSet would run there if the node had no owner label.
    pub(super) live: bool,
    /// Its scheduler failed there: the label keeps its DaemonSet away, whether it is live or not.
    pub(super) quarantined: bool,
}

/// Why a candidate does not claim a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Refusal<'a> {
    /// No SchedExt asks for this DaemonSet any more.
    NotDesired,
    /// The node is none of the canary's.
    NotChosen,
    DoesNotFit(Obstacle<'a>),
    /// Its scheduler failed there.
    Quarantined,
    /// Its SchedExt cannot be parsed and has nothing there.
    KeepsOnlyItsOwn,
}

/// The candidates that have a pod on a node.
pub(super) type Running<'a> = HashMap<&'a NodeName, Vec<usize>>;

impl Candidate {
    pub(super) fn desired(
        claimant: usize,
        part: &Part<'_>,
        live: Option<&Arc<Placement>>,
        nodes: Nodes,
    ) -> Self {
        let placement = part.placement();
        Self {
            claimant: Some(claimant),
            live: match live {
                None => LivePlacement::Absent,
                Some(live) if **live == placement => LivePlacement::AsDesired,
                Some(live) => LivePlacement::Other(live.clone()),
            },
            desired: Some(DesiredPart {
                owner: part.owner(),
                id: part.id(),
                placement,
            }),
            daemonset: part.key(),
            nodes,
            keeps_only: false,
        }
    }

    /// A live DaemonSet whose SchedExt cannot be parsed.
    pub(super) fn kept(claimant: usize, live: &LiveDaemonSet) -> Self {
        Self {
            claimant: Some(claimant),
            live: LivePlacement::AsDesired,
            desired: live.owner.map(|owner| DesiredPart {
                owner,
                id: PartId::stable(Some(&live.key.name)),
                placement: Placement::clone(&live.placement),
            }),
            daemonset: live.key.clone(),
            nodes: Nodes::default(),
            keeps_only: true,
        }
    }

    /// A live DaemonSet that nobody asks for any more.
    pub(super) fn leftover(claimant: Option<usize>, live: &LiveDaemonSet) -> Self {
        Self {
            claimant,
            desired: None,
            daemonset: live.key.clone(),
            live: LivePlacement::Other(live.placement.clone()),
            nodes: Nodes::default(),
            keeps_only: false,
        }
    }

    /// `has_pod`: whether one of its pods is on the node.
    pub(super) fn node_match(
        &self,
        node: &Node,
        has_pod: bool,
        label: CurrentLabel<'_>,
    ) -> NodeMatch {
        let desired = self.desired.as_ref();
        let refusal = self.refusal(node, has_pod, label);
        let quarantined = refusal == Some(Refusal::Quarantined);
        let claims = refusal.is_none();
        let live = match &self.live {
            LivePlacement::Absent => false,
            // The template of a canary admits a node only if the label says so.
            _ if self.is_canary() => desired.is_some_and(|one| label.names(one.owner)),
            LivePlacement::AsDesired => {
                claims || quarantined || refusal == Some(Refusal::KeepsOnlyItsOwn)
            }
            LivePlacement::Other(placement) => admits(placement.lasting_fit(node), has_pod),
        };
        let runs = |one: &DesiredPart| admits(one.placement.fit(node), has_pod);
        NodeMatch {
            claims,
            runs: claims && desired.is_some_and(runs),
            live,
            quarantined,
        }
    }

    /// Why its SchedExt does not claim the node through it; `None` if it does.
    pub(super) fn refusal<'a>(
        &'a self,
        node: &'a Node,
        has_pod: bool,
        label: CurrentLabel<'_>,
    ) -> Option<Refusal<'a>> {
        let Some(desired) = &self.desired else {
            return Some(Refusal::NotDesired);
        };
        let labelled = label.names(desired.owner);
        if let Some(only) = &self.nodes.only
            && !only.contains(&node.name)
        {
            return Some(Refusal::NotChosen);
        }
        // The template of a canary, which is kept, admits no node without the label.
        let is_kept = self.keeps_only && labelled;
        let obstacle = desired.placement.lasting_obstacle(node);
        if !admits(Obstacle::fit(obstacle), has_pod) && !is_kept {
            return obstacle.map(Refusal::DoesNotFit);
        }
        if self.nodes.quarantined.contains(&node.name) {
            return Some(Refusal::Quarantined);
        }
        let has_it = has_pod || labelled;
        (self.keeps_only && !has_it).then_some(Refusal::KeepsOnlyItsOwn)
    }

    /// What keeps its pod from running there now, although it claims the node.
    pub(super) fn obstacle_now<'a>(
        &'a self,
        node: &'a Node,
        has_pod: bool,
    ) -> Option<Obstacle<'a>> {
        let obstacle = self.desired.as_ref()?.placement.obstacle(node)?;
        (!admits(Obstacle::fit(Some(obstacle)), has_pod)).then_some(obstacle)
    }

    pub(super) fn is_canary(&self) -> bool {
        let desired = self.desired.as_ref();
        desired.is_some_and(|desired| desired.id.stage == Stage::Canary)
    }
}

fn admits(fit: Fit, has_pod: bool) -> bool {
    match fit {
        Fit::Never => false,
        Fit::Stays => has_pod,
        Fit::Runs => true,
    }
}

/// Whether a pod occupies its node. An unscheduled pod does not, and a failed one does not any
/// more; a pod that is being deleted still does.
pub(super) fn occupies_node(pod: &LivePod) -> bool {
    !matches!(
        pod.state,
        PodState::Unscheduled(_) | PodState::Failed { .. }
    )
}

/// Whether its container has ever run. A pod that was only created or bound makes nobody the
/// incumbent: on a new node that would be whose pod kube-scheduler took first.
pub(super) fn has_run(pod: &LivePod) -> bool {
    let runs_or_ran = matches!(pod.state, PodState::Running | PodState::Ended);
    runs_or_ran || pod.restarts > 0 || pod.last_exit.is_some()
}
