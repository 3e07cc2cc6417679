//! The conditions of a SchedExt: Ready, Progressing, Degraded, Conflicted.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schedkit_core::OpsName;
use sked_api::{ConditionType, Reason, SchedExtStatus};

use super::issue::Issue;
use super::progress::Progress;
use super::verification::Section;
use crate::eligibility::ExclusionReason;
use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::placed_pods::PlacedPod;

/// A condition without its type and times.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ConditionValue {
    status: &'static str,
    reason: Reason,
    message: String,
}

const TRUE: &str = "True";
const FALSE: &str = "False";
const UNKNOWN: &str = "Unknown";

/// Always these four, in the same order; with a trust policy also Verified.
pub(super) fn conditions(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    issues: &[Issue],
    progress: &Progress,
    verification: &Section,
    before: &SchedExtStatus,
    now: Timestamp,
) -> Vec<Condition> {
    let degraded = degraded(issues);
    let progressing = progressing(progress);
    let conflicted = conflicted(observed);
    let ready = ready(observed, placed, [&degraded, &progressing, &conflicted]);
    let verified = verification.condition.clone();
    let verified = verified.map(|(status, reason, message)| ConditionValue {
        status,
        reason,
        message,
    });
    let values = [
        (ConditionType::Ready, ready),
        (ConditionType::Progressing, progressing),
        (ConditionType::Degraded, degraded),
        (ConditionType::Conflicted, conflicted),
    ];
    let generation = observed.schedext.metadata.generation;
    let condition = |(kind, value): (ConditionType, ConditionValue)| {
        let same = |old: &&Condition| old.type_ == kind.as_str() && old.status == value.status;
        let old = before.conditions.iter().find(same);
        Condition {
            type_: kind.as_str().to_owned(),
            status: value.status.to_owned(),
            reason: value.reason.as_str().to_owned(),
            message: value.message,
            observed_generation: generation,
            last_transition_time: old.map_or(Time(now), |old| old.last_transition_time.clone()),
        }
    };
    let verified = verified.map(|value| (ConditionType::Verified, value));
    values.into_iter().chain(verified).map(condition).collect()
}

/// Computed from the other conditions and from the kernels: every selected node's kernel must run
/// the scheduler.
fn ready(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    others: [&ConditionValue; 3],
) -> ConditionValue {
    let [degraded, progressing, conflicted] = others;
    let not = |other: &ConditionValue| ConditionValue {
        status: FALSE,
        ..other.clone()
    };
    if degraded.status == TRUE && degraded.reason.blocks() {
        return not(degraded);
    }
    if progressing.status == TRUE {
        return not(progressing);
    }
    let nodes = observed.assignment.nodes();
    if nodes > 0 {
        return by_kernels(placed, nodes);
    }
    if conflicted.status == TRUE {
        return not(conflicted);
    }
    let (reason, message) = match observed.assignment.excluded.count() {
        0 => (
            Reason::NoNodes,
            "no node matches: check nodeSelector, affinity and tolerations, and the nodes' labels and \
             taints",
        ),
        _ if observed.assignment.excluded.unsupported > 0 => (
            Reason::UnsupportedKernel,
            "no node that matches has a kernel with sched_ext",
        ),
        _ => (
            Reason::Quarantined,
            "every node that matches is labelled as quarantined",
        ),
    };
    ConditionValue {
        status: FALSE,
        reason,
        message: message.to_owned(),
    }
}

