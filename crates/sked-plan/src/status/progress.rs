//! Whether a change is being rolled out.

use sked_api::Reason;

use super::issue::Issue;
use super::pod_issue;
use crate::live_daemonset::LiveDaemonSet;
use crate::live_pod::PodState;
use crate::name::NodeName;
use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::part::uid;
use crate::placed_pods::PlacedPod;
use crate::plan::{Plan, PlanStep, WaitingDaemonSet, WaitsFor};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Done,
    /// An issue blocks the roll-out; the most important one.
    Blocked(Reason),
    RollingOut(Reason, String),
}

/// A DaemonSet that waits comes first, because it delays everything else. Without nodes nothing is
/// being rolled out, whatever generation the DaemonSet controller has processed.
pub(super) fn progress(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    plan: &Plan,
    issues: &[Issue],
) -> Progress {
    if let Some(daemonset) = plan.waiting.first() {
        return waiting(daemonset);
    }
    let blocks = |one: &&Issue| one.node.is_none() && one.reason.blocks();
    if let Some(reason) = issues.iter().filter(blocks).map(|one| one.reason).min() {
        return Progress::Blocked(reason);
    }
    let nodes = observed.assignment.nodes();
    match remaining(observed, placed, plan, nodes) {
        Some(message) if nodes > 0 => Progress::RollingOut(Reason::RollingOut, message),
        _ => Progress::Done,
    }
}

fn remaining(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    plan: &Plan,
    nodes: usize,
) -> Option<String> {
    if plan
        .steps
        .iter()
        .any(|step| !matches!(step, PlanStep::Delete { .. }))
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
        return Some(format!(
            "{updated} of {desired} nodes have a pod of the latest template"
        ));
    }
    if !placed.iter().any(|one| is_starting(one, observed)) {
        return None;
    }
    let attached = |one: &&PlacedPod<'_>| matches!(one.state, NodeState::Attached(_));
    let attached = placed.iter().filter(attached).count();
    Some(format!("{attached} of {nodes} nodes are attached"))
}

fn waiting(daemonset: &WaitingDaemonSet) -> Progress {
    let key = &daemonset.key;
    match &daemonset.waits_for {
        WaitsFor::Claims => Progress::RollingOut(
            Reason::WaitingForClaims,
            format!("the DaemonSet {key} waits until the claims decide which nodes it owns"),
        ),
        WaitsFor::Labels(nodes) => Progress::RollingOut(
            Reason::WaitingForClaims,
            format!(
                "the DaemonSet {key} waits until contested nodes are labelled with their owner \
                 ({}): if this lasts, check that the manager may patch nodes",
                listed(nodes)
            ),
        ),
        WaitsFor::Rollout => Progress::RollingOut(
            Reason::RollingOut,
            format!("the DaemonSet {key} waits until the status records the roll-out"),
        ),
        WaitsFor::Deletion => Progress::RollingOut(
            Reason::WaitingForDeletion,
            format!(
                "a DaemonSet {key} is being deleted: if this lasts, check its finalizers and pods"
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

/// Also a scheduler that is restarted after a benign exit. One past its deadline is an issue.
fn is_starting(placed: &PlacedPod<'_>, observed: &Observed) -> bool {
    let on_its_way = match placed.pod.state {
        PodState::Starting | PodState::Unscheduled(_) | PodState::Ended => true,
        PodState::Running => placed.state == NodeState::Attaching,
        PodState::Waiting { .. } | PodState::Failed { .. } => false,
    };
    on_its_way && pod_issue::failure(placed, observed.now).is_none()
}
