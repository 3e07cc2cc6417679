//! Which spec each DaemonSet of a SchedExt follows, by the spec and by what the status records of
//! the roll-out. Claims, plans and checks ask only here.
//!
//! ```text
//! phase        stable DaemonSets                      canary DaemonSets
//! (no record)  as they are, or the spec (see below)   as they are
//! Canary       the last good revision                 the spec, on the recorded nodes
//! Rolling      the spec                               as they are, until their nodes are handed back
//! Complete     the spec                               none
//! RolledBack   the last good revision                 as they are, until their nodes are handed back
//! Failed       the spec, frozen                       as they are
//! ```
//!
//! Without a record they wait for one if the SchedExt has `spec.rollout`. Without a last good
//! revision they stay as they are, or absent.

use std::borrow::Cow;

use sked_api::{
    CanaryStatus, Reason, RejectedRevision, RolloutPhase, RolloutStatus, SchedExt, SchedExtStatus,
};

use super::good;
use super::settings::Settings;
use crate::part::{Part, parts};
use crate::revision::{revision, selection};

/// The specs of one SchedExt's DaemonSets.
#[derive(Clone, Debug)]
pub struct Templates<'a> {
    target: &'a SchedExt,
    record: Option<&'a RolloutStatus>,
    stable: Stable<'a>,
    canaries: &'a [CanaryStatus],
    is_frozen: bool,
}

/// What the stable DaemonSets follow.
#[derive(Clone, Debug)]
pub enum Stable<'a> {
    /// There are none yet: a first version that has a canary.
    Absent,
    /// They stay as they are until the status records what happens next; this is what they run, as
    /// far as is known.
    Held(Cow<'a, SchedExt>),
    Spec(Cow<'a, SchedExt>),
}

impl<'a> Templates<'a> {
    /// `is_deployed`: whether any of its stable DaemonSets is there.
    pub fn new(schedext: &'a SchedExt, is_deployed: bool) -> Self {
        let settings = Settings::new(schedext);
        let record = current(schedext);
        let phase = record.map(|record| record.phase);
        let good = || last_good(schedext).map(Cow::Owned);
        let target = || Stable::Spec(Cow::Borrowed(schedext));
        let back = || match good() {
            Some(good) => Stable::Spec(good),
            None if is_deployed && !is_taken_off(schedext) => Stable::Held(Cow::Borrowed(schedext)),
            None => Stable::Absent,
        };
        let stable = match phase {
            Some(RolloutPhase::Rolling | RolloutPhase::Complete) => target(),
            Some(RolloutPhase::Failed) if is_deployed => target(),
            Some(RolloutPhase::Failed) => Stable::Absent,
            Some(RolloutPhase::Canary | RolloutPhase::RolledBack) => back(),
            None if is_rejected(schedext) => back(),
            None if !settings.is_staged => target(),
            None if is_deployed => Stable::Held(good().unwrap_or(Cow::Borrowed(schedext))),
            None => Stable::Absent,
        };
        // What is about an earlier spec is held until the status records what happens next.
        let recorded = schedext
            .status
            .as_ref()
            .and_then(|status| status.rollout.as_ref());
        Self {
            target: schedext,
            record,
            stable,
            canaries: recorded.map_or(&[], |record| &record.canaries),
            is_frozen: match phase {
                Some(RolloutPhase::Failed) => true,
                // Nobody pauses the way back.
                Some(RolloutPhase::RolledBack) => false,
                _ => settings.is_paused && !leaves_refused(schedext),
            },
        }
    }

    /// What the status records of the roll-out of what the spec asks for now.
    pub fn record(&self) -> Option<&'a RolloutStatus> {
        self.record
    }

    pub fn phase(&self) -> Option<RolloutPhase> {
        self.record.map(|record| record.phase)
    }

    /// Whether no pod may be replaced because its template is not the latest.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen
    }

    pub fn stable(&self) -> &Stable<'a> {
        &self.stable
    }

    /// The base first, then the pools; none if they are absent.
    pub fn stable_parts(&self) -> Vec<Part<'_>> {
        match &self.stable {
            Stable::Absent => Vec::new(),
            Stable::Held(spec) | Stable::Spec(spec) => parts(spec).collect(),
        }
    }

    /// Each canary that has nodes, with them.
    pub fn canary_parts(&self) -> impl Iterator<Item = (Part<'_>, &'a [String])> {
        let canaries = self.canaries.iter().filter(|one| !one.nodes.is_empty());
        canaries.filter_map(|one| {
            let mut parts = parts(self.target);
            let part = parts.find(|part| part.pool_name() == one.pool.as_deref())?;
            Some((part.canary(), &*one.nodes))
        })
    }

    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut all = self.stable_parts();
        all.extend(self.canary_parts().map(|(part, _)| part));
        all
    }
}

/// What the status records of the roll-out of what the spec asks for now.
pub fn current(schedext: &SchedExt) -> Option<&RolloutStatus> {
    let record = schedext.status.as_ref()?.rollout.as_ref()?;
    let same = record.revision == revision(schedext) && record.selection == selection(schedext);
    same.then_some(record)
}

/// The last good revision as a whole SchedExt, if there is one.
pub fn last_good(schedext: &SchedExt) -> Option<SchedExt> {
    let good = schedext.status.as_ref()?.last_good.as_ref()?;
    good::restored(schedext, &good.spec)
}

/// Whether the trust policy refuses the revision that the spec asks for, so that it was taken off the
/// nodes.
pub(super) fn is_taken_off(schedext: &SchedExt) -> bool {
    let status = schedext.status.as_ref();
    let rejected = status.and_then(|status| status.rejected.as_deref());
    let is_it = |rejected: &RejectedRevision| rejected.reason == Reason::PolicyViolated.as_str();
    is_rejected(schedext) && rejected.is_some_and(is_it)
}

/// Whether the roll-out replaces a revision that the trust policy refuses: since then nobody pauses it.
fn leaves_refused(schedext: &SchedExt) -> bool {
    let rejected = schedext.status.as_ref();
    let rejected = rejected.and_then(|status| status.rejected.as_deref());
    let refused = rejected.filter(|one| one.reason == Reason::PolicyViolated.as_str());
    let record = current(schedext);
    record
        .zip(refused)
        .is_some_and(|(record, refused)| refused.time.0 >= record.since.0)
}

/// Whether the spec asks for a revision that failed, and not only for other nodes than it failed
/// on.
pub(super) fn is_rejected(schedext: &SchedExt) -> bool {
    let Some(status) = &schedext.status else {
        return false;
    };
    let SchedExtStatus {
        rejected: Some(rejected),
        last_good,
        ..
    } = status
    else {
        return false;
    };
    let is_good = last_good
        .as_ref()
        .is_some_and(|good| good.revision == rejected.revision);
    rejected.revision == revision(schedext)
        && (!is_good || rejected.selection == selection(schedext))
}
