//! Everything that may let a scheduler onto a node: what SchedExts ask for, and what live
//! DaemonSets still say.

use std::collections::HashMap;
use std::sync::Arc;

use crate::name::{NodeName, OwnerId};
use crate::observed::{LivePod, Node, PodState};
use crate::part::Part;
use crate::placement::{Fit, Placement};

/// One DaemonSet, wanted or live or both.
pub(super) struct Door {
    /// The asker whose door it is; none for a DaemonSet that outlived its SchedExt.
    pub(super) asker: Option<usize>,
    /// What is asked for; nothing through a DaemonSet that is not wanted any more.
    pub(super) wanted: Option<Wanted>,
    /// What its live DaemonSet lets in.
    live: Live,
}

/// What a SchedExt asks for.
pub(super) struct Wanted {
    pub(super) owner: OwnerId,
    pub(super) pool: Option<String>,
    placement: Placement,
}

/// What a live DaemonSet lets in.
enum Live {
    /// There is none.
    Absent,
    /// What is wanted: so it is but for a moment, and need not be asked twice.
    Settled,
    /// Something else.
    Other(Arc<Placement>),
}

/// What a door is to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// A SchedExt asks for the node through it.
    pub(super) asks: bool,
    /// Its live DaemonSet would run there, if there were no label.
    pub(super) live: bool,
}

/// Whose pods are on which node, by doors.
pub(super) type Running<'a> = HashMap<&'a NodeName, Vec<usize>>;

impl Door {
    /// Of what a SchedExt asks for.
    pub(super) fn wanted(asker: usize, part: &Part<'_>, live: Option<&Arc<Placement>>) -> Self {
        let placement = part.placement();
        Self {
            asker: Some(asker),
            live: match live {
                None => Live::Absent,
                Some(live) if **live == placement => Live::Settled,
                Some(live) => Live::Other(live.clone()),
            },
            wanted: Some(Wanted {
                owner: part.owner(),
                pool: part.pool_name().map(str::to_owned),
                placement,
            }),
        }
    }

    /// Of a DaemonSet that nobody asks for any more.
    pub(super) fn left(asker: Option<usize>, live: Arc<Placement>) -> Self {
        Self {
            asker,
            wanted: None,
            live: Live::Other(live),
        }
    }

    /// What it is to a node.
    pub(super) fn opening(&self, node: &Node, runs: bool) -> Opening {
        let lets_in = |placement: &Placement| match placement.fit(node) {
            Fit::Never => false,
            Fit::Stays => runs,
            Fit::Runs => true,
        };
        let wanted = self.wanted.as_ref();
        let asks = wanted.is_some_and(|wanted| lets_in(&wanted.placement));
        let live = match &self.live {
            Live::Absent => false,
            Live::Settled => asks,
            Live::Other(placement) => lets_in(placement),
        };
        Opening { asks, live }
    }
}

/// Whether a pod is on its node. One that waits for a place has none, and one that failed as a
/// whole has left it; one that is going still holds it.
pub(super) fn is_there(pod: &LivePod) -> bool {
    !matches!(
        pod.state,
        PodState::Unscheduled(_) | PodState::Failed { .. }
    )
}
