//! Until when a roll-out waits for a pod whose scheduler is attached.

use jiff::{SignedDuration, Timestamp};
use sked_api::RolloutPhase;

use super::settings::Settings;
use super::templates::Templates;
use super::view::{PartPod, View};
use crate::name::ObjectKey;
use crate::observed::Observed;
use crate::part::Stage;
use crate::placed_pods::PlacedPod;
use crate::plan::Plan;

/// One pod of a part that the roll-out needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SoakingPod {
    pub(crate) pod: ObjectKey,
    /// Whether it runs what its DaemonSet should run.
    pub(crate) is_current: bool,
    /// Since when the kernel runs it.
    pub(crate) attached_since: Option<Timestamp>,
    /// Until when it must run before the next step; `None` if nothing waits for it.
    pub(crate) soaked_at: Option<Timestamp>,
}

pub(crate) fn soaking(observed: &Observed, placed: &[PlacedPod<'_>]) -> Vec<SoakingPod> {
    let daemonsets = observed.daemonsets.iter().map(|live| &**live);
    let is_deployed = super::is_deployed(&observed.schedext, daemonsets);
    let templates = Templates::new(&observed.schedext, is_deployed);
    let view = View::new(observed, &templates, placed, &Plan::default());
    let soaking = view.pods.iter().map(|one| SoakingPod {
        pod: one.pod.key.clone(),
        is_current: one.is_current,
        attached_since: one.attached_since(),
        soaked_at: soaked_at(one, templates.phase(), &view.settings),
    });
    soaking.collect()
}

/// When the pod will have run for as long as the roll-out waits for it.
pub(super) fn soaked_at(
    one: &PartPod<'_>,
    phase: Option<RolloutPhase>,
    settings: &Settings,
) -> Option<Timestamp> {
    let soak: Option<SignedDuration> = match (one.stage, phase) {
        (_, Some(RolloutPhase::Complete | RolloutPhase::RolledBack | RolloutPhase::Failed)) => None,
        (Stage::Canary, Some(RolloutPhase::Canary)) => settings.canary_soak,
        _ => Some(settings.soak),
    };
    let (since, soak) = one.attached_since().zip(soak)?;
    since.checked_add(soak).ok()
}
