//! Whether a change is on its way to the nodes.

use sked_api::Reason;

use crate::name::NodeName;
use crate::observed::{LiveDaemonSet, LivePod, Observed, PodState};
use crate::part::uid;
use crate::plan::{Held, Outcome, Plan, Step, Until};

/// What is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing.
    Done,
    /// Something, with why and how far.
    UnderWay(Reason, String),
}

/// What waits comes first: it holds up all the rest.
pub(super) fn progress(observed: &Observed, plan: &Plan, outcome: &Outcome) -> Progress {
    if let Some(held) = plan.held.first() {
        return waiting(held);
    }
    let uid = uid(&observed.schedext);
    let ours = |live: &&LiveDaemonSet| live.controller.as_ref() == Some(&uid) && !live.deleting;
    let live = observed.daemonsets.iter().map(|live| &**live).filter(ours);
    let steps = plan
        .steps
        .iter()
        .filter(|step| !matches!(step, Step::Delete { .. }));
    if steps.count() > 0 && outcome.failure.is_none() || live.clone().any(is_behind) {
        let (updated, desired) = live.fold((0, 0), |(updated, desired), live| {
            (updated + live.updated, desired + live.desired)
        });
        let message = format!("{updated} of {desired} nodes have a pod of the latest template");
        return Progress::UnderWay(Reason::RollingOut, message);
    }
    let starting = observed.pods.iter().filter(|pod| is_starting(pod)).count();
    if starting > 0 {
        let pods = if starting == 1 {
            "1 pod starts"
        } else {
            "pods start"
        };
        let message = if starting == 1 {
            pods.to_owned()
        } else {
            format!("{starting} {pods}")
        };
        return Progress::UnderWay(Reason::RollingOut, message);
    }
    Progress::Done
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

/// Also one that let go without blame and is started again.
fn is_starting(pod: &LivePod) -> bool {
    !pod.deleting && matches!(pod.state, PodState::Starting | PodState::Unscheduled(_))
}
