//! A pool: other settings for some of a SchedExt's nodes. What is absent is inherited.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedext::EnvVar;

/// Other settings for some nodes, as a DaemonSet of its own named `<schedext>-<pool>`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// Its name within the SchedExt.
    pub name: String,
    /// Labels that a node of this pool must have.
    pub node_selector: BTreeMap<String, String>,
    /// Another image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sched: Option<String>,
    /// Other arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Another environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<EnvVar>>,
}
