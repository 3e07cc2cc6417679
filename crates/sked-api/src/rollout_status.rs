//! What the status of a SchedExt records of roll-outs. The manager decides by it, and remembers
//! nothing else: after a restart it goes on where the record is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rollout::is_false;

/// The roll-out of the revision that the spec asks for.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutStatus {
    /// The revision that is or was rolled out.
    pub revision: String,
    /// A hash of the nodes that it selects.
    pub selection: String,
    /// How far it is.
    pub phase: RolloutPhase,
    /// Since when it has been in this phase.
    pub since: Time,
    /// The nodes that run the new revision first, for each part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canaries: Vec<CanaryStatus>,
    /// Nodes on which the scheduler ended, and when, within the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<NodeFailures>,
}

impl RolloutStatus {
    /// The nodes of all canaries.
    pub fn canary_nodes(&self) -> impl Iterator<Item = &str> {
        let nodes = self.canaries.iter().flat_map(|one| &one.nodes);
        nodes.map(String::as_str)
    }
}

/// How far a roll-out is. The variants need doc comments, as those of [`crate::PullPolicy`].
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum RolloutPhase {
    /// Only the canary's nodes run the new revision.
    Canary,
    /// The nodes get the new revision.
    Rolling,
    /// Every node has it.
    Complete,
    /// It failed, and the nodes have or get the last good revision, or no scheduler if there is none.
    RolledBack,
    /// It failed, and there is nothing to go back to, or nobody wants it: no further node gets it.
    Failed,
}

impl RolloutPhase {
    pub const ALL: [Self; 5] = [
        Self::Canary,
        Self::Rolling,
        Self::Complete,
        Self::RolledBack,
        Self::Failed,
    ];

    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Canary => "Canary",
            Self::Rolling => "Rolling",
            Self::Complete => "Complete",
            Self::RolledBack => "RolledBack",
            Self::Failed => "Failed",
        }
    }
}

/// The canary of the base or of one pool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryStatus {
    /// The pool; missing for the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// How many nodes it should have.
    pub wanted: i32,
    /// Its nodes: chosen once, and replaced only when a node goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// The ends of a scheduler on one node.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeFailures {
    /// The node.
    pub node: String,
    /// The latest ones, the oldest first.
    pub ends: Vec<SchedulerEnd>,
}

/// One end of a scheduler.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerEnd {
    /// When it ended, by the node's clock.
    pub at: Time,
    /// When the manager saw it.
    pub seen: Time,
}

/// A revision that ran on every node that it selected, kept whole, so that the nodes can go back
/// to it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoodRevision {
    /// The revision.
    pub revision: String,
    /// A hash of the nodes that it selects.
    pub selection: String,
    /// Since when every node has had it.
    pub since: Time,
    /// Whether the manager had verified its images, and names them by digest.
    #[serde(default, skip_serializing_if = "is_false")]
    pub verified: bool,
    /// The fingerprint of the trust policy that accepted its images last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The fields of the spec that make the revision.
    #[schemars(schema_with = "any_object")]
    pub spec: Map<String, Value>,
}

/// A revision that failed. It is not tried again unless somebody asks for it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedRevision {
    /// The revision.
    pub revision: String,
    /// A hash of the nodes that it selects.
    pub selection: String,
    /// The reason; for a scheduler that ended the kind of exit, such as Stall.
    pub reason: String,
    /// The node on which it failed; empty if somebody aborted the roll-out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// What happened.
    pub message: String,
    /// When it failed.
    pub time: Time,
}

/// A node that does not run the SchedExt's scheduler any more, because this revision failed there.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarantinedNode {
    /// The node.
    pub node: String,
    /// The revision that failed there.
    pub revision: String,
    /// The reason; for a scheduler that ended the kind of exit, such as Stall.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// Since when.
    pub since: Time,
}

pub(crate) fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "The fields of the spec that make the revision.",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    })
}
