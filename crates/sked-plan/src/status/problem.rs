//! The first few nodes with a problem, each with since when.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sked_api::{Problem, Reason, SchedExtStatus};

use super::count;
use super::trouble::Trouble;
use crate::name::{NodeName, ObjectKey};
use crate::observed::Observed;

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
    let total = troubles.len() + lost.count;
    let lost = lost
        .nodes
        .iter()
        .map(|(node, winner)| lost_to(node, winner));
    let mut troubles: Vec<Trouble> = troubles.iter().cloned().chain(lost).collect();
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
    Trouble {
        reason: Reason::OwnedByOther,
        node: Some(node.clone()),
        message: format!(
            "the node belongs to {winner}: raise spec.priority above its, or let the two ask for \
             different nodes"
        ),
        since: None,
    }
}

/// What was told before keeps its time: a scheduler that ends again and again has one trouble.
fn problem(trouble: Trouble, before: &SchedExtStatus, now: Timestamp) -> Problem {
    let node = trouble.node.map_or(String::new(), |node| node.to_string());
    let reason = trouble.reason.as_str();
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
