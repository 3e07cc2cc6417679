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
    #[serde(rename = "Entrypoint")]
    entrypoint: Option<Vec<String>>,
    #[serde(rename = "Cmd")]
    cmd: Option<Vec<String>>,
}

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) created: Option<String>,
    pub(crate) architecture: Option<String>,
    pub(crate) os: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) has_entrypoint: bool,
}

impl Config {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let blob: Blob = serde_json::from_slice(bytes)?;
        let Runtime {
            labels,
            entrypoint,
            cmd,
        } = blob.config.unwrap_or_default();
        let names_program = |command: Option<Vec<String>>| {
            let mut command = command.into_iter().flatten();
            command.any(|one| !one.is_empty())
        };
        Ok(Self {
            created: blob.created,
            architecture: blob.architecture,
            os: blob.os,
            labels: labels.unwrap_or_default(),
            has_entrypoint: names_program(entrypoint) || names_program(cmd),
        })
    }
}
