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
use crate::verification::{Standing, images_in};

/// The most nodes that a status names as quarantined. Beyond that the one that failed longest ago is
/// released: the recent ones decide whether the revision fails.
const MAX_QUARANTINED: usize = 100;

/// A node fails the revision that is being rolled out.
pub(super) fn while_rolling_out(view: &View<'_>, record: &mut Record, failure: &Failure) {
    match view.settings.action {
        FailureAction::Restart => {}
        FailureAction::Rollback => reject(view, record, failure),
        FailureAction::Detach => {
            let revision = revision(view.schedext);
            quarantine(view, record, failure, &revision);
            // Those of the whole roll-out: a canary may soak for longer than the window.
            if is_too_many(view, failed(record, &revision).count()) {
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
    revision: &str,
) {
    if view.settings.action == FailureAction::Restart {
        return;
    }
    let is_complete = record.phase() == Some(RolloutPhase::Complete)
        && *revision == crate::revision::revision(view.schedext);
    let recent = recently_failed(view, record, revision);
    if !is_complete && is_too_many(view, recent + 1) {
        // Nothing is left to go back to. A node in quarantine does not count as unavailable, so
        // that the DaemonSet controller would take the next one.
        return;
    }
    quarantine(view, record, failure, revision);
    if is_complete && is_too_many(view, recently_failed(view, record, revision)) {
        match view.settings.action {
            FailureAction::Rollback => reject(view, record, failure),
            FailureAction::Detach | FailureAction::Restart => freeze(view, record, failure),
        }
    }
}

/// The nodes go back, to no revision that the trust policy refuses. Without one to go back to they keep what they have, except for the
/// canary: the others have not got the new revision.
pub(super) fn reject(view: &View<'_>, record: &mut Record, failure: &Failure) {
    let is_target = |good: &GoodRevision| is_of(good, view.schedext);
    let was_good = record.last_good.as_deref().is_some_and(is_target);
    let may_run = |good: &Option<Box<GoodRevision>>| {
        let good = good.as_deref().filter(|good| !is_target(good));
        good.is_some_and(|good| !is_refused(view, good))
    };
    let is_canary = record.phase() == Some(RolloutPhase::Canary);
    match (may_run(&record.last_good), may_run(&record.previous_good)) {
        (true, _) => {}
        (false, true) => record.swap_goods(),
        (false, false) if is_canary => {}
        (false, false) => return freeze(view, record, failure),
    }
    if was_good {
        for good in [&mut record.last_good, &mut record.previous_good] {
            good.take_if(|good| is_target(good));
        }
    }
    remember(view, record, failure);
    let canaries = match view.templates.stable() {
        // Those of a first version have no other scheduler to wait for.
        Stable::Absent => Vec::new(),
        Stable::Held(_) | Stable::Spec(_) => record.take_canaries(),
    };
    record.enter(view.schedext, RolloutPhase::RolledBack, canaries, view.now);
}

/// No further node gets the revision, and those that have it keep it.
fn freeze(view: &View<'_>, record: &mut Record, failure: &Failure) {
    remember(view, record, failure);
    let canaries = record.take_canaries();
    record.enter(view.schedext, RolloutPhase::Failed, canaries, view.now);
}

pub(super) fn remember(view: &View<'_>, record: &mut Record, failure: &Failure) {
    record.rejected = Some(Box::new(RejectedRevision {
        revision: revision(view.schedext),
        selection: selection(view.schedext),
        reason: failure.reason.clone(),
        node: failure.node.to_string(),
        message: failure.message.clone(),
        time: Time(view.now),
    }));
}

fn quarantine(view: &View<'_>, record: &mut Record, failure: &Failure, revision: &str) {
    let node = failure.node.to_string();
    if failed(record, revision).any(|one| one.node == node) {
        return;
    }
    let all = &mut record.quarantined;
    if all.len() >= MAX_QUARANTINED
        && let Some(oldest) = all.iter().map(|one| one.since.0).min()
        && let Some(at) = all.iter().position(|one| one.since.0 == oldest)
    {
        all.remove(at);
    }
    all.push(QuarantinedNode {
        node,
        revision: revision.to_owned(),
        reason: failure.reason.clone(),
        message: failure.message.clone(),
        since: Time(view.now),
    });
    all.sort_by(|one, other| one.node.cmp(&other.node));
}

/// Those on which that revision failed.
fn failed<'a>(record: &'a Record, revision: &'a str) -> impl Iterator<Item = &'a QuarantinedNode> {
    let all = record.quarantined.iter();
    all.filter(move |one| one.revision == revision)
}

fn recently_failed(view: &View<'_>, record: &Record, revision: &str) -> usize {
    let window = view.settings.window;
    // A clock that was set back makes the time negative: still recent.
    let is_recent = |one: &&QuarantinedNode| view.now.duration_since(one.since.0) <= window;
    failed(record, revision).filter(is_recent).count()
}

/// Whether more nodes than may be without a scheduler failed, and at least two.
fn is_too_many(view: &View<'_>, failed: usize) -> bool {
    let limit = view.budget().min(MAX_QUARANTINED - 1);
    failed > limit && failed >= 2
}

/// Whether the trust policy refuses its images.
fn is_refused(view: &View<'_>, good: &GoodRevision) -> bool {
    let standing = view.observed.verification.standing(images_in(&good.spec));
    matches!(standing, Standing::Refused(_))
}

pub(super) fn is_of(good: &GoodRevision, schedext: &SchedExt) -> bool {
    good.revision == revision(schedext) && good.selection == selection(schedext)
}
