//! What happens when the trust policy refuses what runs, and the manager enforces it
//! (`--enforce-running`).
//!
//! ```text
//! what the spec asks for is refused, or failed ─▶ RolledBack, to a good revision that is accepted;
//!                                                 without one to the kernel's own scheduler
//! only the good revision that runs is refused  ─▶ another good one beside the canary, else on to what
//!                                                 the spec asks for
//! ```

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schedkit_core::sanitize;
use sked_api::{GoodRevision, Reason, RejectedRevision, RolloutPhase};

use super::evidence::Failure;
use super::fail::{is_of, remember};
use super::record::Record;
use super::running::{still_running, written};
use super::templates::{is_rejected, is_taken_off};
use super::view::View;
use crate::verification::{Standing, images, images_in};

/// `status.rejected.message` has at most 8192 characters, and refusals list signatures.
const LONGEST_REASON: usize = 1000;

/// Takes off the nodes what the policy refuses. Nothing is taken off before it is known what follows.
/// Returns whether the record says so now.
pub(super) fn enforce(view: &View<'_>, record: &mut Record) -> bool {
    let verification = &view.observed.verification;
    if !verification.enforces() {
        return false;
    }
    let mut runs = written(view.templates);
    if view.templates.is_frozen() {
        runs.extend(still_running(view.observed));
    }
    let Standing::Refused(why) = verification.standing(runs.iter().map(String::as_str)) else {
        return false;
    };
    let why = sanitize::shortened(&why, LONGEST_REASON);
    let has_failed = is_rejected(view.schedext) && !is_taken_off(view.schedext);
    match (
        verification.standing(images(view.schedext)),
        way_back(view, record),
    ) {
        (_, WayBack::Unknown) => return false,
        (Standing::Refused(_), way_back) => {
            reject(view, record, why);
            go_back(view, record, way_back);
        }
        (_, way_back) if has_failed => {
            // Why it failed is still why it does not run.
            if way_back == WayBack::None {
                reject(view, record, why);
            }
            go_back(view, record, way_back);
        }
        (Standing::Unknown(_), _) => return false,
        (Standing::Accepted, way_back) => go_on(view, record, way_back, why),
    }
    true
}

/// To which good revision the nodes can go back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WayBack {
    Last,
    Previous,
    None,
    /// Not all verdicts are there.
    Unknown,
}

/// The latest one that the policy accepts, besides what the spec asks for.
fn way_back(view: &View<'_>, record: &Record) -> WayBack {
    let goods = [
        (&record.last_good, WayBack::Last),
        (&record.previous_good, WayBack::Previous),
    ];
    for (good, way_back) in goods {
        let Some(good) = good.as_ref().filter(|good| !is_of(good, view.schedext)) else {
            continue;
        };
        match standing(view, good) {
            Standing::Accepted => return way_back,
            Standing::Refused(_) => {}
            Standing::Unknown(_) => return WayBack::Unknown,
        }
    }
    WayBack::None
}

fn standing(view: &View<'_>, good: &GoodRevision) -> Standing {
    view.observed.verification.standing(images_in(&good.spec))
}

fn reject(view: &View<'_>, record: &mut Record, why: String) {
    let failure = Failure {
        node: "".into(),
        reason: Reason::PolicyViolated.as_str().to_owned(),
        message: why,
    };
    remember(view, record, &failure);
}

fn go_back(view: &View<'_>, record: &mut Record, way_back: WayBack) {
    let canaries = match way_back {
        WayBack::None | WayBack::Unknown => {
            if let Some(refused) = record.last_good.take() {
                record.previous_good = Some(refused);
            }
            Vec::new()
        }
        WayBack::Last => record.take_canaries(),
        WayBack::Previous => {
            record.swap_goods();
            record.take_canaries()
        }
    };
    record.enter(view.schedext, RolloutPhase::RolledBack, canaries, view.now);
}

/// What the spec asks for is accepted, and the revision that it replaces is not. That it is rejected
/// also ends a pause: nobody may keep it on the nodes.
fn go_on(view: &View<'_>, record: &mut Record, way_back: WayBack, why: String) {
    let refused = [&record.last_good, &record.previous_good].map(|good| {
        let refused = |good: &&GoodRevision| matches!(standing(view, good), Standing::Refused(_));
        good.as_deref().filter(refused)
    });
    let rejected = refused.into_iter().flatten().next().map(|good| {
        Box::new(RejectedRevision {
            revision: good.revision.clone(),
            selection: good.selection.clone(),
            reason: Reason::PolicyViolated.as_str().to_owned(),
            node: String::new(),
            message: why,
            time: Time(view.now),
        })
    });
    record.rejected = rejected;
    let phase = match view.templates.phase() {
        Some(RolloutPhase::Rolling | RolloutPhase::Complete) => return,
        _ if way_back == WayBack::Previous && view.settings.canary_soak.is_some() => {
            record.swap_goods();
            RolloutPhase::Canary
        }
        _ => RolloutPhase::Rolling,
    };
    let canaries = record.take_canaries();
    record.enter(view.schedext, phase, canaries, view.now);
}
