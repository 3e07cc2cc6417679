//! Pods that wait for a node which another SchedExt got meanwhile. The DaemonSet controller deletes
//! them when it processes their DaemonSet, but a changed node does not make it do so for a pod that
//! is not bound to the node yet (Kubernetes 1.36): such a pod would wait for ever, and count as
//! unavailable in every roll-out. A new annotation makes it process the DaemonSet.

use jiff::{SignedDuration, Timestamp};

use super::step::PlanStep;
use crate::live_daemonset::LiveDaemonSet;
use crate::live_pod::{LivePod, PodState};
use crate::observed::Observed;
use crate::part::uid;

/// Ordinarily the DaemonSet controller is busy with the DaemonSet and deletes them by itself.
const DELAY: SignedDuration = SignedDuration::from_secs(10);
/// Until it is tried again, at first: the DaemonSet controller may not have known the node's label.
const REPEAT: SignedDuration = SignedDuration::from_secs(60);

/// Touches each DaemonSet that has such pods.
pub(super) fn steps(observed: &Observed) -> impl Iterator<Item = PlanStep> {
    let uid = uid(&observed.schedext);
    let ours = observed
        .daemonsets
        .iter()
        .filter(move |live| live.controller.as_ref() == Some(&uid) && !live.deleting);
    let due = ours.filter(|live| due(observed, live).is_some_and(|due| due <= observed.now));
    due.map(|live| PlanStep::Touch {
        key: live.key.clone(),
        uid: live.uid.clone(),
        at: observed.now,
    })
}

/// When the next DaemonSet is to be touched.
pub(crate) fn next_due(observed: &Observed) -> Option<Timestamp> {
    let daemonsets = observed.daemonsets.iter();
    let due = daemonsets.filter_map(|live| due(observed, live));
    due.filter(|due| *due > observed.now).min()
}

/// When the DaemonSet is to be touched, if it has such pods.
fn due(observed: &Observed, live: &LiveDaemonSet) -> Option<Timestamp> {
    let owner = live.owner.map(|owner| owner.to_string());
    let pods = observed.pods.iter().filter(|pod| {
        let waits = matches!(pod.state, PodState::Unscheduled(_)) && !pod.deleting;
        let node = pod.node.as_ref();
        let label = node.and_then(|node| observed.owner_labels.get(node));
        pod.daemonset == live.uid && waits && label.is_some() && label != owner.as_ref()
    });
    pods.filter_map(|pod| due_for(pod, live.touched)).min()
}

/// Each time twice as long after the pod's creation as before.
fn due_for(pod: &LivePod, touched: Option<Timestamp>) -> Option<Timestamp> {
    let first = pod.created.checked_add(DELAY).ok()?;
    match touched.filter(|touched| *touched >= first) {
        None => Some(first),
        Some(touched) => {
            let passed = touched.duration_since(pod.created);
            touched.checked_add(passed.max(REPEAT)).ok()
        }
    }
}
