//! What sked says about a SchedExt: only what was observed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known about a SchedExt.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedExtStatus {
    /// The generation of the spec that all of this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// A hash of what was asked to run: image, arguments, environment, pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Nodes by what became of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// The name that the kernel has for the scheduler of all nodes that are in no pool, as the first of
    /// them told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<String>,
    /// The pods that ops was learned from, by their template: another template may be another
    /// scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_template: Option<String>,
    /// Each pool's share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolStatus>,
    /// The first ten nodes with a problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_problems: Option<i32>,
    /// Ready, Progressing, Degraded, Conflicted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Nodes by what became of them. What nobody can know yet is absent.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Nodes that should run it.
    pub desired: i32,
    /// Nodes whose kernel says that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<i32>,
    /// Nodes whose kernel threw it out, and which do not run it again yet.
    #[serde(default)]
    pub ejected: i32,
    /// Nodes that should run it and of whose kernel nothing is known.
    #[serde(default)]
    pub unknown: i32,
    /// Nodes that it asks for and another SchedExt has.
    pub conflicted: i32,
    /// Nodes that it asks for and that run a scheduler which sked did not start.
    #[serde(default)]
    pub foreign: i32,
    /// Nodes that it asks for and whose kernel has no sched_ext.
    #[serde(default)]
    pub unsupported: i32,
}

/// A pool's share.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// The pool.
    pub name: String,
    /// Nodes that should run it.
    pub desired: i32,
    /// Nodes whose kernel says that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<i32>,
    /// The name that the kernel has for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<String>,
    /// The pods that ops was learned from, by their template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_template: Option<String>,
}

/// What is wrong on a node.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The node; empty when no node is to blame.
    pub node: String,
    /// In a word; of a scheduler that ended the kind of its end, as in Stall or LoadFailedVerifier.
    pub reason: String,
    /// In a sentence, with what to do.
    pub message: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}
