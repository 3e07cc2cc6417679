//! `kind: SchedExtNode`: what one node's kernel says. The node's agent writes it, and nobody else;
//! the manager only reads it.
//!
//! It has the node's name, is owned by the Node (with which it goes) and asks for nothing: all of
//! it is status. It is written when something changed, so a report says nothing about its own age:
//! whether it can still be believed is told by the agent's pod (ready or not), by the boot id and
//! by the owner's uid.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nothing is asked of a node.
#[derive(
    CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema,
)]
#[kube(
    group = "sked.schedkit.io",
    version = "v1",
    kind = "SchedExtNode",
    doc = "What one node's kernel says about its scheduler.",
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

/// What the kernel said when the agent looked last. What could not be read is absent.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedExtNodeStatus {
    /// What `uname -r` prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_release: Option<String>,
    /// Another one after each start of the machine: the same as the Node's bootID.
    #[serde(rename = "bootID", default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Whether the kernel has sched_ext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported: Option<bool>,
    /// The kernel's own word: disabled, enabling, enabled or disabling; a later kernel may have
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The name of the scheduler that is attached, as the kernel has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<String>,
    /// How often a scheduler was attached since the machine started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_seq: Option<i64>,
    /// Whether all ordinary tasks are scheduled by it, or only those that ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_all: Option<bool>,
    /// Tasks that were refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_rejected: Option<i64>,
    /// Since when state, ops and enableSeq have been so, by the node's clock, as far as an agent saw
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<MicroTime>,
    /// Why something is absent, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}
