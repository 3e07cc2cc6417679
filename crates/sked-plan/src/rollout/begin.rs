//! The beginning of a roll-out: the spec asks for something that the status does not record.

use sked_api::{CanaryStatus, RolloutPhase};

use super::canary;
use super::fail::is_of;
use super::record::Record;
use super::templates::{Stable, is_rejected};
use super::view::View;

/// Why a roll-out does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Paused,
    Unhealthy,
}

/// Why the roll-out may not begin, or may not leave its canary.
pub(crate) fn hold(view: &View<'_>) -> Option<Hold> {
    if !view.settings.is_staged {
        return None;
    }
    if view.settings.is_paused {
        return Some(Hold::Paused);
    }
    let first = matches!(view.templates.stable(), Stable::Absent);
    (!first && !view.is_healthy()).then_some(Hold::Unhealthy)
}

pub(super) fn begin(view: &View<'_>, record: &mut Record, is_forced: bool) {
    // A first version that waits for its claims has no nodes to count.
    if !view.has_claims() && view.settings.is_staged {
        return;
    }
    let old = record.rollout.take();
    let recorded = old.as_ref().map_or(&[][..], |old| &old.canaries);
    if is_rejected(view.schedext) {
        let phase = RolloutPhase::RolledBack;
        record.enter(view.schedext, phase, recorded.to_vec(), view.now);
        return;
    }
    match hold(view) {
        Some(Hold::Paused) => record.rollout = old,
        _ if needs_canary(view, record) => {
            let canaries = canary::chosen(view, recorded);
            record.enter(view.schedext, RolloutPhase::Canary, canaries, view.now);
        }
        Some(Hold::Unhealthy) if !is_forced => record.rollout = old,
        Some(Hold::Unhealthy) | None => {
            let canaries: Vec<CanaryStatus> = recorded.to_vec();
            record.enter(view.schedext, RolloutPhase::Rolling, canaries, view.now);
        }
    }
}

/// Not to go back to a revision that was good, and not without any node that it changes.
fn needs_canary(view: &View<'_>, record: &Record) -> bool {
    let canaries = &view.observed.assignment.canaries;
    let good = record.last_good.as_ref();
    let goes_back = good.is_some_and(|good| is_of(good, view.schedext));
    // Only the selection has changed, and no node is new.
    let same = good.is_some_and(|good| good.revision == crate::revision::revision(view.schedext));
    let nothing_new = same && canaries.values().all(|nodes| nodes.total == 0);
    view.settings.canary_soak.is_some() && !goes_back && !canaries.is_empty() && !nothing_new
}
