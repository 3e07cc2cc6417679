//! `status.problems`: the most important issues, each with its start.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schedkit_core::OpsName;
use sked_api::{Problem, Reason, SchedExtStatus};

use super::api_value::{count, whole_seconds};
use super::issue::Issue;
use crate::eligibility::ExclusionReason;
use crate::name::{NodeName, ObjectKey};
use crate::observed::Observed;

/// Keeps the status small.
const SHOWN: usize = 10;

/// The first issues by importance and node, and how many more there are.
pub(super) fn problems(
    observed: &Observed,
    issues: &[Issue],
    before: &SchedExtStatus,
    now: Timestamp,
) -> (Vec<Problem>, Option<i32>) {
    let lost = &observed.assignment.lost;
    let excluded = &observed.assignment.excluded;
    let total = issues.len() + lost.count + excluded.count();
    let lost = lost
        .nodes
        .iter()
        .map(|(node, winner)| lost_to(node, winner));
    let left_out = excluded
        .nodes
        .iter()
        .map(|(node, reason)| node_excluded(node, reason));
    let elsewhere = lost.chain(left_out);
    let mut issues: Vec<Issue> = issues.iter().cloned().chain(elsewhere).collect();
    issues.sort_by(|one, other| {
        let order = |issue: &Issue| (issue.reason, issue.node.clone());
        (order(one), &one.message).cmp(&(order(other), &other.message))
    });
    issues.truncate(SHOWN);
    let more = total.saturating_sub(issues.len());
    let shown = issues.into_iter().map(|issue| problem(issue, before, now));
    (shown.collect(), (more > 0).then(|| count(more)))
}

fn lost_to(node: &NodeName, winner: &ObjectKey) -> Issue {
    let message = format!(
        "the node belongs to {winner}: raise spec.priority above that of {winner}, or let the two \
         select different nodes"
    );
    Issue {
        node: Some(node.clone()),
        ..Issue::overall(Reason::OwnedByOther, message)
    }
}

fn node_excluded(node: &NodeName, exclusion: &ExclusionReason) -> Issue {
    let (reason, message) = match exclusion {
        ExclusionReason::Unsupported(release) => (
            Reason::UnsupportedKernel,
            format!(
                "its kernel {release} has no sched_ext, so the node is excluded: boot a kernel 6.12 or \
                 later with CONFIG_SCHED_CLASS_EXT=y"
            ),
        ),
        ExclusionReason::Foreign(ops) => (
            Reason::ForeignScheduler,
            format!(
                "its kernel runs {}, which sked did not start and does not stop: stop it (schedctl \
                 stop), then sked uses the node again",
                ops.as_ref().map_or("a scheduler", OpsName::as_str)
            ),
        ),
        ExclusionReason::Quarantined => (
            Reason::Quarantined,
            "the node is labelled as quarantined: remove the label sked.schedkit.io/owner to use it \
             again"
                .to_owned(),
        ),
    };
    Issue {
        node: Some(node.clone()),
        ..Issue::overall(reason, message)
    }
}

/// A problem that was reported before keeps its start time: a scheduler in a crash loop is one
/// problem.
fn problem(issue: Issue, before: &SchedExtStatus, now: Timestamp) -> Problem {
    let node = issue.node.map_or(String::new(), |node| node.to_string());
    let reason = issue.exit_reason.unwrap_or(issue.reason.as_str());
    let same = |old: &&Problem| old.node == node && old.reason == reason;
    let old = before.problems.iter().find(same);
    let since = old.and_then(|old| old.since.clone());
    let since = since.unwrap_or_else(|| Time(whole_seconds(issue.since.unwrap_or(now))));
    Problem {
        reason: reason.to_owned(),
        message: issue.message,
        since: Some(since),
        node,
    }
}
