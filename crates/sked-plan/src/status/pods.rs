//! What a pod's state means for its node.

use jiff::{SignedDuration, Timestamp};
use schedkit_core::sanitize;
use sked_api::Reason;

use super::nodes::Placed;
use super::trouble::Trouble;
use crate::node_state::{NodeState, was_attached};
use crate::observed::{Ending, PodState};

/// So often a scheduler may let go without anybody being to blame.
const RESTARTS_WITHOUT_BLAME: i32 = 3;
/// So long a scheduler may run before its kernel attaches it.
const ATTACH_DEADLINE: SignedDuration = SignedDuration::from_secs(60);

/// What is wrong with a pod or its node, if anything is. A kernel that is too old for the image
/// goes with it, or is told alone while nothing has failed yet; one without sched_ext is told
/// elsewhere.
pub(super) fn trouble(placed: &Placed<'_>, now: Timestamp) -> Option<Trouble> {
    let trouble = failure(placed, now);
    let Some(too_old) = &placed.too_old else {
        return trouble;
    };
    match (trouble, &placed.state) {
        (Some(trouble), _) => Some(Trouble {
            message: format!("{}; besides, {too_old}", trouble.message),
            ..trouble
        }),
        (None, NodeState::Attached(_) | NodeState::Unsupported) => None,
        (None, _) => Some(Trouble {
            node: placed.pod.node.clone(),
            since: Some(placed.pod.created),
            ..Trouble::overall(Reason::KernelTooOld, too_old.to_string())
        }),
    }
}

/// The same without what the image asks for.
pub(super) fn failure(placed: &Placed<'_>, now: Timestamp) -> Option<Trouble> {
    let pod = placed.pod;
    let trouble = |reason, message, since| Trouble {
        node: pod.node.clone(),
        since: Some(since),
        ..Trouble::overall(reason, message)
    };
    match &pod.state {
        PodState::Starting | PodState::Unscheduled(None) => None,
        PodState::Unscheduled(Some(why)) => {
            Some(trouble(Reason::PodPending, pending(why), pod.created))
        }
        PodState::Waiting { reason, message } => {
            let (reason, message) = waiting(reason, message);
            Some(trouble(reason, message, pod.created))
        }
        PodState::Failed { reason, message } => Some(trouble(
            Reason::PodFailed,
            failed(reason, message),
            pod.created,
        )),
        PodState::Ended => ended(placed, pod.ending.as_ref()?),
        PodState::Running => running(placed, now),
    }
}

/// When a scheduler that is on its way is overdue, if it can be.
pub(super) fn deadline(placed: &Placed<'_>) -> Option<Timestamp> {
    let waits = placed.state == NodeState::Attaching && placed.pod.state == PodState::Running;
    let started = placed.pod.started.filter(|_| waits)?;
    started.checked_add(ATTACH_DEADLINE).ok()
}

fn running(placed: &Placed<'_>, now: Timestamp) -> Option<Trouble> {
    let pod = placed.pod;
    let trouble = |reason, message: &str, since| Trouble {
        node: pod.node.clone(),
        since,
        ..Trouble::overall(reason, message.to_owned())
    };
    match &placed.state {
        NodeState::Ejected => ended(placed, pod.ending.as_ref()?),
        NodeState::Detached => match &pod.ending {
            // Of a container before this one.
            Some(ending) if !was_attached(pod) => ended(placed, ending),
            _ => Some(trouble(
                Reason::Detached,
                "the kernel does not run it any more, and its process is still there: why is told \
                 when it ends; see its log with kubectl logs",
                None,
            )),
        },
        NodeState::Attaching if deadline(placed).is_some_and(|deadline| deadline <= now) => {
            Some(trouble(
                Reason::NotAttached,
                "it has run for a minute and the kernel has not attached it: see its log with \
                 kubectl logs, and whether the image is a scheduler for this kernel",
                pod.started,
            ))
        }
        _ => None,
    }
}

fn pending(why: &str) -> String {
    format!(
        "its pod waits for a place: {}; make room on the node, or wait until the scheduler that is \
         there has gone",
        sanitize::brief(why)
    )
}

fn waiting(reason: &str, message: &str) -> (Reason, String) {
    let said = sanitize::brief(message);
    let word = sanitize::brief(reason);
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
                "the node cannot get the image ({word}): {said}; check spec.sched, \
                 spec.imagePullSecrets and whether the node reaches the registry"
            ),
        ),
        _ => (
            Reason::ContainerError,
            format!("the node cannot start the scheduler ({word}): {said}; see the pod's events"),
        ),
    }
}

/// Nothing when it let go without blame and is started again.
fn ended(placed: &Placed<'_>, ending: &Ending) -> Option<Trouble> {
    let pod = placed.pod;
    if ending.is_benign() && pod.restarts < RESTARTS_WITHOUT_BLAME {
        return None;
    }
    let reason = match placed.state {
        NodeState::Ejected => Reason::Ejected,
        _ => Reason::SchedulerEnded,
    };
    let word = ending.words.as_ref().map(|words| words.reason.as_str());
    Some(Trouble {
        node: pod.node.clone(),
        since: Some(ending.at.unwrap_or(pod.created)),
        word,
        ..Trouble::overall(reason, last_words(ending))
    })
}

fn last_words(ending: &Ending) -> String {
    let Some(words) = &ending.words else {
        let word = match ending.reason.as_str() {
            "" => "no reason",
            reason => reason,
        };
        return format!(
            "the scheduler ended with exit code {} ({}) and said nothing; see its log with kubectl \
             logs --previous",
            ending.code,
            sanitize::brief(word)
        );
    };
    let said = match words.message.as_str() {
        "" => String::new(),
        message => format!(" ({message})"),
    };
    let remedy = words
        .reason
        .remedy()
        .unwrap_or("see its log with kubectl logs --previous");
    format!(
        "{}: {}{said}; {remedy}",
        words.reason.as_str(),
        words.reason
    )
}

fn failed(reason: &str, message: &str) -> String {
    let word = match reason {
        "" => "no reason",
        reason => reason,
    };
    format!(
        "the node refused or evicted the pod ({}): {}; see the node's conditions",
        sanitize::brief(word),
        sanitize::brief(message)
    )
}
