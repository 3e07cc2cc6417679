//! The update strategy of a DaemonSet.

use k8s_openapi::api::apps::v1::{DaemonSetUpdateStrategy, RollingUpdateDaemonSet};

use crate::part::Part;

/// The kernel runs one scheduler at a time, so the old pod must end before the new one starts:
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
