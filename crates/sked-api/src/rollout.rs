//! How a change reaches the nodes (`spec.rollout`), and what happens when a scheduler fails
//! (`spec.onFailure`).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a change is rolled out.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// On how many nodes the scheduler is replaced at the same time: a number or a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How long a scheduler must be attached before the next node follows, as in 90s or 5m. Default:
    /// the watchdog's timeout and a minute, so that a stall which begins in the first minute is found
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<String>,
    /// Stops the roll-out where it is.
    #[serde(default, skip_serializing_if = "is_false")]
    pub paused: bool,
    /// A new revision runs on a few nodes first. Default: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
}

impl Rollout {
    /// Fills in what the API server would: the defaults in the CRD.
    pub fn fill_in(&mut self) {
        self.max_unavailable.get_or_insert(IntOrString::Int(1));
        if let Some(canary) = &mut self.canary {
            canary.nodes.get_or_insert(IntOrString::Int(1));
        }
    }
}

/// On which nodes a new revision runs first, and for how long.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Canary {
    /// How many nodes of each part (the base, a pool): a number or a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<IntOrString>,
    /// Labels that a canary's node must have. Default: any node of the part.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// How long the canary must be attached before the other nodes follow. Default: soak of the
    /// roll-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<String>,
}

/// What happens when a scheduler is ejected, ends, or is not attached in time.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnFailure {
    /// What sked does. Default: Rollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<FailureAction>,
    /// How long a scheduler may run before the kernel attaches it, as in 180s. Default: 180s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_deadline: Option<String>,
    /// How many ejections within the window are too many for one node, once the revision is rolled
    /// out; while it is being rolled out, one is. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ejections: Option<i32>,
    /// In which time ejections are counted, as in 10m. Default: 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
}

/// What sked does when a scheduler fails. The variants need doc comments, as those of
/// [`crate::PullPolicy`].
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub enum FailureAction {
    /// The nodes get the last good revision back.
    #[default]
    Rollback,
    /// The node runs the kernel's own scheduler.
    Detach,
    /// Kubernetes restarts the scheduler, each time after a longer pause.
    Restart,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}