/// One unknown kernel makes the whole condition Unknown.
fn by_kernels(placed: &[PlacedPod<'_>], nodes: usize) -> ConditionValue {
    let unknown = placed.iter().filter_map(|one| match &one.state {
        NodeState::Unknown(reason) => Some((&one.pod.node, reason)),
        _ => None,
    });
    let count = unknown.clone().count();
    if let Some((node, reason)) = unknown.min() {
        let node = node.as_ref().map_or("a node", |node| &node.0);
        let more = match count - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        return ConditionValue {
            status: UNKNOWN,
            reason: Reason::NoKernelReport,
            message: format!("node {node}: {reason}{more}"),
        };
    }
    let attached = |one: &&PlacedPod<'_>| matches!(one.state, NodeState::Attached(_));
    match placed.iter().filter(attached).count() {
        attached if attached < nodes => ConditionValue {
            status: FALSE,
            reason: Reason::RollingOut,
            message: format!("{attached} of {nodes} nodes are attached"),
        },
        _ => ConditionValue {
            status: TRUE,
            reason: Reason::Attached,
            message: match nodes {
                1 => "the node's kernel runs it".to_owned(),
                _ => format!("the kernels of all {nodes} nodes run it"),
            },
        },
    }
}

fn progressing(progress: &Progress) -> ConditionValue {
    match progress {
        Progress::RollingOut(reason, message) => ConditionValue {
            status: TRUE,
            reason: *reason,
            message: message.clone(),
        },
        Progress::Blocked(reason) => ConditionValue {
            status: FALSE,
            reason: *reason,
            message: "an issue blocks the roll-out; see the condition Degraded".to_owned(),
        },
        Progress::Done => ConditionValue {
            status: FALSE,
            reason: Reason::UpToDate,
            message: "no change is being rolled out".to_owned(),
        },
    }
}

/// Shows the most important issue.
fn degraded(issues: &[Issue]) -> ConditionValue {
    let wrong = issues.iter().filter(|one| one.reason.is_degraded());
    let first = wrong
        .clone()
        .min_by_key(|one| (one.reason, &one.node, &one.message));
    let Some(first) = first else {
        return ConditionValue {
            status: FALSE,
            reason: Reason::AsExpected,
            message: "nothing is wrong".to_owned(),
        };
    };
    let prefix = first
        .node
        .as_ref()
        .map_or(String::new(), |node| format!("node {node}: "));
    let more = match wrong.count() - 1 {
        0 => String::new(),
        1 => " (and 1 more problem)".to_owned(),
        more => format!(" (and {more} more problems)"),
    };
    ConditionValue {
        status: TRUE,
        reason: first.reason,
        message: format!("{prefix}{}{more}", first.message),
    }
}

/// A foreign scheduler comes before another SchedExt, because nobody asked for it.
fn conflicted(observed: &Observed) -> ConditionValue {
    let excluded = &observed.assignment.excluded;
    let foreign = excluded
        .nodes
        .iter()
        .find_map(|(node, reason)| match reason {
            ExclusionReason::Foreign(ops) => Some((node, ops)),
            ExclusionReason::Unsupported(_) | ExclusionReason::Quarantined => None,
        });
    if let Some((node, ops)) = foreign {
        let ops = ops.as_ref().map_or("a scheduler", OpsName::as_str);
        let more = match excluded.foreign - 1 {
            0 => String::new(),
            more => format!(" (and {more} more nodes)"),
        };
        return ConditionValue {
            status: TRUE,
            reason: Reason::ForeignScheduler,
            message: format!(
                "the kernel of {node} runs {ops}, which sked did not start and does not stop{more}: \
                 stop it, then sked uses the node again"
            ),
        };
    }
    let lost = &observed.assignment.lost;
    let Some((node, winner)) = lost.nodes.first() else {
        return ConditionValue {
            status: FALSE,
            reason: Reason::NoConflict,
            message: "no other SchedExt owns a node that this one selects".to_owned(),
        };
    };
    let nodes = match lost.count {
        1 => format!("the node {node} belongs to {winner}"),
        count => format!("{count} nodes belong to other SchedExts, among them {node} to {winner}"),
    };
    ConditionValue {
        status: TRUE,
        reason: Reason::OwnedByOther,
        message: format!(
            "{nodes}: raise spec.priority above theirs, or let them select different nodes"
        ),
    }
}
