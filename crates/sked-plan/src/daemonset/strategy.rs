//! How a change reaches the nodes.

use k8s_openapi::api::apps::v1::{DaemonSetUpdateStrategy, RollingUpdateDaemonSet};

use crate::part::Part;

/// The old scheduler goes before the new one comes: the kernel takes one at a time, so there is
/// never a surge.
pub(super) fn strategy(part: &Part<'_>) -> DaemonSetUpdateStrategy {
    let rollout = part.schedext.spec.rollout.as_ref();
    let max_unavailable = rollout.and_then(|rollout| rollout.max_unavailable.clone());
    DaemonSetUpdateStrategy {
        type_: Some("RollingUpdate".to_owned()),
        rolling_update: max_unavailable.map(|max_unavailable| RollingUpdateDaemonSet {
            max_surge: None,
            max_unavailable: Some(max_unavailable),
        }),
    }
}
