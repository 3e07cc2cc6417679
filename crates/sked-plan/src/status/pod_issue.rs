//! The issue of one pod, if it has one.

use jiff::Timestamp;
use schedkit_core::sanitize;
use sked_api::{Reason, label};

use super::issue::Issue;
use crate::exit_text::exit_text;
use crate::live_pod::{ContainerExit, PodState};
use crate::name::ObjectKey;
use crate::node_state::{NodeState, was_attached};
use crate::placed_pods::PlacedPod;

/// A benign exit (a hotplug, an unregistration) is an issue only after this many restarts.
const BENIGN_RESTARTS: i32 = 3;

/// What a kernel lacks, or that the image does not fit the node, is appended to a failure, or is
/// an issue of its own while nothing has failed. A kernel without sched_ext excludes the node and is
/// reported there.
pub(super) fn issue(placed: &PlacedPod<'_>, now: Timestamp) -> Option<Issue> {
    let issue = failure(placed, now);
    let Some((reason, likely_cause)) = likely_cause(placed) else {
        return issue;
    };
    match (issue, &placed.state) {
        (Some(issue), _) => Some(Issue {
            message: format!("{}; also, {likely_cause}", issue.message),
            ..issue
        }),
        (None, NodeState::Attached(_) | NodeState::Unsupported) => None,
        (None, _) => Some(Issue {
            node: placed.pod.node.clone(),
            since: Some(placed.pod.created),
            ..Issue::overall(reason, likely_cause)
        }),
    }
}

/// What speaks against this node, whatever happens.
fn likely_cause(placed: &PlacedPod<'_>) -> Option<(Reason, String)> {
    if let Some(gaps) = placed.kernel_gaps {
        let gaps = sanitize::brief(gaps);
        let message = format!("no scheduler can be loaded into its kernel: {gaps}");
        return Some((Reason::KernelIncomplete, message));
    }
    let unfit = placed.unfit.as_ref()?;
    Some((unfit.reason(), unfit.to_string()))
}

/// The same without what speaks against the node.
pub(super) fn failure(placed: &PlacedPod<'_>, now: Timestamp) -> Option<Issue> {
    let pod = placed.pod;
    let issue = |reason, message, since| Issue {
        node: pod.node.clone(),
        since: Some(since),
        ..Issue::overall(reason, message)
    };
    match &pod.state {
        PodState::Starting | PodState::Unscheduled(None) => None,
        PodState::Unscheduled(Some(why)) => {
            let message = pending(why, placed.port_holder);
            Some(issue(Reason::PodPending, message, pod.created))
        }
        PodState::Waiting { reason, message } => {
            let (reason, message) = waiting(reason, message);
            Some(issue(reason, message, pod.created))
        }
        PodState::Failed { reason, message } => Some(issue(
            Reason::PodFailed,
            failed(reason, message),
            pod.created,
        )),
        PodState::Ended => ended(placed, pod.last_exit.as_ref()?),
        PodState::Running => running(placed, now),
    }
}

/// When a scheduler that runs and is not attached becomes an issue.
pub(super) fn deadline(placed: &PlacedPod<'_>) -> Option<Timestamp> {
    let waits = placed.state == NodeState::Attaching && placed.pod.state == PodState::Running;
    let started = placed.pod.started.filter(|_| waits)?;
    started.checked_add(placed.attach_deadline).ok()
}

fn running(placed: &PlacedPod<'_>, now: Timestamp) -> Option<Issue> {
    let pod = placed.pod;
    let issue = |reason, message: &str, since| Issue {
        node: pod.node.clone(),
        since,
        ..Issue::overall(reason, message.to_owned())
    };
    match &placed.state {
        NodeState::Ejected => ended(placed, pod.last_exit.as_ref()?),
        NodeState::Detached => match &pod.last_exit {
            // The exit is that of an earlier container.
            Some(last_exit) if !was_attached(pod) => ended(placed, last_exit),
            _ => Some(issue(
                Reason::Detached,
                "the kernel does not run it any more although its process still runs: the reason is \
                 reported when the process exits; see its log with kubectl logs",
                None,
            )),
        },
        NodeState::Foreign(ops) => Some(issue(
            Reason::ForeignScheduler,
            &format!(
                "its kernel runs {ops}, and other nodes with the same image report another name: see \
                 with schedctl status on the node who started it"
            ),
            None,
        )),
        NodeState::Attaching if deadline(placed).is_some_and(|deadline| deadline <= now) => {
            Some(issue(
                Reason::NotAttached,
                &format!(
                    "it has run for {} s and the kernel has not attached it: see its log with kubectl \
                     logs, and check that the image has a scheduler for this kernel",
                    placed.attach_deadline.as_secs()
                ),
                pod.started,
            ))
        }
        _ => None,
    }
}

fn pending(why: &str, port_holder: Option<&ObjectKey>) -> String {
    if let Some(holder) = port_holder {
        return format!(
            "its pod is not scheduled, because the pod {holder} has the host port {}/udp, by which a \
             node gets no second scheduler: give that pod another port",
            label::EXCLUSION_PORT
        );
    }
    if why.contains("free ports") {
        return format!(
            "its pod is not scheduled, because a pod has the host port {}/udp, by which a node gets no \
             second scheduler: wait until the scheduler that runs there has ended, or find the pod with \
             that hostPort",
            label::EXCLUSION_PORT
        );
    }
    format!(
        "its pod is not scheduled: {}; free resources on the node, or wait until the scheduler that \
         runs there has ended",
        sanitize::brief(why)
    )
}

fn waiting(reason: &str, message: &str) -> (Reason, String) {
    let cause = sanitize::brief(message);
    let kubelet_reason = sanitize::brief(reason);
    match reason {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "ErrImageNeverPull"
        | "InvalidImageName"
        | "ImageInspectError"
        | "RegistryUnavailable"
        | "SignatureValidationFailed" => (
            Reason::ImageError,
            format!(
                "the node cannot pull the image ({kubelet_reason}): {cause}; check spec.sched, \
                 spec.imagePullSecrets and whether the node reaches the registry"
            ),
        ),
        _ => (
            Reason::ContainerError,
            format!(
                "the node cannot start the scheduler ({kubelet_reason}): {cause}; see the pod's events"
            ),
        ),
    }
}

/// `None` for a benign exit after which kubelet restarts the container.
fn ended(placed: &PlacedPod<'_>, last_exit: &ContainerExit) -> Option<Issue> {
    let pod = placed.pod;
    if last_exit.is_benign() && pod.restarts < BENIGN_RESTARTS {
        return None;
    }
    let reason = match placed.state {
        NodeState::Ejected => Reason::Ejected,
        _ => Reason::SchedulerEnded,
    };
    let exit_message = last_exit.exit_message.as_ref();
    Some(Issue {
        node: pod.node.clone(),
        since: Some(last_exit.at.unwrap_or(pod.created)),
        exit_reason: exit_message.map(|message| message.reason.as_str()),
        ..Issue::overall(reason, exit_text(last_exit))
    })
}

fn failed(reason: &str, message: &str) -> String {
    let reason = match reason {
        "" => "no reason",
        reason => reason,
    };
    format!(
        "the node rejected or evicted the pod ({}): {}; see the node's conditions",
        sanitize::brief(reason),
        sanitize::brief(message)
    )
}
