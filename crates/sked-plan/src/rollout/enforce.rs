//! What happens when the trust policy refuses what runs, and the manager enforces it
//! (`--enforce-running`).

use sked_api::{GoodRevision, Reason, RolloutPhase};

use super::evidence::Failure;
use super::fail::{is_of, remember};
use super::record::Record;
use super::view::View;
use crate::part::Part;
use crate::verification::{Standing, images, images_in};

/// Takes off the nodes what the policy refuses: they go back to a good revision that it accepts, and
/// without one to the kernel's own scheduler. Nothing is taken off before that is known. Returns
/// whether the record says so.
pub(super) fn enforce(view: &View<'_>, record: &mut Record) -> bool {
    let verification = &view.observed.verification;
    let parts = view.templates.parts();
    let runs = parts.iter().map(Part::sched);
    let (true, Standing::Refused(message)) = (verification.enforces(), verification.standing(runs))
    else {
        return false;
    };
    if !matches!(
        verification.standing(images(view.schedext)),
        Standing::Refused(_)
    ) {
        return false;
    }
    match way_back(view, record) {
        WayBack::Unknown => return false,
        WayBack::To(good) => record.last_good = Some(good),
        WayBack::None => record.last_good = None,
    }
    record.previous_good = None;
    let failure = Failure {
        node: "".into(),
        reason: Reason::PolicyViolated.as_str().to_owned(),
        message,
    };
    remember(view, record, &failure);
    let canaries = match record.last_good {
        Some(_) => record.take_canaries(),
        None => Vec::new(),
    };
    record.enter(view.schedext, RolloutPhase::RolledBack, canaries, view.now);
    true
}

/// To which revision the nodes can go back.
enum WayBack {
    To(Box<GoodRevision>),
    None,
    /// Not all verdicts are there.
    Unknown,
}

/// The latest good revision that the policy accepts.
fn way_back(view: &View<'_>, record: &Record) -> WayBack {
    let goods = [&record.last_good, &record.previous_good].into_iter();
    for good in goods.flatten().filter(|good| !is_of(good, view.schedext)) {
        let verification = &view.observed.verification;
        match verification.standing(images_in(&good.spec)) {
            Standing::Accepted => return WayBack::To(good.clone()),
            Standing::Refused(_) => {}
            Standing::Unknown(_) => return WayBack::Unknown,
        }
    }
    WayBack::None
}
