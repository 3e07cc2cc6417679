//! The first few nodes with a problem, each with since when.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schedkit_core::OpsName;
use sked_api::{Problem, Reason, SchedExtStatus};

use super::count;
use super::trouble::Trouble;
use crate::name::{NodeName, ObjectKey};
use crate::observed::Observed;
use crate::standing::Bar;

/// More than these help nobody.
const SHOWN: usize = 10;

/// The first by node and reason, and how many more there are.
pub(super) fn problems(
    observed: &Observed,
    troubles: &[Trouble],
    before: &SchedExtStatus,
    now: Timestamp,
) -> (Vec<Problem>, Option<i32>) {
    let lost = &observed.share.lost;
    let barred = &observed.share.barred;
    let total = troubles.len() + lost.count + barred.count();
    let lost = lost
        .nodes
        .iter()
        .map(|(node, winner)| lost_to(node, winner));
    let left_out = barred.nodes.iter().map(|(node, bar)| left_out(node, bar));
    let elsewhere = lost.chain(left_out);
    let mut troubles: Vec<Trouble> = troubles.iter().cloned().chain(elsewhere).collect();
    troubles.sort_by(|one, other| {
        let order = |trouble: &Trouble| (trouble.node.clone(), trouble.reason);
        (order(one), &one.message).cmp(&(order(other), &other.message))
    });
    troubles.truncate(SHOWN);
    let more = total.saturating_sub(troubles.len());
    let shown = troubles
        .into_iter()
        .map(|trouble| problem(trouble, before, now));
    (shown.collect(), (more > 0).then(|| count(more)))
}

/// What another SchedExt has.
fn lost_to(node: &NodeName, winner: &ObjectKey) -> Trouble {
    let message = format!(
        "the node belongs to {winner}: raise spec.priority above its, or let the two ask for \
         different nodes"
    );
    Trouble {
        node: Some(node.clone()),
        ..Trouble::overall(Reason::OwnedByOther, message)
    }
}

/// What is good for nobody.
fn left_out(node: &NodeName, bar: &Bar) -> Trouble {
    let (reason, message) = match bar {
        Bar::Unsupported(release) => (
            Reason::UnsupportedKernel,
            format!(
                "its kernel {release} has no sched_ext, so the node is left out: boot one from \
                 6.12 on with CONFIG_SCHED_CLASS_EXT=y"
            ),
        ),
        Bar::Foreign(ops) => (
            Reason::ForeignScheduler,
            format!(
                "its kernel runs {}, which sked did not start and leaves alone: end it, as with \
                 schedctl stop, and the node comes back by itself",
                ops.as_ref().map_or("a scheduler", OpsName::as_str)
            ),
        ),
        Bar::Quarantined => (
            Reason::Quarantined,
            "a scheduler was taken off this node after failures".to_owned(),
        ),
    };
    Trouble {
        node: Some(node.clone()),
        ..Trouble::overall(reason, message)
    }
}

/// What was told before keeps its time: a scheduler that ends again and again has one trouble.
fn problem(trouble: Trouble, before: &SchedExtStatus, now: Timestamp) -> Problem {
    let node = trouble.node.map_or(String::new(), |node| node.to_string());
    let reason = trouble.word.unwrap_or(trouble.reason.as_str());
    let same = |old: &&Problem| old.node == node && old.reason == reason;
    let old = before.problems.iter().find(same);
    let since = old.and_then(|old| old.since.clone());
    let since = since.unwrap_or_else(|| Time(super::whole_seconds(trouble.since.unwrap_or(now))));
    Problem {
        reason: reason.to_owned(),
        message: trouble.message,
        since: Some(since),
        node,
    }
}
