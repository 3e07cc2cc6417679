//! `kind: SchedExt`: which scheduler runs on which nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    LocalObjectReference, NodeAffinity, ResourceRequirements, Toleration,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pool::Pool;
use crate::status::SchedExtStatus;

/// Which scheduler runs on which nodes.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "sked.schedkit.io",
    version = "v1",
    kind = "SchedExt",
    doc = "Which scheduler runs on which nodes, and what became of it.",
    namespaced,
    shortname = "sx",
    category = "schedkit",
    status = "SchedExtStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Sched","type":"string","jsonPath":".spec.sched"}"#,
    printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".status.counts.desired"}"#,
    printcolumn = r#"{"name":"Attached","type":"integer","jsonPath":".status.counts.attached"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Ops","type":"string","priority":1,"jsonPath":".status.ops"}"#,
    printcolumn = r#"{"name":"Revision","type":"string","priority":1,"jsonPath":".status.revision"}"#,
    printcolumn = r#"{"name":"Conflicts","type":"integer","priority":1,"jsonPath":".status.counts.conflicted"}"#,
    printcolumn = r#"{"name":"Ejected","type":"integer","priority":1,"jsonPath":".status.counts.ejected"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct SchedExtSpec {
    /// The scheduler's OCI image, used as it is.
    pub sched: String,
    /// Arguments, appended to the image's entrypoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment of the scheduler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Labels that a node must have; without any, every node is meant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Further rules for the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<NodeRules>,
    /// Taints that are no obstacle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Who gets a node that several SchedExts want: the higher one, then the older one.
    #[serde(default)]
    pub priority: i32,
    /// The priority class of the scheduler's pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// When the image is pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<PullPolicy>,
    /// Secrets in the same namespace that the image is pulled with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// What the scheduler's container asks for and is held to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// How long a task may wait before the kernel throws the scheduler out, from 1s to 30s: given
    /// to the scheduler as SCX_TIMEOUT_MS. Not set unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog_timeout: Option<String>,
    /// Other settings for some nodes; the first that matches a node has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// How a change reaches the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// A variable of the scheduler's environment.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
}

/// Rules for nodes; rules about other pods have no meaning for a scheduler of the whole machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRules {
    /// As in a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
}

/// When an image is pulled.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
pub enum PullPolicy {
    /// When the node does not have it.
    IfNotPresent,
    /// At every start.
    Always,
    /// Somebody else brings it.
    Never,
}

/// How a change reaches the nodes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// On how many nodes at a time the scheduler is replaced: a number or a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}
