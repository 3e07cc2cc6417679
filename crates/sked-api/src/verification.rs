//! What the status of a SchedExt records of the verification of its images.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rollout_status::any_object;

/// Whether the images that the spec asks for are verified.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
pub enum VerificationState {
    /// The manager has no trust policy: any image runs.
    #[serde(rename = "not verified")]
    Off,
    /// Every image is signed by someone whom the policy trusts.
    #[serde(rename = "verified")]
    Verified,
    /// An image is not signed by anyone whom the policy trusts, and is not rolled out.
    #[serde(rename = "refused")]
    Refused,
    /// An image that runs would be refused by the policy as it is now.
    #[serde(rename = "policy violated")]
    Violated,
    /// Nobody can tell at the moment.
    #[serde(rename = "unknown")]
    Unknown,
}

/// The last spec whose images were all accepted. While those of a newer spec are not, this one runs.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The fields of the spec that make the revision, as they were asked for.
    #[schemars(schema_with = "any_object")]
    pub spec: Map<String, Value>,
    /// Its images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<AcceptedImage>,
}

/// An image whose signature was accepted.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedImage {
    /// As the spec names it.
    pub image: String,
    /// What runs, by its digest.
    pub resolved: String,
    /// Who signed it.
    pub signer: String,
    /// The fingerprint of the policy that accepted it.
    pub policy: String,
    /// When it was verified.
    pub verified_at: Time,
}
