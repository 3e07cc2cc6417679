//! The state of each pod's node, computed once for everything in the status that needs it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use schedkit_core::OpsName;

use crate::kernel_state::{KernelState, UnknownReason};
use crate::learned_names::LearnedNames;
use crate::live_pod::LivePod;
use crate::name::ObjectKey;
use crate::node_state::{NodeState, node_state};
use crate::observed::Observed;
use crate::part::Part;
use crate::preflight::{Preflight, Unfit};
use crate::rollout::settings::Settings;

/// A pod that is not being deleted, and the state of its node.
#[derive(Clone, Debug)]
pub(crate) struct PlacedPod<'a> {
    pub(crate) pod: &'a LivePod,
    pub(crate) state: NodeState,
    /// How long it may run before its kernel attaches it.
    pub(crate) attach_deadline: SignedDuration,
    pub(crate) architecture: Option<&'a str>,
    /// The pod of others that has the host port which it needs.
    pub(crate) port_holder: Option<&'a ObjectKey>,
    /// What its kernel lacks.
    pub(crate) kernel_gaps: Option<&'a str>,
    /// Why its node cannot run the image, or may not be able to.
    pub(crate) unfit: Option<Unfit<'a>>,
}

/// The name that kernels have for a part's scheduler, and the pod template for which it is known.
pub(crate) type OpsAndTemplate = (Option<String>, Option<String>);

/// All pods that are not being deleted.
pub(crate) fn placed(observed: &Observed) -> Vec<PlacedPod<'_>> {
    let mut names = LearnedNames::default();
    let live = observed.daemonsets.iter().map(|live| &**live);
    names.add(&observed.schedext, live);
    let attach_deadline = Settings::new(&observed.schedext).attach_deadline;
    let preflight = Preflight::new(observed);
    let pods = observed.pods.iter().filter(|pod| !pod.deleting);
    pods.map(|pod| PlacedPod {
        attach_deadline,
        state: state(observed, pod, &names),
        architecture: architecture(observed, pod),
        port_holder: pod
            .node
            .as_ref()
            .and_then(|node| observed.port_holders.get(node)),
        kernel_gaps: kernel_gaps(observed, pod),
        unfit: preflight.of_pod(pod),
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

fn architecture<'a>(observed: &'a Observed, pod: &LivePod) -> Option<&'a str> {
    let architecture = observed.architectures.get(pod.node.as_ref()?)?;
    Some(architecture)
}

fn kernel_gaps<'a>(observed: &'a Observed, pod: &LivePod) -> Option<&'a str> {
    let gaps = observed.kernel_gaps.get(pod.node.as_ref()?)?;
    Some(gaps)
}

/// The pods of one part.
pub(crate) fn of_part<'a>(
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
pub(crate) fn attached(placed: &[&PlacedPod<'_>]) -> Option<usize> {
    let unknown = |one: &&&PlacedPod<'_>| matches!(one.state, NodeState::Unknown(_));
    let known = placed.is_empty() || placed.iter().filter(unknown).count() < placed.len();
    known.then(|| placed.iter().filter(|one| ops(one).is_some()).count())
}

/// The name to store for a part: the one that the nodes of the latest template agree on, else the
/// known one, else that of any attached node, which is shown and proves nothing. Nodes with another
/// name than the known one count as well: the known one may be wrong.
pub(crate) fn learned(placed: &[&PlacedPod<'_>], before: OpsAndTemplate) -> OpsAndTemplate {
    let latest = placed
        .iter()
        .max_by_key(|one| (one.pod.created, &one.pod.key));
    let Some(template) = latest.map(|latest| &latest.pod.template) else {
        return before;
    };
    let of_latest = placed.iter().filter(|one| one.pod.template == *template);
    let of_latest: Vec<_> = of_latest.copied().collect();
    let is_known = before.1.as_ref() == Some(template);
    if let Some(agreed) = agreed(&of_latest) {
        let known: Option<OpsName> = before.0.as_ref().and_then(|ops| ops.parse().ok());
        let same = known.is_some_and(|known| known.scheduler() == agreed.scheduler());
        return match is_known && same {
            true => before,
            false => (Some(agreed.as_str().to_owned()), Some(template.clone())),
        };
    }
    if is_known {
        return before;
    }
    let attached = of_latest.iter().filter(|one| ops(one).is_some());
    let first = attached.min_by_key(|one| &one.pod.node);
    match first.and_then(|first| ops(first)) {
        Some(ops) => (Some(ops.as_str().to_owned()), None),
        None => before,
    }
}

/// The name that at least two nodes of one architecture have, and more than half of them. None if
/// architectures disagree.
fn agreed<'a>(placed: &[&'a PlacedPod<'_>]) -> Option<&'a OpsName> {
    let mut by_architecture: BTreeMap<_, Vec<&OpsName>> = BTreeMap::new();
    for one in placed {
        let names = by_architecture.entry(one.architecture).or_default();
        if let NodeState::Attached(ops) | NodeState::Foreign(ops) = &one.state {
            names.push(ops);
        }
    }
    let majority = |names: &Vec<&'a OpsName>| {
        names.iter().copied().find(|name| {
            let same = names
                .iter()
                .filter(|one| one.scheduler() == name.scheduler());
            let same = same.count();
            same >= 2 && same * 2 > names.len()
        })
    };
    let mut agreed = by_architecture.values().filter_map(majority);
    let first = agreed.next()?;
    agreed
        .all(|other| other.scheduler() == first.scheduler())
        .then_some(first)
}

fn ops<'a>(placed: &'a PlacedPod<'_>) -> Option<&'a OpsName> {
    match &placed.state {
        NodeState::Attached(ops) => Some(ops),
        _ => None,
    }
}
