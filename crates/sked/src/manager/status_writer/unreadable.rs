//! The status of a SchedExt that cannot be parsed.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Resource;
use serde_json::{Value, json};
use sked_api::SchedExt;

use crate::manager::stores::Unreadable;

pub(super) const REASON: &str = "InvalidSpec";

/// `None` if the SchedExt has this status already.
pub(super) fn status(unreadable: &Unreadable, now: Timestamp) -> Option<Value> {
    let message = format!(
        "the spec cannot be parsed: {}; running schedulers are not touched until the spec is corrected",
        unreadable.message
    );
    let reported = unreadable.status["conditions"].as_array();
    let reported = reported.into_iter().flatten().any(|condition| {
        condition["message"] == message && condition["observedGeneration"] == unreadable.generation
    });
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": REASON,
            "message": message,
            "observedGeneration": unreadable.generation,
            "lastTransitionTime": Time(now),
        })
    };
    (!reported).then(|| {
        json!({
            "observedGeneration": unreadable.generation,
            "conditions": [condition("Ready", "False"), condition("Degraded", "True")],
        })
    })
}

/// The object that the event is about.
pub(super) fn reference(unreadable: &Unreadable) -> ObjectReference {
    ObjectReference {
        api_version: Some(SchedExt::api_version(&()).into_owned()),
        kind: Some(SchedExt::kind(&()).into_owned()),
        namespace: Some(unreadable.key.namespace.clone()),
        name: Some(unreadable.key.name.clone()),
        uid: Some(unreadable.uid.0.clone()),
        ..ObjectReference::default()
    }
}
