//! Nodes: labels and taints. What kubelet reports every few minutes changes nothing here.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node as KubeNode, Taint};
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_plan::{Node, NodeName, ObjectKey, Uid};

use super::store::Kept;
use super::wire::Watched;

/// A node on the wire.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Wire {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    resource_version: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Spec {
    #[serde(default)]
    taints: Vec<Taint>,
}

impl Kept for Node {
    fn key(&self) -> ObjectKey {
        key(&self.name)
    }

    fn groups(&self) -> [Option<&Uid>; 2] {
        [None, None]
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

/// The key of a node.
pub(crate) fn key(name: &NodeName) -> ObjectKey {
    ObjectKey {
        namespace: String::new(),
        name: name.to_string(),
    }
}

impl Watched for Node {
    type Kind = KubeNode;
    type Wire = Wire;

    fn meta(wire: &Wire) -> ObjectMeta {
        ObjectMeta {
            name: Some(wire.metadata.name.clone()),
            resource_version: wire.metadata.resource_version.clone(),
            ..ObjectMeta::default()
        }
    }

    fn read(wire: Wire) -> Option<Self> {
        let Wire { metadata, spec } = wire;
        Some(Self {
            name: NodeName::from(metadata.name.as_str()),
            labels: metadata.labels,
            taints: spec.taints,
        })
    }
}
