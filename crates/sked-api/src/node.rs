//! `kind: SchedExtNode`: the report of a node agent about the state of its node's kernel. Only the
//! agent writes it; the manager reads it.
//!
//! It has the node's name, is owned by the Node (and deleted with it), and has only a status. It is
//! written when something changed, so its age means nothing: whether it can be trusted follows from
//! the readiness of the agent's pod, from the boot id and from the owner's uid.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Empty: a SchedExtNode has only a status.
#[derive(
    CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema,
)]
#[kube(
    group = "sked.schedkit.io",
    version = "v1",
    kind = "SchedExtNode",
    doc = "The state of a node's kernel, reported by the node's agent.",
    shortname = "sxn",
    category = "schedkit",
    status = "SchedExtNodeStatus",
    derive = "PartialEq",
    derive = "Default",
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"Ops","type":"string","jsonPath":".status.ops"}"#,
    printcolumn = r#"{"name":"Since","type":"date","jsonPath":".status.since"}"#,
    printcolumn = r#"{"name":"Attaches","type":"integer","jsonPath":".status.enableSeq"}"#,
    printcolumn = r#"{"name":"Supported","type":"boolean","jsonPath":".status.supported"}"#,
    printcolumn = r#"{"name":"Kernel","type":"string","jsonPath":".status.kernelRelease"}"#,
    printcolumn = r#"{"name":"Boot","type":"string","priority":1,"jsonPath":".status.bootID"}"#,
    printcolumn = r#"{"name":"Rejected","type":"integer","priority":1,"jsonPath":".status.nrRejected"}"#
)]
pub struct SchedExtNodeSpec {}

/// The state that the agent read last. A value that could not be read is missing.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedExtNodeStatus {
    /// The output of `uname -r`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_release: Option<String>,
    /// Changes with each boot; the same as the Node's bootID.
    #[serde(rename = "bootID", default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Whether the kernel has sched_ext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported: Option<bool>,
    /// The state as the kernel reports it: disabled, enabling, enabled or disabling; a later kernel
    /// may have others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The kernel's name of the attached scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<String>,
    /// How often a scheduler was attached since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_seq: Option<i64>,
    /// Whether the scheduler runs all ordinary tasks, or only those that chose SCHED_EXT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_all: Option<bool>,
    /// How many tasks the scheduler rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_rejected: Option<i64>,
    /// Since when state, ops and enableSeq have had these values, by the node's clock, as far as an
    /// agent observed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<MicroTime>,
    /// What the kernel lacks without which no scheduler can be loaded (BTF, options), as far as an
    /// unprivileged pod can see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_gaps: Option<String>,
    /// Why a value is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}
