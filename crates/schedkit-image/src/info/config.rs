//! The configuration blob of an image; only the fields that describe the image.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Any field may be missing or `null`: builders differ.
#[derive(Debug, Default, Deserialize)]
struct Blob {
    created: Option<String>,
    architecture: Option<String>,
    os: Option<String>,
    config: Option<Runtime>,
}

#[derive(Debug, Default, Deserialize)]
struct Runtime {
    #[serde(rename = "Labels")]
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug)]
pub(super) struct Config {
    pub(super) created: Option<String>,
    pub(super) architecture: Option<String>,
    pub(super) os: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
}

impl Config {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let blob: Blob = serde_json::from_slice(bytes)?;
        let labels = blob.config.unwrap_or_default().labels.unwrap_or_default();
        Ok(Self {
            created: blob.created,
            architecture: blob.architecture,
            os: blob.os,
            labels,
        })
    }
}
