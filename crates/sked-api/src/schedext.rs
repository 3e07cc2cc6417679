//! `kind: SchedExt`: which scheduler runs on which nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    LocalObjectReference, NodeAffinity, ResourceRequirements, Toleration,
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::env_var::EnvVar;
use crate::pool::Pool;
use crate::rollout::{OnFailure, Rollout};
use crate::status::SchedExtStatus;

/// Which scheduler runs on which nodes.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "sked.schedkit.io",
    version = "v1",
    kind = "SchedExt",
    doc = "Which scheduler runs on which nodes, and its state there.",
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
    printcolumn = r#"{"name":"Ejected","type":"integer","priority":1,"jsonPath":".status.counts.ejected"}"#,
    printcolumn = r#"{"name":"Rollout","type":"string","priority":1,"jsonPath":".status.rollout.phase"}"#,
    printcolumn = r#"{"name":"Verified","type":"string","priority":1,"jsonPath":".status.verification"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct SchedExtSpec {
    /// The scheduler's OCI image. Without a trust policy it is used verbatim; with one it is verified, and
    /// what runs is named by its digest.
    pub sched: String,
    /// Arguments, appended to the image's entrypoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables of the scheduler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Labels that a node must have. Default: every node is selected.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Further requirements for nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<NodeRules>,
    /// Taints that the scheduler's pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Of several SchedExts that select a node, the one with the highest priority gets it; among
    /// equals the one that has it already, then the oldest.
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
    /// Requests and limits of the scheduler's container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// How long a task may wait before the kernel ejects the scheduler, from 1s to 30s; passed to the
    /// scheduler as SCX_TIMEOUT_MS. Default: not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog_timeout: Option<String>,
    /// Different settings for some nodes; the first pool that matches a node applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// How a change is rolled out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// What happens when a scheduler is ejected, ends, or is not attached in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

/// Requirements for nodes; pod affinity has no meaning for a scheduler of a whole machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRules {
    /// As in a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
}

/// The variants need doc comments: without them the derived schema of an optional field also accepts
/// null.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
pub enum PullPolicy {
    /// When the node does not have it.
    IfNotPresent,
    /// At every start of the container.
    Always,
    /// The image must be on the node already.
    Never,
}
