//! Node agents' pods: a report is trusted only while its agent is ready.

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_plan::{NodeName, ObjectKey, Uid};

use super::decode::{MetaFields, Watched};
use super::store::Stored;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentPod {
    key: ObjectKey,
    pub(crate) node: NodeName,
    pub(crate) ready: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RawAgentPod {
    metadata: MetaFields,
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

impl Stored for AgentPod {
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

impl Watched for AgentPod {
    type Kind = Pod;
    type Raw = RawAgentPod;

    fn meta(raw: &RawAgentPod) -> ObjectMeta {
        raw.metadata.object_meta()
    }

    /// A pod that is not scheduled yet is ignored.
    fn read(raw: RawAgentPod) -> Option<Self> {
        let node = NodeName::from(raw.spec.node_name?.as_str());
        let mut conditions = raw.status.conditions.iter();
        let ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
        Some(Self {
            key: raw.metadata.key(),
            node,
            ready: ready && raw.metadata.deletion_timestamp.is_none(),
        })
    }
}
