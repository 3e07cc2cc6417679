//! An image in Podman's store, and the command that it runs. Pure.

use std::collections::BTreeMap;

use schedkit_core::sanitize::brief;
use schedkit_core::{Digest, PinnedRef};
use schedkit_image::registry::Platform;
use serde::Deserialize;

use crate::driver::{DriverError, ImageInStore};
use crate::record;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct StoredImage {
    pub(super) id: String,
    #[serde(default)]
    repo_digests: Option<Vec<String>>,
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
    #[serde(default)]
    config: Option<ImageConfig>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    /// Of the manifest.
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageConfig {
    #[serde(default)]
    entrypoint: Option<Vec<String>>,
    #[serde(default)]
    cmd: Option<Vec<String>>,
}

/// Parses the response to `images/NAME/json`.
pub(super) fn parse(text: &str) -> Result<StoredImage, serde_json::Error> {
    serde_json::from_str(text)
}

impl StoredImage {
    /// Whether this is the digest of the index or of the image.
    pub(super) fn has_digest(&self, digest: &Digest) -> bool {
        let digest = digest.to_string();
        let digests = self.repo_digests.as_deref().unwrap_or_default();
        let mut digests = digests.iter().filter_map(|name| name.split_once('@'));
        digests.any(|(_, one)| one == digest)
    }

    pub(super) fn description(&self) -> ImageInStore {
        ImageInStore::new(self.labels.iter().chain(&self.annotations))
    }

    /// Its labels that only schedctl may set. Podman would give them to the container.
    pub(super) fn reserved_labels(&self) -> impl Iterator<Item = &str> {
        let keys = self.labels.iter().flat_map(BTreeMap::keys);
        keys.map(String::as_str)
            .filter(|key| record::is_reserved(key))
    }

    /// Fails when the image is for another machine.
    pub(super) fn check_machine(&self, image: &PinnedRef) -> Result<(), DriverError> {
        let machine = Platform::this_machine();
        if self.os == machine.os && self.architecture == machine.architecture {
            return Ok(());
        }
        Err(DriverError::Architecture {
            image: image.to_string(),
            made_for: brief(&format!("{}/{}", self.os, self.architecture)),
            machine: machine.to_string(),
        })
    }

    /// The entrypoint and the arguments, or the image's default arguments when there are none. Without
    /// an entrypoint the image's command takes its place.
    pub(super) fn command(
        &self,
        image: &PinnedRef,
        args: &[String],
    ) -> Result<Vec<String>, DriverError> {
        let config = self.config.as_ref();
        let entrypoint = config.and_then(|config| config.entrypoint.as_deref());
        let cmd = config.and_then(|config| config.cmd.as_deref());
        let (entrypoint, cmd) = (without_blank(entrypoint), without_blank(cmd));
        let command = match (entrypoint, args) {
            ([], _) => [cmd, args].concat(),
            (_, []) => [entrypoint, cmd].concat(),
            (_, _) => [entrypoint, args].concat(),
        };
        if entrypoint.is_empty() && cmd.is_empty() {
            let image = image.to_string();
            return Err(DriverError::NoEntrypoint { image });
        }
        Ok(command)
    }
}

/// Some builders write `[""]` for an empty list.
fn without_blank(list: Option<&[String]>) -> &[String] {
    match list.unwrap_or_default() {
        [only] if only.is_empty() => &[],
        list => list,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: [&str; 2] = [
        include_str!("../../tests/fixtures/podman-4.3/image.json"),
        include_str!("../../tests/fixtures/podman-5.4/image.json"),
    ];
    const INDEX: &str = "sha256:995e0121810e8ba2e3589a88e09e049076946f6f8334eb546cd01a0c17db96db";
    const CHILD: &str = "sha256:32a6c56cc24d47822498b2e19e352775ccceddffc1244445d42d119a6e304f7d";

    fn pinned(digest: &str) -> PinnedRef {
        PinnedRef::new("a.b/c".parse().unwrap(), digest.parse().unwrap())
    }

    #[test]
    fn the_digests_of_index_and_image_match() {
        for text in RECORDED {
            let image = parse(text).unwrap();
            for (digest, found) in [
                (INDEX.to_owned(), true),
                (CHILD.to_owned(), true),
                (format!("sha256:{}", image.id), false),
                (format!("sha256:{:064}", 0), false),
            ] {
                assert_eq!(
                    image.has_digest(&digest.parse().unwrap()),
                    found,
                    "{digest}"
                );
            }
            let command = image.command(&pinned(INDEX), &[]).unwrap();
            assert_eq!(command, ["/prog", "7"]);
        }
    }

    #[test]
    fn an_image_for_another_machine_is_refused() {
        let mut image = parse(RECORDED[0]).unwrap();
        image.architecture = Platform::this_machine().architecture;
        image.check_machine(&pinned(INDEX)).unwrap();
        image.architecture = "vax\u{1b}".to_owned();
        let machine = Platform::this_machine();
        let error = image.check_machine(&pinned(INDEX)).unwrap_err();
        let expected =
            format!("a.b/c@{INDEX} was made for linux/vax�, and this machine is {machine}");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_command_is_entrypoint_and_arguments() {
        for (config, args, command) in [
            (r#"{"Entrypoint":["/a"],"Cmd":["b"]}"#, "", "/a b"),
            (
                r#"{"Entrypoint":["/a","x"],"Cmd":["b"]}"#,
                "c d",
                "/a x c d",
            ),
            (r#"{"Entrypoint":["/a"],"Cmd":null}"#, "", "/a"),
            (r#"{"Cmd":["/b"]}"#, "", "/b"),
            (r#"{"Entrypoint":[""],"Cmd":["/b","x"]}"#, "c", "/b x c"),
            (r#"{"Entrypoint":[],"Cmd":[]}"#, "c", "-"),
            (r#"{"Entrypoint":[""],"Cmd":[""]}"#, "", "-"),
            ("null", "c", "-"),
        ] {
            let image = parse(&format!(r#"{{"Id":"1","Config":{config}}}"#)).unwrap();
            let args = args.split_whitespace().map(str::to_owned);
            let found = image.command(&pinned(INDEX), &args.collect::<Vec<_>>());
            let found = found.map(|args| args.join(" "));
            match found {
                Ok(found) => assert_eq!(found, command, "{config}"),
                Err(DriverError::NoEntrypoint { .. }) => assert_eq!(command, "-", "{config}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn an_image_without_digests_matches_none() {
        let image = parse(r#"{"Id":"1","RepoDigests":null}"#).unwrap();
        assert!(!image.has_digest(&INDEX.parse().unwrap()));
        assert!(parse("[]").is_err());
    }
}
