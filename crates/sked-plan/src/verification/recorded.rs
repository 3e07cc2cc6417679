//! What the status of a SchedExt says of its images: for the verifier, which is asked about them, and for
//! readers that are not the manager.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sked_api::{SchedExt, VerificationState};

use super::image::{images, images_in};
use super::runnable::what_runs;

/// The verifier is asked about these: what the spec names, and what of it runs. Of images that are
/// named by a tag and pinned already, only those that are to be looked at again.
pub fn references(schedext: &SchedExt, looks_again: bool) -> BTreeSet<String> {
    let status = schedext.status.as_ref();
    let accepted = status.and_then(|status| status.accepted.as_ref());
    let pinned = accepted.map_or(&[][..], |accepted| &accepted.images);
    let is_pinned = |image: &str| pinned.iter().any(|one| one.image == image);
    let asked = images(schedext).into_iter();
    let asked = asked.filter(|image| looks_again || !is_pinned(image));
    let goods = status.into_iter().flat_map(|status| {
        let goods = [&status.last_good, &status.previous_good].into_iter();
        goods.flatten().filter(|good| good.verified)
    });
    let goods = goods.flat_map(|good| images_in(&good.spec));
    let running = pinned.iter().map(|one| one.resolved.as_str());
    asked
        .chain(running)
        .chain(goods)
        .map(str::to_owned)
        .collect()
}

/// The images that the spec names and the status has not as accepted: they do not run.
pub fn unaccepted(schedext: &SchedExt) -> Vec<String> {
    let status = schedext.status.as_ref();
    let accepted = status.and_then(|status| status.accepted.as_ref());
    let is_known = |image: &&str| {
        let mut known = accepted.into_iter().flat_map(|accepted| &accepted.images);
        known.any(|one| one.image == *image)
    };
    let asked = images(schedext).into_iter();
    asked
        .filter(|image| !is_known(image))
        .map(str::to_owned)
        .collect()
}

/// What runs of a SchedExt, as its status has it.
pub fn as_recorded(schedext: &SchedExt) -> Cow<'_, SchedExt> {
    match was_on(schedext) {
        true => Cow::Owned(what_runs(schedext)),
        false => Cow::Borrowed(schedext),
    }
}

/// Whether the manager that wrote the status has a trust policy.
pub fn was_on(schedext: &SchedExt) -> bool {
    let status = schedext.status.as_ref();
    let state = status.and_then(|status| status.verification);
    state.is_some_and(|state| state != VerificationState::Off)
}
