//! The nodes' agents: whether they are ready, for then their reports can be believed.

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_plan::{NodeName, ObjectKey, Uid};

use super::store::Kept;
use super::wire::{Watched, WireMeta};

/// An agent's pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentSeen {
    key: ObjectKey,
    pub(crate) node: NodeName,
    pub(crate) ready: bool,
}

/// An agent's pod on the wire.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Wire {
    metadata: WireMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<PodCondition>,
}

impl Kept for AgentSeen {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    fn groups(&self) -> [Option<&Uid>; 2] {
        [None, None]
    }

    fn node(&self) -> Option<&NodeName> {
        Some(&self.node)
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Watched for AgentSeen {
    type Kind = Pod;
    type Wire = Wire;

    fn meta(wire: &Wire) -> ObjectMeta {
        wire.metadata.seen()
    }

    /// One that is on no node yet is of no concern.
    fn read(wire: Wire) -> Option<Self> {
        let node = NodeName::from(wire.spec.node_name?.as_str());
        let mut conditions = wire.status.conditions.iter();
        let ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
        Some(Self {
            key: wire.metadata.key(),
            node,
            ready: ready && wire.metadata.deletion_timestamp.is_none(),
        })
    }
}
