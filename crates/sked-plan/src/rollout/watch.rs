//! Counts how often schedulers end on each node once their revision is good.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sked_api::{NodeFailures, RolloutStatus, SchedulerEnd};

use super::evidence::{Failure, end, failure_by_end, missed_deadline};
use super::fail;
use super::record::Record;
use super::templates::Stable;
use super::view::{PartPod, View};
use crate::name::NodeName;
use crate::part::Stage;
use crate::revision::revision;

/// The most nodes and ends that a status counts.
const MAX_COUNTED: usize = 100;

/// Counts the ends on nodes that run a good revision, and quarantines those that fail.
pub(super) fn watch(view: &View<'_>, record: &mut Record) {
    let (Stable::Held(spec) | Stable::Spec(spec)) = view.templates.stable() else {
        return;
    };
    let revision = revision(spec);
    let Some(began) = record.rollout.as_ref().map(|rollout| rollout.since.0) else {
        return;
    };
    let stable = |one: &&PartPod<'_>| one.stage == Stage::Stable && one.is_current;
    for one in view.pods.iter().filter(stable) {
        let Some(rollout) = &mut record.rollout else {
            return;
        };
        if let Some(failure) = failure(view, rollout, one, began) {
            let phase = record.phase();
            fail::once_complete(view, record, &failure, &revision);
            if record.phase() != phase {
                return;
            }
        }
    }
    if let Some(rollout) = &mut record.rollout {
        forget(view, rollout);
    }
}

fn failure(
    view: &View<'_>,
    rollout: &mut RolloutStatus,
    one: &PartPod<'_>,
    began: Timestamp,
) -> Option<Failure> {
    if let Some((exit, at)) = end(one, began)
        && count(view, rollout, one.node, at) >= view.settings.ejections
    {
        return Some(failure_by_end(one, exit));
    }
    missed_deadline(one, &view.settings, view.now)
}

/// Notes an end, each only once, and counts those of the node within the window.
fn count(view: &View<'_>, rollout: &mut RolloutStatus, node: &NodeName, at: Timestamp) -> usize {
    let known = rollout.failures.iter().position(|one| *one.node == *node.0);
    let known = match known {
        Some(known) => known,
        // By the node's clock: a pod shows its last end for as long as it is there.
        None if view.now.duration_since(at) > view.settings.window => return 0,
        None if !has_room(view, rollout) => return 1,
        None => {
            rollout.failures.push(NodeFailures {
                node: node.to_string(),
                ends: Vec::new(),
            });
            rollout.failures.len() - 1
        }
    };
    let ends = &mut rollout.failures[known].ends;
    if !ends.iter().any(|end| end.at.0 == at) {
        ends.push(SchedulerEnd {
            at: Time(at),
            seen: Time(view.now),
        });
    }
    ends.iter().filter(|end| is_recent(view, end)).count()
}

/// Makes room for one node, if none is free, by a node that is counted only so that an old end is
/// not taken for a new one.
fn has_room(view: &View<'_>, rollout: &mut RolloutStatus) -> bool {
    let failures = &mut rollout.failures;
    if failures.len() < MAX_COUNTED {
        return true;
    }
    let is_old = |one: &NodeFailures| !one.ends.iter().any(|end| is_recent(view, end));
    let old = failures.iter().position(is_old);
    old.map(|old| failures.remove(old)).is_some()
}

/// Keeps what is within the window, and of each node no more than decides.
fn forget(view: &View<'_>, rollout: &mut RolloutStatus) {
    let most = view.settings.ejections.min(MAX_COUNTED);
    for node in &mut rollout.failures {
        // The last one stays: its pod still shows it, and it must not be counted again.
        let last = node.ends.last().cloned();
        node.ends
            .retain(|end| is_recent(view, end) || Some(end) == last.as_ref());
        let surplus = node.ends.len().saturating_sub(most);
        node.ends.drain(..surplus);
    }
    let shown = |node: &str| {
        let mut pods = view.pods.iter();
        pods.any(|one| *one.node.0 == *node && one.pod.last_exit.is_some())
    };
    rollout
        .failures
        .retain(|one| shown(&one.node) || one.ends.iter().any(|end| is_recent(view, end)));
    rollout
        .failures
        .sort_by(|one, other| one.node.cmp(&other.node));
}

fn is_recent(view: &View<'_>, end: &SchedulerEnd) -> bool {
    // A clock that was set back makes the time negative: still recent.
    view.now.duration_since(end.seen.0) <= view.settings.window
}
