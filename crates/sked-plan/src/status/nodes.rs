//! The state of each pod's node, computed once for everything in the status that needs it.

use schedkit_core::OpsName;

use crate::kernel_state::{KernelState, UnknownReason};
use crate::learned_names::LearnedNames;
use crate::live_pod::LivePod;
use crate::min_kernel::{TooOld, too_old};
use crate::node_state::{NodeState, node_state};
use crate::observed::Observed;
use crate::part::Part;

/// A pod that is not being deleted, and the state of its node.
#[derive(Clone, Debug)]
pub(super) struct PlacedPod<'a> {
    pub(super) pod: &'a LivePod,
    pub(super) state: NodeState,
    /// Set if its kernel is older than the image's minimum kernel.
    pub(super) too_old: Option<TooOld<'a>>,
}

/// The name that kernels have for a part's scheduler, and the pod template that it was learned from.
pub(super) type OpsAndTemplate = (Option<String>, Option<String>);

/// All pods that are not being deleted.
pub(super) fn placed(observed: &Observed) -> Vec<PlacedPod<'_>> {
    let mut names = LearnedNames::default();
    let live = observed.daemonsets.iter().map(|live| &**live);
    names.add(&observed.schedext, live);
    let pods = observed.pods.iter().filter(|pod| !pod.deleting);
    pods.map(|pod| PlacedPod {
        state: state(observed, pod, &names),
        too_old: too_old(observed, pod),
        pod,
    })
    .collect()
}

fn state(observed: &Observed, pod: &LivePod, names: &LearnedNames) -> NodeState {
    let no_report = KernelState::Unknown(UnknownReason::NoReport);
    let kernel = pod
        .node
        .as_ref()
        .and_then(|node| observed.kernels.get(node));
    node_state(pod, kernel.unwrap_or(&no_report), names.of(pod))
}

/// The pods of one part.
pub(super) fn of_part<'a>(
    observed: &Observed,
    placed: &'a [PlacedPod<'a>],
    part: &Part<'_>,
) -> Vec<&'a PlacedPod<'a>> {
    let key = part.key();
    let live = observed.daemonsets.iter().find(|live| live.key == key);
    let uid = live.map(|live| &live.uid);
    let ours = |one: &&PlacedPod<'_>| Some(&one.pod.daemonset) == uid;
    placed.iter().filter(ours).collect()
}

/// How many kernels run it; `None` if all of them are unknown.
pub(super) fn attached(placed: &[&PlacedPod<'_>]) -> Option<usize> {
    let unknown = |one: &&&PlacedPod<'_>| matches!(one.state, NodeState::Unknown(_));
    let known = placed.is_empty() || placed.iter().filter(unknown).count() < placed.len();
    known.then(|| placed.iter().filter(|one| ops(one).is_some()).count())
}

/// The name to store for a part: the known one if it belongs to the latest template, else that of
/// the first attached pod of that template.
pub(super) fn learned(placed: &[&PlacedPod<'_>], before: OpsAndTemplate) -> OpsAndTemplate {
    let latest = placed
        .iter()
        .max_by_key(|one| (one.pod.created, &one.pod.key));
    let Some(template) = latest.map(|latest| &latest.pod.template) else {
        return before;
    };
    if before.1.as_ref() == Some(template) {
        return before;
    }
    let of_latest = placed.iter().filter(|one| one.pod.template == *template);
    let attached = of_latest.filter_map(|one| Some((&one.pod.node, ops(one)?)));
    match attached.min_by_key(|(node, _)| *node) {
        Some((_, ops)) => (Some(ops.as_str().to_owned()), Some(template.clone())),
        None => before,
    }
}

fn ops<'a>(placed: &'a PlacedPod<'_>) -> Option<&'a OpsName> {
    match &placed.state {
        NodeState::Attached(ops) => Some(ops),
        _ => None,
    }
}
