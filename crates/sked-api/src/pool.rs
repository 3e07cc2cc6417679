//! A pool: different settings for some of a SchedExt's nodes. A setting that is not given is
//! inherited from the SchedExt.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::env_var::EnvVar;

/// Different settings for some nodes, in a DaemonSet of its own named `<schedext>-<pool>`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// The pool's name, unique within the SchedExt.
    pub name: String,
    /// Labels that a node of this pool must have.
    pub node_selector: BTreeMap<String, String>,
    /// The scheduler's image for this pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sched: Option<String>,
    /// The scheduler's arguments for this pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The scheduler's environment for this pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<EnvVar>>,
}
