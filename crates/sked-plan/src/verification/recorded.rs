//! What the status of a SchedExt says of its images: for the verifier, which is asked about them, and for
//! readers that are not the manager.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sked_api::{Accepted, SchedExt, VerificationState};

use super::image::{images, images_in};
use super::runnable::what_runs;
use crate::rollout::good::fields;

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

/// The images because of which the spec does not run: those that the status has not as accepted, and if
/// it has all of them for another spec, all.
pub fn unaccepted(schedext: &SchedExt) -> Vec<String> {
    let status = schedext.status.as_ref();
    let accepted = status.and_then(|status| status.accepted.as_ref());
    let mut all = images(schedext);
    if let Some(accepted) = accepted {
        if accepted.spec == fields(schedext) {
            return Vec::new();
        }
        let new = new_images(schedext, accepted);
        all.retain(|image| new.is_empty() || new.contains(image));
    }
    all.into_iter().map(str::to_owned).collect()
}

fn new_images<'a>(schedext: &'a SchedExt, accepted: &Accepted) -> BTreeSet<&'a str> {
    let is_new = |image: &&str| !accepted.images.iter().any(|one| one.image == **image);
    images(schedext).into_iter().filter(is_new).collect()
}

/// Takes a spec for accepted whose images are, as the manager does unless the policy refuses them: for
/// readers that plan.
pub fn assume_accepted(schedext: &mut SchedExt) {
    let spec = fields(schedext);
    let status = schedext.status.as_ref();
    let accepted = status.and_then(|status| status.accepted.as_ref());
    let is_violated = status.and_then(|one| one.verification) == Some(VerificationState::Violated);
    let has_new = accepted.is_none_or(|accepted| !new_images(schedext, accepted).is_empty());
    if !is_violated
        && !has_new
        && let Some(status) = &mut schedext.status
        && let Some(accepted) = &mut status.accepted
    {
        accepted.spec = spec;
    }
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
