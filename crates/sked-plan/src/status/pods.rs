//! What a pod's state means for its node.

use schedkit_core::{LastWords, foreign};
use sked_api::Reason;

use super::trouble::Trouble;
use crate::observed::{LivePod, PodState};

/// So often a scheduler may let go without anybody being to blame.
const RESTARTS_WITHOUT_BLAME: i32 = 3;

/// What is wrong with a pod, if anything is. One that is going is nobody's trouble.
pub(super) fn trouble(pod: &LivePod) -> Option<Trouble> {
    if pod.deleting {
        return None;
    }
    let (reason, message, since) = match &pod.state {
        PodState::Starting | PodState::Running | PodState::Unscheduled(None) => return None,
        PodState::Unscheduled(Some(why)) => (Reason::PodPending, pending(why), pod.created),
        PodState::Waiting { reason, message } => {
            let (reason, message) = waiting(reason, message);
            (reason, message, pod.created)
        }
        PodState::Ended {
            code,
            reason,
            message,
            at,
        } => {
            let told = ended(pod, *code, reason, message)?;
            (Reason::SchedulerEnded, told, at.unwrap_or(pod.created))
        }
        PodState::Failed { reason, message } => {
            (Reason::PodFailed, failed(reason, message), pod.created)
        }
    };
    Some(Trouble {
        reason,
        node: pod.node.clone(),
        message,
        since: Some(since),
    })
}

fn pending(why: &str) -> String {
    format!(
        "its pod waits for a place: {}; make room on the node, or wait until the scheduler that is \
         there has gone",
        foreign::brief(why)
    )
}

fn waiting(reason: &str, message: &str) -> (Reason, String) {
    let said = foreign::brief(message);
    let word = foreign::brief(reason);
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
fn ended(pod: &LivePod, code: i32, reason: &str, message: &str) -> Option<String> {
    let words = LastWords::parse(message);
    let benign = words
        .as_ref()
        .map_or(code == 0, |words| words.reason.is_benign());
    if benign && pod.restarts < RESTARTS_WITHOUT_BLAME {
        return None;
    }
    let Some(words) = words else {
        let word = if reason.is_empty() {
            "no reason"
        } else {
            reason
        };
        return Some(format!(
            "the scheduler ended with exit code {code} ({}) and said nothing; see its log with \
             kubectl logs --previous",
            foreign::brief(word)
        ));
    };
    let word = words.reason.word();
    let said = match words.message.as_str() {
        "" => String::new(),
        message => format!(" ({message})"),
    };
    let remedy = words
        .reason
        .remedy()
        .unwrap_or("see its log with kubectl logs --previous");
    Some(format!("{word}: {}{said}; {remedy}", words.reason))
}

fn failed(reason: &str, message: &str) -> String {
    let word = if reason.is_empty() {
        "no reason"
    } else {
        reason
    };
    format!(
        "the node refused or evicted the pod ({}): {}; see the node's conditions",
        foreign::brief(word),
        foreign::brief(message)
    )
}
