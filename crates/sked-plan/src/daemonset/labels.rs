//! Labels, owner reference and selector of a DaemonSet.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use sked_api::label;

use crate::part::{self, Part};

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

/// A selector is immutable: it must stay as the former operator wrote it.
pub(super) fn selector(part: &Part<'_>) -> LabelSelector {
    LabelSelector {
        match_labels: Some(owned([(label::NAME, &*part.key().name)])),
        match_expressions: None,
    }
}

/// The revision tells the pods of two templates apart, whatever hash the DaemonSet controller gives
/// them. Pods of templates before 0.1.0 have an anti-affinity that selects by the root-scheduler label.
pub(super) fn of_pods(part: &Part<'_>) -> ObjectMeta {
    let (name, revision) = (part.key().name, part.revision());
    ObjectMeta {
        labels: Some(owned([
            (label::NAME, &*name),
            label::MANAGED_BY,
            label::ROOT_SCHEDULER,
            (label::REVISION, &*revision),
        ])),
        ..ObjectMeta::default()
    }
}

/// The garbage collector deletes the DaemonSet and its pods with the SchedExt.
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
