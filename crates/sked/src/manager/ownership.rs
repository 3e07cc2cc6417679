//! What is ours. Owner references alone prove nothing: whoever may create objects in some namespace can
//! write any uid into them.

use sked_plan::{LiveDaemonSet, LivePod};

use crate::manager::stores::{Stored, Stores};

/// Whether a pod is of a scheduler of ours: a SchedExt controls its DaemonSet, in the same namespace.
/// A pod that is being deleted may outlive its DaemonSet.
pub(crate) fn is_ours(stores: &Stores, pod: &LivePod) -> bool {
    let known = stores.daemonsets.group(&pod.daemonset);
    let mut known = known
        .iter()
        .filter(|live| live.uid == pod.daemonset)
        .peekable();
    match known.peek() {
        None => pod.deleting,
        Some(_) => {
            known.any(|live| live.key.namespace == pod.key.namespace && is_controlled(stores, live))
        }
    }
}

/// Whether a SchedExt controls the DaemonSet: one of the same namespace, or one that is gone.
pub(crate) fn is_controlled(stores: &Stores, live: &LiveDaemonSet) -> bool {
    live.controller.as_ref().is_some_and(|uid| {
        let known = stores.schedexts.group(uid);
        let mut known = known.iter().peekable();
        known.peek().is_none() || known.any(|one| one.key().namespace == live.key.namespace)
    })
}
