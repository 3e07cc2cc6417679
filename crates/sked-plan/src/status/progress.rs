//! Whether a change is on its way to the nodes.

use sked_api::Reason;

use super::nodes::Placed;
use super::pods;
use super::trouble::Trouble;
use crate::name::NodeName;
use crate::node_state::NodeState;
use crate::observed::{LiveDaemonSet, Observed, PodState};
use crate::part::uid;
use crate::plan::{Held, Plan, Step, Until};

/// What is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing is left to do.
    Done,
    /// Something stands in the way; the most important of it.
    Stuck(Reason),
    /// Something, with why and how far.
    UnderWay(Reason, String),
}

/// What waits comes first: it holds up all the rest. Without nodes nothing is under way, whatever
/// the DaemonSet controller has seen by now.
pub(super) fn progress(
    observed: &Observed,
    placed: &[Placed<'_>],
    plan: &Plan,
    troubles: &[Trouble],
) -> Progress {
    if let Some(held) = plan.held.first() {
        return waiting(held);
    }
    let in_the_way = |one: &&Trouble| one.node.is_none() && one.reason.is_degraded();
    if let Some(reason) = troubles
        .iter()
        .filter(in_the_way)
        .map(|one| one.reason)
        .min()
    {
        return Progress::Stuck(reason);
    }
    let nodes: usize = observed.share.parts.values().map(|part| part.nodes).sum();
    match under_way(observed, placed, plan, nodes) {
        Some(message) if nodes > 0 => Progress::UnderWay(Reason::RollingOut, message),
        _ => Progress::Done,
    }
}

fn under_way(
    observed: &Observed,
    placed: &[Placed<'_>],
    plan: &Plan,
    nodes: usize,
) -> Option<String> {
    if plan
        .steps
        .iter()
        .any(|step| !matches!(step, Step::Delete { .. }))
    {
        return Some(format!(
            "the DaemonSets for {nodes} nodes are being written"
        ));
    }
    let uid = uid(&observed.schedext);
    let ours = |live: &&LiveDaemonSet| live.controller.as_ref() == Some(&uid) && !live.deleting;
    let live = observed.daemonsets.iter().map(|live| &**live).filter(ours);
    if live.clone().any(is_behind) {
        let updated: i32 = live.clone().map(|live| live.updated).sum();
        let desired: i32 = live.map(|live| live.desired).sum();
        let seen = "have a pod of the latest template";
        return Some(format!("{updated} of {desired} nodes {seen}"));
    }
    if !placed.iter().any(|one| is_starting(one, observed)) {
        return None;
    }
    let attached = |one: &&Placed<'_>| matches!(one.state, NodeState::Attached(_));
    let attached = placed.iter().filter(attached).count();
    Some(format!("{attached} of {nodes} nodes are attached"))
}

fn waiting(held: &Held) -> Progress {
    let key = &held.key;
    match &held.until {
        Until::Claimed => Progress::UnderWay(
            Reason::WaitingForClaims,
            format!("the DaemonSet {key} waits until it is settled who owns which node"),
        ),
        Until::Labelled(nodes) => Progress::UnderWay(
            Reason::WaitingForClaims,
            format!(
                "the DaemonSet {key} waits until contested nodes are labelled with their owner \
                 ({}): if this lasts, see whether the manager may patch nodes",
                listed(nodes)
            ),
        ),
        Until::Gone => Progress::UnderWay(
            Reason::WaitingForDeletion,
            format!(
                "a DaemonSet {key} is being deleted: if this lasts, see its finalizers and pods"
            ),
        ),
    }
}

fn listed(nodes: &[NodeName]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = nodes.iter().take(SHOWN).map(|node| &*node.0).collect();
    let more = if nodes.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn is_behind(live: &LiveDaemonSet) -> bool {
    live.observed_generation < live.generation || live.updated < live.desired
}

/// Also one that let go without blame and is started again. One that is overdue is trouble.
fn is_starting(placed: &Placed<'_>, observed: &Observed) -> bool {
    let on_its_way = match placed.pod.state {
        PodState::Starting | PodState::Unscheduled(_) | PodState::Ended => true,
        PodState::Running => placed.state == NodeState::Attaching,
        PodState::Waiting { .. } | PodState::Failed { .. } => false,
    };
    on_its_way && pods::failure(placed, observed.now).is_none()
}
