//! Nodes: labels, taints and boot id. kubelet's periodic status updates change nothing here.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node as KubeNode, Taint};
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_plan::{Node, NodeName, ObjectKey, Uid};

use super::decode::Watched;
use super::store::Stored;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RawNode {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    node_info: NodeInfo,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct NodeInfo {
    #[serde(rename = "bootID")]
    boot_id: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    uid: String,
    resource_version: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Spec {
    #[serde(default)]
    taints: Vec<Taint>,
}

impl Stored for Node {
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

pub(crate) fn key(name: &NodeName) -> ObjectKey {
    ObjectKey {
        namespace: String::new(),
        name: name.to_string(),
    }
}

impl Watched for Node {
    type Kind = KubeNode;
    type Raw = RawNode;

    fn meta(raw: &RawNode) -> ObjectMeta {
        ObjectMeta {
            name: Some(raw.metadata.name.clone()),
            resource_version: raw.metadata.resource_version.clone(),
            ..ObjectMeta::default()
        }
    }

    fn read(raw: RawNode) -> Option<Self> {
        let RawNode {
            metadata,
            spec,
            status,
        } = raw;
        Some(Self {
            name: NodeName::from(metadata.name.as_str()),
            uid: Uid(metadata.uid),
            boot_id: status.node_info.boot_id,
            labels: metadata.labels,
            taints: spec.taints,
        })
    }
}
