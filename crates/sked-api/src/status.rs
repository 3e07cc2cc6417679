//! The status of a SchedExt: only observed facts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rollout_status::{GoodRevision, QuarantinedNode, RejectedRevision, RolloutStatus};
use crate::verification::{Accepted, VerificationState};

/// The observed state of a SchedExt.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedExtStatus {
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// A hash of what runs: image, arguments, environment, pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether the images that the spec asks for are verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationState>,
    /// The image that runs on nodes that are in no pool, by its digest. Only of verified images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_image: Option<String>,
    /// The last spec whose images were all accepted; what runs is made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
    /// Numbers of nodes by state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// The kernel's name of the scheduler on nodes that are in no pool, as a node that attached it
    /// reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<String>,
    /// The hash of the pod template whose name ops is for certain: at least two nodes agree. Another
    /// template may be another scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_template: Option<String>,
    /// The roll-out of the revision that the spec asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutStatus>,
    /// The revision that every node ran last; the nodes go back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // Boxed, as the two below: managers keep thousands of statuses, and many have none of them yet.
    pub last_good: Option<Box<GoodRevision>>,
    /// The one before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_good: Option<Box<GoodRevision>>,
    /// The revision that failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<RejectedRevision>>,
    /// Nodes that do not run the scheduler any more, because it failed there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantined: Vec<QuarantinedNode>,
    /// The request that was carried out last, or why it could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled_request: Option<String>,
    /// The state of each pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolStatus>,
    /// The first ten problems, the most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// How many more problems there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_problems: Option<i32>,
    /// Ready, Progressing, Degraded and Conflicted; Verified, if the manager has a trust policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Numbers of nodes by state.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Nodes that should run the scheduler.
    pub desired: i32,
    /// Nodes whose kernel runs the scheduler; missing while all kernels are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<i32>,
    /// Nodes whose kernel ejected the scheduler and does not run it again yet.
    #[serde(default)]
    pub ejected: i32,
    /// Nodes that should run the scheduler and whose kernel state is unknown.
    #[serde(default)]
    pub unknown: i32,
    /// Selected nodes that another SchedExt owns.
    pub conflicted: i32,
    /// Selected nodes that run a scheduler which sked did not start.
    #[serde(default)]
    pub foreign: i32,
    /// Selected nodes whose kernel has no sched_ext.
    #[serde(default)]
    pub unsupported: i32,
    /// Nodes that do not run the scheduler any more, because it failed there.
    #[serde(default)]
    pub quarantined: i32,
}

/// The state of a pool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// The pool's name.
    pub name: String,
    /// Nodes that should run the scheduler.
    pub desired: i32,
    /// Nodes whose kernel runs the scheduler; missing while all kernels are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<i32>,
    /// The kernel's name of the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<String>,
    /// The hash of the pod template whose name ops is for certain: at least two nodes agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_template: Option<String>,
}

/// A problem, usually of one node.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The node; empty if the problem concerns no single node.
    pub node: String,
    /// The reason; for a scheduler that ended the kind of exit, such as Stall or LoadFailedVerifier.
    pub reason: String,
    /// What happened and what to do.
    pub message: String,
    /// Since when the problem has existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}
