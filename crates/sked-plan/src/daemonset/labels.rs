//! Who made a DaemonSet, who controls it, and what it selects by.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use sked_api::label;

use crate::part::{self, Part};

/// Name, label and controller.
pub(super) fn metadata(part: &Part<'_>) -> ObjectMeta {
    let key = part.key();
    ObjectMeta {
        name: Some(key.name),
        namespace: Some(key.namespace),
        labels: Some(owned([label::MANAGED_BY])),
        owner_references: Some(vec![controller(part)]),
        ..ObjectMeta::default()
    }
}

/// A selector can never be changed: it has been this since the first operator.
pub(super) fn selector(part: &Part<'_>) -> LabelSelector {
    LabelSelector {
        match_labels: Some(owned([(label::NAME, &*part.key().name)])),
        match_expressions: None,
    }
}

/// What a pod can be found by: its DaemonSet, and the safety net.
pub(super) fn of_pods(part: &Part<'_>) -> ObjectMeta {
    let name = part.key().name;
    ObjectMeta {
        labels: Some(owned([
            (label::NAME, &*name),
            label::MANAGED_BY,
            label::ROOT_SCHEDULER,
        ])),
        ..ObjectMeta::default()
    }
}

/// With the SchedExt, the garbage collector removes DaemonSet and pods.
fn controller(part: &Part<'_>) -> OwnerReference {
    OwnerReference {
        api_version: "sked.schedkit.io/v1".to_owned(),
        kind: "SchedExt".to_owned(),
        name: part::key(part.schedext).name,
        uid: part::uid(part.schedext).0,
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn owned<const N: usize>(labels: [(&str, &str); N]) -> BTreeMap<String, String> {
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}
