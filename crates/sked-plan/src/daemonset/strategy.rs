//! The update strategy of a DaemonSet.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSetUpdateStrategy, RollingUpdateDaemonSet};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::name::ObjectKey;
use crate::part::{Part, PartId};
use crate::rollout::settings::{Settings, max_unavailable};

/// What the strategy depends on besides the spec. None of it changes the template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// No pod is replaced because its template is not the latest.
    pub is_frozen: bool,
    /// The template is that of the last good revision, which need not prove itself.
    pub is_going_back: bool,
    /// How many nodes of each DaemonSet are dead: their pods never become available.
    pub dead: BTreeMap<ObjectKey, usize>,
    /// The nodes of each part.
    pub nodes: BTreeMap<PartId, usize>,
}

/// The kernel runs one scheduler at a time, so the old pod must end before the new one starts:
/// never a surge.
pub(super) fn strategy(part: &Part<'_>, update: &Update) -> DaemonSetUpdateStrategy {
    if update.is_frozen {
        return DaemonSetUpdateStrategy {
            type_: Some("OnDelete".to_owned()),
            rolling_update: None,
        };
    }
    let rollout = part.schedext.spec.rollout.as_ref();
    let limit = rollout.and_then(|rollout| rollout.max_unavailable.clone());
    let limit = match update.dead.get(&part.key()).copied() {
        None | Some(0) => limit,
        Some(dead) => {
            let nodes = update.nodes.get(&part.id()).copied().unwrap_or_default();
            let limit = max_unavailable(part.schedext, nodes) + dead;
            Some(IntOrString::Int(i32::try_from(limit).unwrap_or(i32::MAX)))
        }
    };
    DaemonSetUpdateStrategy {
        type_: Some("RollingUpdate".to_owned()),
        rolling_update: limit.map(|max_unavailable| RollingUpdateDaemonSet {
            max_surge: None,
            max_unavailable: Some(max_unavailable),
        }),
    }
}

/// How long a pod must be ready before the next one is replaced. A canary soaks by its own rule. The
/// DaemonSet controller replaces a pod that has been ready for a shorter time without counting it: on
/// the way back each pod counts from the moment in which its scheduler is attached.
pub(super) fn min_ready_seconds(part: &Part<'_>, update: &Update) -> Option<i32> {
    if update.is_going_back {
        return None;
    }
    let soak = Settings::new(part.schedext).soak.as_secs();
    i32::try_from(soak).ok().filter(|soak| *soak > 0)
}
