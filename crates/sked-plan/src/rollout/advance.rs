//! Computes the next record of a roll-out from what is observed: one step each time.

use jiff::{SignedDuration, Timestamp};
use sked_api::{RolloutPhase, RolloutStatus};

use super::begin::{begin, hold};
use super::enforce::enforce;
use super::record::Record;
use super::requests::{self, Allowed};
use super::templates::{Stable, Templates};
use super::view::View;
use super::{canary, evidence, fail, soak, watch};
use crate::observed::Observed;
use crate::placed_pods::PlacedPod;
use crate::plan::Plan;
use crate::revision::revision;

pub(crate) use super::begin::Hold;
pub(crate) use super::requests::refusal;

/// The next record, and what keeps the roll-out from going on.
pub(crate) fn advance(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    plan: &Plan,
    now: Timestamp,
) -> (Record, Option<Hold>) {
    let status = observed.schedext.status.clone().unwrap_or_default();
    let mut record = Record::of(&status);
    if observed.assignment.violation.is_some() {
        return (record, None);
    }
    requests::handle_refresh(observed, &mut record);
    if observed.verification.runs_nothing() {
        return (record, None);
    }
    let daemonsets = observed.daemonsets.iter().map(|live| &**live);
    let is_deployed = super::is_deployed(&observed.schedext, daemonsets);
    let templates = Templates::new(&observed.schedext, is_deployed);
    let mut view = View::new(observed, &templates, placed, plan);
    view.now = now;
    record.note_policy(&observed.verification);
    if enforce(&view, &mut record) {
        return (record, None);
    }
    let allowed = requests::handle(&view, &mut record);
    let began = templates.record();
    match began.filter(|began| record.rollout.as_ref() == Some(began)) {
        // A request changed it, or it is about something else than the spec asks for.
        None if record.rollout == status.rollout => begin(&view, &mut record, allowed.is_forced),
        None => {}
        Some(began) => step(&view, &mut record, allowed, began),
    }
    retain_quarantined(&view, &mut record);
    let waits = record.rollout.is_none()
        || templates.record().is_none()
        || record.phase() == Some(RolloutPhase::Canary);
    let rolls = record.phase() == Some(RolloutPhase::Rolling);
    let hold = hold(&view).filter(|hold| waits || (rolls && *hold == Hold::Paused));
    (record, hold)
}

fn step(view: &View<'_>, record: &mut Record, allowed: Allowed, began: &RolloutStatus) {
    match began.phase {
        RolloutPhase::Canary => step_canary(view, record, allowed, began),
        RolloutPhase::Rolling => step_rolling(view, record, began),
        RolloutPhase::Complete => watch::watch(view, record),
        RolloutPhase::RolledBack => {
            hand_back(view, record);
            watch::watch(view, record);
        }
        // Until the spec changes, or somebody asks to try again.
        RolloutPhase::Failed => {}
    }
}

fn step_canary(view: &View<'_>, record: &mut Record, allowed: Allowed, began: &RolloutStatus) {
    if let Some(failure) = view.failure_of_rollout(began.since.0) {
        fail::while_rolling_out(view, record, &failure);
        if record.phase() != Some(RolloutPhase::Canary) {
            return;
        }
    }
    let soaked = view.settings.canary_soak.is_none()
        || (view.has_claims() && canary::is_soaked(view, &began.canaries));
    let may_go_on = match hold(view) {
        None => soaked || allowed.is_promoted,
        Some(Hold::Paused) => false,
        Some(Hold::Unhealthy) => allowed.is_forced,
    };
    if may_go_on {
        let canaries = began.canaries.clone();
        record.enter(view.schedext, RolloutPhase::Rolling, canaries, view.now);
        return;
    }
    if view.has_claims()
        && !view.settings.is_paused
        && let Some(rollout) = &mut record.rollout
    {
        rollout.canaries = canary::chosen(view, &began.canaries);
    }
    // The other nodes run the last good revision meanwhile.
    if matches!(view.templates.stable(), Stable::Spec(_)) {
        watch::watch(view, record);
    }
}

fn step_rolling(view: &View<'_>, record: &mut Record, began: &RolloutStatus) {
    if let Some(failure) = view.failure_of_rollout(began.since.0) {
        fail::while_rolling_out(view, record, &failure);
        if record.phase() != Some(RolloutPhase::Rolling) {
            return;
        }
    }
    if !began.canaries.is_empty() {
        if view.has_claims() && view.is_stable_current() && !view.settings.is_paused {
            hand_back(view, record);
        }
        return;
    }
    let has_all = view.has_claims() && view.nodes() > 0 && !view.has_canary_claims();
    if has_all && view.is_stable_done(view.settings.soak) {
        record.complete(view.schedext, &view.observed.verification, view.now);
    }
}

fn hand_back(view: &View<'_>, record: &mut Record) {
    if let Some(rollout) = &mut record.rollout {
        rollout.canaries = canary::handed_back(view, &rollout.canaries);
    }
}

/// A quarantine ends with the revision that it is about.
fn retain_quarantined(view: &View<'_>, record: &mut Record) {
    if record.quarantined.is_empty() {
        return;
    }
    let target = revision(view.schedext);
    let stable = match view.templates.stable() {
        Stable::Absent => None,
        Stable::Held(spec) | Stable::Spec(spec) => Some(revision(spec)),
    };
    let good = record.last_good.as_ref().map(|good| good.revision.clone());
    let kept = [Some(target), stable, good];
    let is_kept = |revision: &String| kept.iter().flatten().any(|one| one == revision);
    record.quarantined.retain(|one| is_kept(&one.revision));
}

/// When the record may change although nothing else does.
pub(crate) fn due(observed: &Observed, placed: &[PlacedPod<'_>]) -> Option<Timestamp> {
    let daemonsets = observed.daemonsets.iter().map(|live| &**live);
    let is_deployed = super::is_deployed(&observed.schedext, daemonsets);
    let templates = Templates::new(&observed.schedext, is_deployed);
    let view = View::new(observed, &templates, placed, &Plan::default());
    let phase = templates.phase();
    let after = |since: Timestamp, time: SignedDuration| since.checked_add(time).ok();
    let settings = &view.settings;
    let pods = view.pods.iter().flat_map(|one| {
        let soaked = soak::soaked_at(one, phase, settings);
        let attach = evidence::deadline(one, settings);
        [
            soaked,
            attach,
            evidence::not_started_deadline(one, settings),
            one.begins_until(settings),
        ]
    });
    let dead = view.observed.unreachable.values();
    let dead = dead.map(|since| after(*since, settings.attach_deadline));
    // `advance` counts whole seconds.
    let all = pods.chain(dead).flatten().filter_map(next_second);
    all.filter(|due| *due > view.now).min()
}

fn next_second(time: Timestamp) -> Option<Timestamp> {
    let seconds = time.as_second() + i64::from(time.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).ok()
}
