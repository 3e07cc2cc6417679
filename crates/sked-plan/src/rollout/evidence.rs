//! Whether a pod shows that its scheduler failed.

use jiff::Timestamp;
use schedkit_core::{ExitReason, LoadFailure, sanitize};
use sked_api::Reason;

use super::settings::Settings;
use super::view::{PartPod, View};
use crate::exit_text::exit_text;
use crate::live_pod::{ContainerExit, PodState};
use crate::name::NodeName;
use crate::node_state::{NodeState, was_attached};
use crate::part::Stage;

/// A scheduler failed on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) node: NodeName,
    /// The kind of exit, or `NotAttached`.
    pub(super) reason: String,
    pub(super) message: String,
}

impl View<'_> {
    /// The first failure of what is being rolled out, by node: one end is enough.
    pub(super) fn failure_of_rollout(&self, began: Timestamp) -> Option<Failure> {
        let is_evidence = |one: &&PartPod<'_>| {
            // Also of a revision that is good, on nodes that are new to it.
            let is_new = one.stage == Stage::Canary || one.pod.created >= began;
            one.is_current && (one.is_changed || is_new)
        };
        let failures = self.pods.iter().filter(is_evidence).filter_map(|one| {
            let end = end(one, began).map(|(exit, _)| failure_by_end(one, exit));
            end.or_else(|| missed_deadline(one, &self.settings, self.now))
                .or_else(|| not_started(one, &self.settings, self.now))
        });
        failures.min_by(|one, other| one.node.cmp(&other.node))
    }
}

/// The last end of the pod's scheduler since then, if it counts: neither a benign one, nor one that
/// somebody asked for, nor one that the node's reboot or another scheduler in its kernel caused. When
/// it ended is by the node's clock; of a pod that was created since then every end counts.
pub(super) fn end<'a>(
    one: &PartPod<'a>,
    since: Timestamp,
) -> Option<(&'a ContainerExit, Timestamp)> {
    let exit = one.pod.last_exit.as_ref()?;
    let at = exit.at.unwrap_or(one.pod.created);
    let is_recent = one.pod.created >= since || at > since;
    (is_recent && counts(exit)).then_some((exit, at))
}

fn counts(exit: &ContainerExit) -> bool {
    let not_its_fault = [
        ExitReason::SysRq,
        // Whoever holds the kernel is no fault of the revision, and the node is excluded for that.
        ExitReason::LoadFailed(LoadFailure::Busy),
    ];
    let message = exit.exit_message.as_ref();
    let not_its_fault = message.is_some_and(|message| not_its_fault.contains(&message.reason));
    // kubelet's words for a container that was gone when it came back.
    let rebooted = matches!(&*exit.reason, "Unknown" | "ContainerStatusUnknown");
    !exit.is_benign() && !not_its_fault && !rebooted
}

pub(super) fn failure_by_end(one: &PartPod<'_>, exit: &ContainerExit) -> Failure {
    let reason = match &exit.exit_message {
        Some(message) => message.reason.as_str(),
        None => Reason::SchedulerEnded.as_str(),
    };
    Failure {
        node: one.node.clone(),
        reason: reason.to_owned(),
        message: sanitize::brief(&exit_text(exit)),
    }
}

/// The container has run for the deadline and the kernel does not run its scheduler. A kernel that
/// is unknown is no evidence.
pub(super) fn missed_deadline(
    one: &PartPod<'_>,
    settings: &Settings,
    now: Timestamp,
) -> Option<Failure> {
    let due = deadline(one, settings)?;
    let message = format!(
        "the kernel did not attach it within {} s",
        settings.attach_deadline.as_secs()
    );
    (due <= now).then(|| Failure {
        node: one.node.clone(),
        reason: Reason::NotAttached.as_str().to_owned(),
        message,
    })
}

/// When the pod misses the deadline, if nothing changes.
pub(super) fn deadline(one: &PartPod<'_>, settings: &Settings) -> Option<Timestamp> {
    let pod = one.pod;
    let since = match (&pod.state, one.state) {
        (PodState::Running, NodeState::Attaching) => pod.started?,
        // Its process runs and the kernel does not run it any more: since the gate says so.
        (PodState::Running, NodeState::Detached | NodeState::Ejected) => match was_attached(pod) {
            true => pod.gate.as_ref().filter(|gate| !gate.attached)?.since,
            false => pod.started?,
        },
        _ => return None,
    };
    // The start is by the node's clock, which may be behind.
    let since = since.max(pod.created);
    since.checked_add(settings.attach_deadline).ok()
}

/// The container could not be started for as long as a scheduler may take to attach. The exit of one
/// that is restarted again and again is counted instead.
fn not_started(one: &PartPod<'_>, settings: &Settings, now: Timestamp) -> Option<Failure> {
    let PodState::Waiting { reason, message } = &one.pod.state else {
        return None;
    };
    let due = not_started_deadline(one, settings)?;
    let message = format!("the container could not be started ({reason}): {message}");
    (due <= now).then(|| Failure {
        node: one.node.clone(),
        reason: Reason::ContainerError.as_str().to_owned(),
        message: sanitize::brief(&message),
    })
}

/// When a container that waits counts as not started.
pub(super) fn not_started_deadline(one: &PartPod<'_>, settings: &Settings) -> Option<Timestamp> {
    let waits = matches!(one.pod.state, PodState::Waiting { .. }) && one.pod.last_exit.is_none();
    let created = waits.then_some(one.pod.created)?;
    created.checked_add(settings.attach_deadline).ok()
}
