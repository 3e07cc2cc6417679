//! Environment variables of schedulers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An environment variable.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// Name of the variable.
    pub name: String,
    /// Value of the variable.
    #[serde(default)]
    pub value: String,
}
