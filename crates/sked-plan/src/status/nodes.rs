//! The state of each pod's node, worked out once for all that is said about it.

use schedkit_core::OpsName;

use crate::floor::{TooOld, too_old};
use crate::kernel::{Kernel, Silence};
use crate::names::Names;
use crate::node_state::{NodeState, node_state};
use crate::observed::{LivePod, Observed};
use crate::part::Part;

/// A pod that is not going, and the state of its node.
#[derive(Clone, Debug)]
pub(super) struct Placed<'a> {
    pub(super) pod: &'a LivePod,
    pub(super) state: NodeState,
    /// Whether its kernel is older than what the image asks for.
    pub(super) too_old: Option<TooOld<'a>>,
}

/// What a part's schedulers are called, and the pods' template that it was learned from.
pub(super) type Learned = (Option<String>, Option<String>);

/// All pods that are not going.
pub(super) fn placed(observed: &Observed) -> Vec<Placed<'_>> {
    let mut names = Names::default();
    let live = observed.daemonsets.iter().map(|live| &**live);
    names.add(&observed.schedext, live);
    let pods = observed.pods.iter().filter(|pod| !pod.deleting);
    pods.map(|pod| Placed {
        state: state(observed, pod, &names),
        too_old: too_old(observed, pod),
        pod,
    })
    .collect()
}

fn state(observed: &Observed, pod: &LivePod, names: &Names) -> NodeState {
    let silent = Kernel::Unknown(Silence::NoReport);
    let kernel = pod
        .node
        .as_ref()
        .and_then(|node| observed.kernels.get(node));
    node_state(pod, kernel.unwrap_or(&silent), names.of(pod))
}

/// Those of one part.
pub(super) fn of_part<'a>(
    observed: &Observed,
    placed: &'a [Placed<'a>],
    part: &Part<'_>,
) -> Vec<&'a Placed<'a>> {
    let key = part.key();
    let live = observed.daemonsets.iter().find(|live| live.key == key);
    let uid = live.map(|live| &live.uid);
    let ours = |one: &&Placed<'_>| Some(&one.pod.daemonset) == uid;
    placed.iter().filter(ours).collect()
}

/// How many kernels run it; nothing when not one of them is known.
pub(super) fn attached(placed: &[&Placed<'_>]) -> Option<usize> {
    let silent = |one: &&&Placed<'_>| matches!(one.state, NodeState::Unknown(_));
    let known = placed.is_empty() || placed.iter().filter(silent).count() < placed.len();
    known.then(|| placed.iter().filter(|one| ops(one).is_some()).count())
}

/// What to remember of a part's name: what is known of the latest template, or what its first pod
/// that is attached tells.
pub(super) fn learned(placed: &[&Placed<'_>], before: Learned) -> Learned {
    let latest = placed
        .iter()
        .max_by_key(|one| (one.pod.created, &one.pod.key));
    let Some(template) = latest.map(|latest| &latest.pod.template) else {
        return before;
    };
    if before.1.as_ref() == Some(template) {
        return before;
    }
    let told = placed.iter().filter(|one| one.pod.template == *template);
    let told = told.filter_map(|one| Some((&one.pod.node, ops(one)?)));
    match told.min_by_key(|(node, _)| *node) {
        Some((_, ops)) => (Some(ops.as_str().to_owned()), Some(template.clone())),
        None => before,
    }
}

fn ops<'a>(placed: &'a Placed<'_>) -> Option<&'a OpsName> {
    match &placed.state {
        NodeState::Attached(ops) => Some(ops),
        _ => None,
    }
}
