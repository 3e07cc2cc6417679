//! The body of a replace: the desired DaemonSet laid over the live one.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::fingerprint::is_kubectls;

/// The live DaemonSet, including its resource version, with every field that sked controls reset.
/// Annotations of `kubectl rollout restart` stay in the template; labels, annotations and other
/// owners stay on the DaemonSet itself. Everything else that others added to the spec is removed.
pub fn overlay(live: DaemonSet, desired: &DaemonSet) -> DaemonSet {
    let mut spec = desired.spec.clone();
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
        metadata: metadata(live.metadata, &desired.metadata),
        spec,
        status: live.status,
    }
}

/// Adds our label and makes the SchedExt the only controller; other owners stay.
fn metadata(mut live: ObjectMeta, desired: &ObjectMeta) -> ObjectMeta {
    let labels = desired.labels.clone().unwrap_or_default();
    live.labels.get_or_insert_default().extend(labels);
    let others = live.owner_references.take().unwrap_or_default();
    let mut owners = desired.owner_references.clone().unwrap_or_default();
    owners.extend(
        others
            .into_iter()
            .filter(|owner| owner.controller != Some(true)),
    );
    live.owner_references = Some(owners);
    live
}
