//! What of a SchedExt may run: computed from the SchedExt and its status alone.

use serde_json::{Map, Value};
use sked_api::{Accepted, SchedExt};

use super::image::{images_in, is_pinned};
use crate::revision::revision;
use crate::rollout::good::{fields, restored};

/// The SchedExt with every image by the digest that was accepted for it: of what the spec asks for if
/// that is accepted, else of the last spec that was, on nodes that both select.
/// Good revisions that were not verified are left out: nothing goes back to them. `None` if there is
/// nothing to run.
pub fn runnable(schedext: &SchedExt) -> Option<SchedExt> {
    let accepted = schedext.status.as_ref()?.accepted.as_ref()?;
    let mut runs = match accepted.spec == fields(schedext) {
        true => schedext.clone(),
        false => restored(schedext, &accepted.spec)?,
    };
    let unpinned = has_failures(&runs).then(|| revision(&runs));
    pin(&mut runs, accepted)?;
    if let Some(unpinned) = unpinned {
        carry_over(&mut runs, &unpinned);
    }
    leave_out_unverified(&mut runs);
    Some(runs)
}

fn has_failures(schedext: &SchedExt) -> bool {
    let mut status = schedext.status.iter();
    status.any(|status| status.rejected.is_some() || !status.quarantined.is_empty())
}

/// What failed under its tag, before there was a policy, has failed by its digest as well.
fn carry_over(schedext: &mut SchedExt, unpinned: &str) {
    let pinned = revision(schedext);
    let Some(status) = &mut schedext.status else {
        return;
    };
    let rejected = status.rejected.iter_mut().map(|one| &mut one.revision);
    let quarantined = status.quarantined.iter_mut().map(|one| &mut one.revision);
    for failed in rejected.chain(quarantined).filter(|one| *one == unpinned) {
        failed.clone_from(&pinned);
    }
}

/// What the status has accepted for a reference. A record without a digest pins nothing.
fn resolved<'a>(accepted: &'a Accepted, image: &str) -> Option<&'a str> {
    let mut images = accepted.images.iter();
    let found = images.find(|one| one.image == image)?;
    is_pinned(&found.resolved).then_some(&found.resolved)
}

/// Replaces every reference. `None` if one has no digest.
fn pin(schedext: &mut SchedExt, accepted: &Accepted) -> Option<()> {
    let pools = schedext.spec.pools.iter_mut();
    let pools = pools.filter_map(|pool| pool.sched.as_mut());
    for image in pools.chain([&mut schedext.spec.sched]) {
        *image = resolved(accepted, image)?.to_owned();
    }
    Some(())
}

/// The same for claims and plans: of what may not run at all, the SchedExt without good revisions that
/// nobody verified.
pub fn what_runs(asked: &SchedExt) -> SchedExt {
    runnable(asked).unwrap_or_else(|| {
        let mut nothing = asked.clone();
        leave_out_unverified(&mut nothing);
        nothing
    })
}

/// They are hidden, not forgotten: see `Record::keep_unverified`.
fn leave_out_unverified(schedext: &mut SchedExt) {
    let Some(status) = &mut schedext.status else {
        return;
    };
    let names_digests = |spec: &Map<String, Value>| {
        let images = images_in(spec);
        images.iter().all(|image| is_pinned(image))
    };
    for good in [&mut status.last_good, &mut status.previous_good] {
        good.take_if(|good| !good.verified || !names_digests(&good.spec));
    }
}
