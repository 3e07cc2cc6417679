//! The four conditions.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schedkit_core::OpsName;
use sked_api::{ConditionType, Reason, SchedExtStatus};

use super::nodes::Placed;
use super::progress::Progress;
use super::trouble::Trouble;
use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::standing::Bar;

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
    placed: &[Placed<'_>],
    troubles: &[Trouble],
    progress: &Progress,
    before: &SchedExtStatus,
    now: Timestamp,
) -> Vec<Condition> {
    let degraded = degraded(troubles);
    let progressing = progressing(progress);
    let conflicted = conflicted(observed);
    let ready = ready(observed, placed, [&degraded, &progressing, &conflicted]);
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

/// Computed from the others, and from the kernels: of every wanted node the kernel must say so.
fn ready(observed: &Observed, placed: &[Placed<'_>], others: [&Word; 3]) -> Word {
    let [degraded, progressing, conflicted] = others;
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
    let nodes = observed.share.parts.values().map(|part| part.nodes).sum();
    if nodes > 0 {
        return by_kernels(placed, nodes);
    }
    if conflicted.status == YES {
        return not(conflicted);
    }
    let (reason, message) = match observed.share.barred.count() {
        0 => (
            Reason::NoNodes,
            "no node matches: see nodeSelector, affinity and tolerations, and the nodes' labels and \
             taints",
        ),
        _ if observed.share.barred.unsupported > 0 => (
            Reason::UnsupportedKernel,
            "no node that matches has a kernel with sched_ext",
        ),
        _ => (
            Reason::Quarantined,
            "every node that matches is left out after failures",
        ),
    };
    Word {
        status: NO,
        reason,
        message: message.to_owned(),
    }
}

/// What the kernels say. One that says nothing leaves all open.
fn by_kernels(placed: &[Placed<'_>], nodes: usize) -> Word {
    let unknown = placed.iter().filter_map(|one| match &one.state {
        NodeState::Unknown(silence) => Some((&one.pod.node, silence)),
        _ => None,
    });
    let silent = unknown.clone().count();
    if let Some((node, silence)) = unknown.min() {
        let node = node.as_ref().map_or("a node", |node| &node.0);
        let more = match silent - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        return Word {
            status: UNKNOWN,
            reason: Reason::NoKernelReport,
            message: format!("node {node}: {silence}{more}"),
        };
    }
    let attached = |one: &&Placed<'_>| matches!(one.state, NodeState::Attached(_));
    match placed.iter().filter(attached).count() {
        attached if attached < nodes => Word {
            status: NO,
            reason: Reason::RollingOut,
            message: format!("{attached} of {nodes} nodes are attached"),
        },
        _ => Word {
            status: YES,
            reason: Reason::Attached,
            message: match nodes {
                1 => "the node's kernel runs it".to_owned(),
                _ => format!("the kernels of all {nodes} nodes run it"),
            },
        },
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

/// A scheduler of somebody else's goes before another SchedExt: it is what nobody asked for.
fn conflicted(observed: &Observed) -> Word {
    let barred = &observed.share.barred;
    let foreign = barred.nodes.iter().find_map(|(node, bar)| match bar {
        Bar::Foreign(ops) => Some((node, ops)),
        Bar::Unsupported(_) | Bar::Quarantined => None,
    });
    if let Some((node, ops)) = foreign {
        let ops = ops.as_ref().map_or("a scheduler", OpsName::as_str);
        let more = match barred.foreign - 1 {
            0 => String::new(),
            more => format!(" (and {more} more nodes)"),
        };
        return Word {
            status: YES,
            reason: Reason::ForeignScheduler,
            message: format!(
                "the kernel of {node} runs {ops}, which sked did not start and leaves alone{more}: \
                 end it, and the node comes back by itself"
            ),
        };
    }
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
