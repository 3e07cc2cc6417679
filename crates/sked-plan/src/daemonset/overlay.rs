//! What is written when a live DaemonSet differs: all that is ours to say, over the object as it
//! is.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::shape::is_kubectls;

/// A live DaemonSet with all that is ours to say said again: ready to be written with the
/// resource version that it has. What `kubectl rollout restart` wrote stays, and so do labels,
/// annotations and other owners on the DaemonSet itself. Everything else in the spec goes, also
/// what somebody added.
pub fn overlay(live: DaemonSet, wanted: &DaemonSet) -> DaemonSet {
    let mut spec = wanted.spec.clone();
    let old = live.spec.and_then(|spec| spec.template.metadata);
    let kept = old.and_then(|old| old.annotations).map(|mut annotations| {
        annotations.retain(|key, _| is_kubectls(key));
        annotations
    });
    if let (Some(spec), Some(kept)) = (&mut spec, kept.filter(|kept| !kept.is_empty())) {
        let metadata = spec.template.metadata.get_or_insert_default();
        metadata.annotations.get_or_insert_default().extend(kept);
    }
    DaemonSet {
        metadata: metadata(live.metadata, &wanted.metadata),
        spec,
        status: live.status,
    }
}

/// Our label, and one controller: others may own it too, but none controls it.
fn metadata(mut live: ObjectMeta, wanted: &ObjectMeta) -> ObjectMeta {
    let labels = wanted.labels.clone().unwrap_or_default();
    live.labels.get_or_insert_default().extend(labels);
    let others = live.owner_references.take().unwrap_or_default();
    let mut owners = wanted.owner_references.clone().unwrap_or_default();
    owners.extend(
        others
            .into_iter()
            .filter(|owner| owner.controller != Some(true)),
    );
    live.owner_references = Some(owners);
    live
}
