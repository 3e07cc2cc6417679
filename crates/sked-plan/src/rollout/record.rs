//! What a status records of roll-outs.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sked_api::{
    CanaryStatus, GoodRevision, QuarantinedNode, RejectedRevision, RolloutPhase, RolloutStatus,
    SchedExt, SchedExtStatus,
};

use super::good;
use crate::revision::{revision, selection};
use crate::verification::{Verification, images, images_in};

/// The fields of a status by which roll-outs are decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub rollout: Option<RolloutStatus>,
    pub last_good: Option<Box<GoodRevision>>,
    pub previous_good: Option<Box<GoodRevision>>,
    pub rejected: Option<Box<RejectedRevision>>,
    pub quarantined: Vec<QuarantinedNode>,
    pub handled_request: Option<String>,
}

impl Record {
    pub(super) fn of(status: &SchedExtStatus) -> Self {
        Self {
            rollout: status.rollout.clone(),
            last_good: status.last_good.clone(),
            previous_good: status.previous_good.clone(),
            rejected: status.rejected.clone(),
            quarantined: status.quarantined.clone(),
            handled_request: status.handled_request.clone(),
        }
    }

    /// Notes which good revisions the trust policy accepts as it is now.
    pub(super) fn note_policy(&mut self, verification: &Verification) {
        let goods = [&mut self.last_good, &mut self.previous_good].into_iter();
        for good in goods.flatten() {
            if let Some(policy) = verification.accepted_by(images_in(&good.spec)) {
                good.policy = Some(policy);
            }
        }
    }

    /// Good revisions that nobody verified are hidden while there is a policy, so that nothing goes back
    /// to them, and kept for as long as no other takes their place.
    pub(crate) fn keep_unverified(&mut self, seen: &SchedExt, stored: &SchedExt) {
        let goods = |schedext: &SchedExt| {
            let status = schedext.status.as_ref();
            status.map_or([None, None], |status| {
                [status.last_good.clone(), status.previous_good.clone()]
            })
        };
        let kept = [&mut self.last_good, &mut self.previous_good].into_iter();
        for ((good, seen), stored) in kept.zip(goods(seen)).zip(goods(stored)) {
            if good.is_none() && seen.is_none() {
                *good = stored;
            }
        }
    }

    /// Begins a phase of what the spec asks for now.
    pub(super) fn enter(
        &mut self,
        schedext: &SchedExt,
        phase: RolloutPhase,
        canaries: Vec<CanaryStatus>,
        now: Timestamp,
    ) {
        self.rollout = Some(RolloutStatus {
            revision: revision(schedext),
            selection: selection(schedext),
            phase,
            since: Time(now),
            canaries,
            failures: Vec::new(),
        });
    }

    pub(super) fn take_canaries(&mut self) -> Vec<CanaryStatus> {
        let rollout = self.rollout.as_mut();
        rollout.map_or_else(Vec::new, |rollout| std::mem::take(&mut rollout.canaries))
    }

    /// From now on the record is as if it were about another revision: what runs stays until the
    /// roll-out of what the spec asks for begins anew.
    pub(super) fn begin_anew(&mut self) {
        if let Some(rollout) = &mut self.rollout {
            rollout.revision.clear();
        }
    }

    /// The one before the last good revision takes its place.
    pub(super) fn swap_goods(&mut self) {
        std::mem::swap(&mut self.last_good, &mut self.previous_good);
    }

    pub(super) fn phase(&self) -> Option<RolloutPhase> {
        self.rollout.as_ref().map(|rollout| rollout.phase)
    }

    /// Every node has what the spec asks for.
    pub(super) fn complete(
        &mut self,
        schedext: &SchedExt,
        verification: &Verification,
        now: Timestamp,
    ) {
        let good = GoodRevision {
            revision: revision(schedext),
            selection: selection(schedext),
            since: Time(now),
            verified: verification.is_on(),
            policy: verification.accepted_by(images(schedext)),
            spec: good::fields(schedext),
        };
        if let Some(old) = self.last_good.replace(Box::new(good))
            && old.revision != revision(schedext)
        {
            self.previous_good = Some(old);
        }
        self.rejected = None;
        self.enter(schedext, RolloutPhase::Complete, Vec::new(), now);
    }
}
