//! The configuration of an image: platform, layers and process. Its bytes are untrusted.

use std::collections::BTreeMap;

use schedkit_core::Digest;
use schedkit_image::registry::Platform;
use serde::{Deserialize, Deserializer};

use crate::stop_signal::StopSignal;

/// Every field may be missing or `null`, depending on the builder.
#[derive(Debug, Default, Deserialize)]
struct Blob {
    architecture: Option<String>,
    os: Option<String>,
    config: Option<Process>,
    rootfs: Option<Layers>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Process {
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    env: Option<Vec<String>>,
    working_dir: Option<String>,
    stop_signal: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
struct Layers {
    #[serde(default, deserialize_with = "digests")]
    diff_ids: Vec<Digest>,
}

/// The user of the image is ignored: a scheduler runs as root.
#[derive(Debug)]
pub(super) struct ImageConfig {
    architecture: String,
    os: String,
    entrypoint: Vec<String>,
    cmd: Vec<String>,
    env: Vec<String>,
    working_dir: Option<String>,
    stop_signal: Option<String>,
    labels: BTreeMap<String, String>,
    diff_ids: Vec<Digest>,
}

impl ImageConfig {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let blob: Blob = serde_json::from_slice(bytes)?;
        let process = blob.config.unwrap_or_default();
        Ok(Self {
            architecture: blob.architecture.unwrap_or_default(),
            os: blob.os.unwrap_or_default(),
            entrypoint: process.entrypoint.unwrap_or_default(),
            cmd: process.cmd.unwrap_or_default(),
            env: process.env.unwrap_or_default(),
            working_dir: process.working_dir,
            stop_signal: process.stop_signal,
            labels: process.labels.unwrap_or_default(),
            diff_ids: blob.rootfs.unwrap_or_default().diff_ids,
        })
    }

    pub(super) fn is_for(&self, machine: &Platform) -> bool {
        self.os == machine.os && self.architecture == machine.architecture
    }

    pub(super) fn machine(&self) -> String {
        format!("{}/{}", self.os, self.architecture)
    }

    pub(super) fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// The digests of the uncompressed layers.
    pub(super) fn diff_ids(&self) -> &[Digest] {
        &self.diff_ids
    }

    /// The argv: the user's arguments replace the image's default ones. `None` when the image has
    /// neither an entrypoint nor a command.
    pub(super) fn command(&self, args: &[String]) -> Option<Vec<String>> {
        let argv = match (self.entrypoint.is_empty(), args.is_empty()) {
            (false, false) => [&self.entrypoint, args].concat(),
            (false, true) => [&self.entrypoint[..], &self.cmd].concat(),
            (true, _) if self.cmd.is_empty() => return None,
            (true, _) => [&self.cmd, args].concat(),
        };
        Some(argv)
    }

    /// With a default `PATH` when the image has none.
    pub(super) fn env(&self) -> Vec<String> {
        let mut env = self.env.clone();
        if !env.iter().any(|pair| pair.starts_with("PATH=")) {
            let default = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
            env.push(default.to_owned());
        }
        env
    }

    pub(super) fn stop_signal(&self) -> StopSignal {
        let name = self.stop_signal.as_deref();
        name.map_or_else(StopSignal::default, StopSignal::parse)
    }

    /// `/` when the image has none or a relative one.
    pub(super) fn working_dir(&self) -> &str {
        let dir = self.working_dir.as_deref();
        dir.filter(|dir| dir.starts_with('/')).unwrap_or("/")
    }
}

fn digests<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Digest>, D::Error> {
    let texts = Option::<Vec<String>>::deserialize(deserializer)?;
    let texts = texts.unwrap_or_default();
    let parsed = texts.iter().map(|text| text.parse());
    parsed
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(process: &serde_json::Value) -> ImageConfig {
        ImageConfig::parse(json!({"config": process}).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_users_arguments_replace_the_default_ones() {
        let args = ["--a b".to_owned(), "c\nd".to_owned()];
        let argv = |process: &serde_json::Value, args: &[String]| config(process).command(args);
        let both = json!({"Entrypoint": ["/x"], "Cmd": ["y"]});
        assert_eq!(argv(&both, &[]).unwrap(), ["/x", "y"]);
        assert_eq!(argv(&both, &args).unwrap(), ["/x", "--a b", "c\nd"]);
        let cmd = json!({"Entrypoint": null, "Cmd": ["/x", "y"]});
        assert_eq!(argv(&cmd, &[]).unwrap(), ["/x", "y"]);
        assert_eq!(argv(&cmd, &args).unwrap(), ["/x", "y", "--a b", "c\nd"]);
        assert_eq!(argv(&json!({"Cmd": []}), &args), None);
        assert_eq!(argv(&json!(null), &args), None);
    }

    #[test]
    fn absent_fields_have_default_values() {
        let bare = config(&json!({}));
        assert_eq!(bare.working_dir(), "/");
        assert_eq!(bare.env().len(), 1);
        assert_eq!(bare.stop_signal().number(), 15);
        let own = config(&json!({"Env": ["PATH=/x", "A=b"], "WorkingDir": "/w"}));
        assert_eq!(own.env(), ["PATH=/x", "A=b"]);
        assert_eq!(own.working_dir(), "/w");
        assert_eq!(config(&json!({"WorkingDir": "w"})).working_dir(), "/");
        let bad = json!({"rootfs": {"diff_ids": ["md5:1"]}}).to_string();
        assert!(ImageConfig::parse(bad.as_bytes()).is_err());
        assert!(ImageConfig::parse(br#"{"rootfs": {"diff_ids": null}}"#).is_ok());
    }
}
