//! A candidate for a node: one DaemonSet, desired by a SchedExt or live or both.

use std::collections::HashMap;
use std::sync::Arc;

use crate::live_pod::{LivePod, PodState};
use crate::name::{NodeName, OwnerId};
use crate::node::Node;
use crate::part::Part;
use crate::placement::{Fit, Placement};

pub(super) struct Candidate {
    /// Index of the claimant; none for a DaemonSet that outlived its SchedExt.
    pub(super) claimant: Option<usize>,
    /// None for a DaemonSet that no SchedExt asks for any more.
    pub(super) desired: Option<DesiredPart>,
    live: LivePlacement,
}

/// A base or a pool as its SchedExt defines it.
pub(super) struct DesiredPart {
    pub(super) owner: OwnerId,
    pub(super) pool: Option<String>,
    placement: Placement,
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
    /// Its live DaemonSet would run there if the node had no owner label.
    pub(super) live: bool,
}

/// The candidates that have a pod on a node.
pub(super) type Running<'a> = HashMap<&'a NodeName, Vec<usize>>;

impl Candidate {
    pub(super) fn desired(claimant: usize, part: &Part<'_>, live: Option<&Arc<Placement>>) -> Self {
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
                pool: part.pool_name().map(str::to_owned),
                placement,
            }),
        }
    }

    /// A live DaemonSet that nobody asks for any more.
    pub(super) fn leftover(claimant: Option<usize>, live: Arc<Placement>) -> Self {
        Self {
            claimant,
            desired: None,
            live: LivePlacement::Other(live),
        }
    }

    /// `has_pod`: whether one of its pods is on the node.
    pub(super) fn node_match(&self, node: &Node, has_pod: bool) -> NodeMatch {
        let admits = |placement: &Placement| match placement.fit(node) {
            Fit::Never => false,
            Fit::Stays => has_pod,
            Fit::Runs => true,
        };
        let desired = self.desired.as_ref();
        let claims = desired.is_some_and(|desired| admits(&desired.placement));
        let live = match &self.live {
            LivePlacement::Absent => false,
            LivePlacement::AsDesired => claims,
            LivePlacement::Other(placement) => admits(placement),
        };
        NodeMatch { claims, live }
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
