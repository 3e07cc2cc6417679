//! A live DaemonSet, read from the API server's own words.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use serde::Deserialize;
use serde_json::Value;

use super::LiveDaemonSet;
use crate::name::{ObjectKey, Uid};
use crate::placement::Placement;
use crate::shape::shape;

/// What should be a DaemonSet and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read a DaemonSet: it has no {0}")]
pub struct NotADaemonSet(&'static str);

impl LiveDaemonSet {
    /// Trims a whole DaemonSet to what the planner needs; the object itself need not be kept.
    ///
    /// # Errors
    /// When it has no name, namespace, uid or template: the API server never shows such a thing.
    pub fn read(object: &Value) -> Result<Self, NotADaemonSet> {
        let metadata = &object["metadata"];
        let text = |name: &'static str| {
            let text = metadata[name].as_str().ok_or(NotADaemonSet(name))?;
            Ok(text.to_owned())
        };
        let pod = object.pointer("/spec/template/spec");
        let (controller, stranger) = controller(metadata);
        let count = |name: &str| {
            let count = object["status"][name].as_i64().unwrap_or_default();
            i32::try_from(count).unwrap_or(i32::MAX)
        };
        Ok(Self {
            key: ObjectKey {
                namespace: text("namespace")?,
                name: text("name")?,
            },
            uid: Uid(text("uid")?),
            resource_version: text("resourceVersion")?,
            controller,
            stranger,
            shape: shape(object),
            placement: Arc::new(placement(pod.ok_or(NotADaemonSet("template"))?)),
            deleting: !metadata["deletionTimestamp"].is_null(),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            observed_generation: object["status"]["observedGeneration"]
                .as_i64()
                .unwrap_or_default(),
            desired: count("desiredNumberScheduled"),
            updated: count("updatedNumberScheduled"),
            ready: count("numberReady"),
        })
    }
}

/// The SchedExt that controls it, or who else does.
fn controller(metadata: &Value) -> (Option<Uid>, Option<String>) {
    let owners = metadata["ownerReferences"].as_array();
    let Some(owner) = owners
        .into_iter()
        .flatten()
        .find(|owner| owner["controller"] == true)
    else {
        return (None, None);
    };
    let text = |name: &str| owner[name].as_str().unwrap_or_default();
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    if text("kind") == "SchedExt" && group == "sked.schedkit.io" {
        return (Some(Uid(text("uid").to_owned())), None);
    }
    (None, Some(format!("{}/{}", text("kind"), text("name"))))
}

/// What cannot be read is taken as if it let every node in: a door that may be open counts as
/// open.
fn placement(pod: &Value) -> Placement {
    let required = pod
        .pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution")
        .and_then(|required| NodeSelector::deserialize(required).ok());
    let selector = Deserialize::deserialize(&pod["nodeSelector"]).unwrap_or_default();
    let mut tolerations = Vec::<Toleration>::deserialize(&pod["tolerations"]).unwrap_or_default();
    if pod["hostNetwork"] == true {
        tolerations.push(Toleration {
            key: Some("node.kubernetes.io/network-unavailable".to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some("NoSchedule".to_owned()),
            ..Toleration::default()
        });
    }
    Placement::new(selector, required.as_ref(), tolerations)
}
