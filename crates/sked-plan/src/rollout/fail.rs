//! What happens to a revision, or to a node, when a scheduler fails.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sked_api::{
    FailureAction, GoodRevision, QuarantinedNode, RejectedRevision, RolloutPhase, SchedExt,
};

use super::evidence::Failure;
use super::record::Record;
use super::templates::Stable;
use super::view::View;
use crate::revision::{revision, selection};

/// The most nodes that a status names as quarantined; more are a failure of the revision anyway.
const MAX_QUARANTINED: usize = 100;

/// A node fails the revision that is being rolled out.
pub(super) fn while_rolling_out(view: &View<'_>, record: &mut Record, failure: &Failure) {
    match view.settings.action {
        FailureAction::Restart => {}
        FailureAction::Rollback => reject(view, record, failure),
        FailureAction::Detach => {
            quarantine(view, record, failure, revision(view.schedext));
            if has_too_many(view, record) {
                match record.phase() {
                    // No node but the canary's has it.
                    Some(RolloutPhase::Canary) => reject(view, record, failure),
                    _ => freeze(view, record, failure),
                }
            }
        }
    }
}

/// A node fails a revision that ran on every node: it is that node's failure, until too many
/// nodes fail.
pub(super) fn once_complete(
    view: &View<'_>,
    record: &mut Record,
    failure: &Failure,
    revision: String,
) {
    if view.settings.action == FailureAction::Restart {
        return;
    }
    let is_target = revision == crate::revision::revision(view.schedext);
    quarantine(view, record, failure, revision);
    let is_complete = record.phase() == Some(RolloutPhase::Complete);
    if is_complete && is_target && has_too_many(view, record) {
        match view.settings.action {
            FailureAction::Rollback => reject(view, record, failure),
            FailureAction::Detach | FailureAction::Restart => freeze(view, record, failure),
        }
    }
}

/// The nodes go back. Without a revision to go back to they keep what they have, except for the
/// canary: the others have not got the new revision.
pub(super) fn reject(view: &View<'_>, record: &mut Record, failure: &Failure) {
    let is_target = |good: &GoodRevision| is_of(good, view.schedext);
    let was_good = record.last_good.as_ref().is_some_and(is_target);
    let back_to = match was_good {
        true => record.previous_good.as_ref(),
        false => record.last_good.as_ref(),
    };
    let is_canary = record.phase() == Some(RolloutPhase::Canary);
    if back_to.is_none() && !is_canary {
        return freeze(view, record, failure);
    }
    if was_good {
        record.last_good = record.previous_good.take();
    }
    remember(view, record, failure);
    let is_first = matches!(view.templates.stable(), Stable::Absent);
    let canaries = record.rollout.as_mut();
    let canaries = canaries.map(|rollout| std::mem::take(&mut rollout.canaries));
    // Those of a first version have no other scheduler to wait for.
    let canaries = canaries.filter(|_| !is_first).unwrap_or_default();
    record.enter(view.schedext, RolloutPhase::RolledBack, canaries, view.now);
}

/// No further node gets the revision.
fn freeze(view: &View<'_>, record: &mut Record, failure: &Failure) {
    remember(view, record, failure);
    record.enter(view.schedext, RolloutPhase::Failed, Vec::new(), view.now);
}

fn remember(view: &View<'_>, record: &mut Record, failure: &Failure) {
    record.rejected = Some(RejectedRevision {
        revision: revision(view.schedext),
        selection: selection(view.schedext),
        reason: failure.reason.clone(),
        node: failure.node.to_string(),
        message: failure.message.clone(),
        time: Time(view.now),
    });
}

fn quarantine(view: &View<'_>, record: &mut Record, failure: &Failure, revision: String) {
    let node = failure.node.to_string();
    let same = |one: &QuarantinedNode| one.node == node && one.revision == revision;
    if record.quarantined.iter().any(same) || record.quarantined.len() >= MAX_QUARANTINED {
        return;
    }
    record.quarantined.push(QuarantinedNode {
        node,
        revision,
        reason: failure.reason.clone(),
        message: failure.message.clone(),
        since: Time(view.now),
    });
    record
        .quarantined
        .sort_by(|one, other| one.node.cmp(&other.node));
}

/// Whether more nodes than may be without a scheduler, and at least two, failed within the window.
fn has_too_many(view: &View<'_>, record: &Record) -> bool {
    let target = revision(view.schedext);
    let recent = |one: &&QuarantinedNode| {
        // A clock that was set back makes the time negative: still recent.
        one.revision == target && view.now.duration_since(one.since.0) <= view.settings.window
    };
    let failed = record.quarantined.iter().filter(recent).count();
    let limit = view.budget().min(MAX_QUARANTINED - 1);
    failed > limit && failed >= 2
}

pub(super) fn is_of(good: &GoodRevision, schedext: &SchedExt) -> bool {
    good.revision == revision(schedext) && good.selection == selection(schedext)
}
