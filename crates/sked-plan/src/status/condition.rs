//! The four conditions.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use sked_api::{ConditionType, Reason, SchedExtStatus};

use super::progress::Progress;
use super::trouble::Trouble;
use crate::observed::Observed;

/// What one condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    status: &'static str,
    reason: Reason,
    message: String,
}

const YES: &str = "True";
const NO: &str = "False";
const UNKNOWN: &str = "Unknown";

/// All four, always, in one order.
pub(super) fn conditions(
    observed: &Observed,
    troubles: &[Trouble],
    progress: &Progress,
    before: &SchedExtStatus,
    now: Timestamp,
) -> Vec<Condition> {
    let degraded = degraded(troubles);
    let progressing = progressing(progress);
    let conflicted = conflicted(observed);
    let ready = ready(observed, &degraded, &progressing, &conflicted);
    let words = [
        (ConditionType::Ready, ready),
        (ConditionType::Progressing, progressing),
        (ConditionType::Degraded, degraded),
        (ConditionType::Conflicted, conflicted),
    ];
    let generation = observed.schedext.metadata.generation;
    let condition = |(kind, word): (ConditionType, Word)| {
        let same = |old: &&Condition| old.type_ == kind.as_str() && old.status == word.status;
        let old = before.conditions.iter().find(same);
        Condition {
            type_: kind.as_str().to_owned(),
            status: word.status.to_owned(),
            reason: word.reason.as_str().to_owned(),
            message: word.message,
            observed_generation: generation,
            last_transition_time: old.map_or(Time(now), |old| old.last_transition_time.clone()),
        }
    };
    words.into_iter().map(condition).collect()
}

/// Computed from the others. Never true: nobody on the nodes says yet what the kernel says.
fn ready(observed: &Observed, degraded: &Word, progressing: &Word, conflicted: &Word) -> Word {
    let not = |word: &Word| Word {
        status: NO,
        ..word.clone()
    };
    if degraded.status == YES {
        return not(degraded);
    }
    if progressing.status == YES {
        return not(progressing);
    }
    if observed.share.parts.values().any(|part| part.nodes > 0) {
        return Word {
            status: UNKNOWN,
            reason: Reason::NoKernelReport,
            message: "no agent reports what the nodes' kernels say, so nobody knows whether the \
                      scheduler is attached"
                .to_owned(),
        };
    }
    if conflicted.status == YES {
        return not(conflicted);
    }
    Word {
        status: NO,
        reason: Reason::NoNodes,
        message: "no node matches: see nodeSelector, affinity and tolerations, and the nodes' \
                  labels and taints"
            .to_owned(),
    }
}

fn progressing(progress: &Progress) -> Word {
    match progress {
        Progress::UnderWay(reason, message) => Word {
            status: YES,
            reason: *reason,
            message: message.clone(),
        },
        Progress::Stuck(reason) => Word {
            status: NO,
            reason: *reason,
            message: "something stands in the way; see the condition Degraded".to_owned(),
        },
        Progress::Done => Word {
            status: NO,
            reason: Reason::UpToDate,
            message: "nothing is under way".to_owned(),
        },
    }
}

/// The most important trouble speaks for all.
fn degraded(troubles: &[Trouble]) -> Word {
    let wrong = troubles.iter().filter(|one| one.reason.is_degraded());
    let first = wrong
        .clone()
        .min_by_key(|one| (one.reason, &one.node, &one.message));
    let Some(first) = first else {
        return Word {
            status: NO,
            reason: Reason::AsExpected,
            message: "nothing is wrong".to_owned(),
        };
    };
    let place = first
        .node
        .as_ref()
        .map_or(String::new(), |node| format!("node {node}: "));
    let more = match wrong.count() - 1 {
        0 => String::new(),
        1 => " (and 1 more problem)".to_owned(),
        more => format!(" (and {more} more problems)"),
    };
    Word {
        status: YES,
        reason: first.reason,
        message: format!("{place}{}{more}", first.message),
    }
}

fn conflicted(observed: &Observed) -> Word {
    let lost = &observed.share.lost;
    let Some((node, winner)) = lost.nodes.first() else {
        return Word {
            status: NO,
            reason: Reason::NoConflict,
            message: "no other SchedExt has a node that this one asks for".to_owned(),
        };
    };
    let nodes = match lost.count {
        1 => format!("the node {node} belongs to {winner}"),
        count => format!("{count} nodes belong to others, among them {node} to {winner}"),
    };
    Word {
        status: YES,
        reason: Reason::OwnedByOther,
        message: format!(
            "{nodes}: raise spec.priority above theirs, or let them ask for different nodes"
        ),
    }
}
