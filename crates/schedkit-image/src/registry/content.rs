//! Manifests and indexes of the image specification (and Docker's older names for the same), as
//! much of them as we use. A parser of hostile bytes: total, bounded, no guess.

use std::collections::BTreeMap;

use schedkit_core::Digest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// More than any real image has; a longer list is somebody playing with us.
const MOST_DESCRIPTORS: usize = 1000;

/// Points at content by digest and size.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What the content is said to be.
    #[serde(default)]
    pub media_type: String,
    /// What the content is.
    #[serde(deserialize_with = "digest")]
    pub digest: Digest,
    /// How many bytes.
    pub size: u64,
    /// Said by whoever made the referrer; unreliable (see `docs/trust.md`).
    #[serde(default)]
    pub artifact_type: Option<String>,
    /// Free words, such as a signature in an older format.
    #[serde(default, deserialize_with = "or_nothing")]
    pub annotations: BTreeMap<String, String>,
    /// In an index: which machine it is for.
    #[serde(default)]
    pub platform: Option<Platform>,
}

/// A kind of machine, in Go's words (`linux`, `amd64`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Platform {
    /// `linux`.
    pub os: String,
    /// `amd64`, `arm64`.
    pub architecture: String,
    /// `v8`.
    #[serde(default)]
    pub variant: Option<String>,
}

/// One image, or one signature that is stored like one.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    /// The configuration.
    pub config: Descriptor,
    /// The layers, the lowest first.
    #[serde(default, deserialize_with = "or_nothing")]
    pub layers: Vec<Descriptor>,
    /// What this manifest says it belongs to.
    #[serde(default)]
    pub subject: Option<Descriptor>,
    /// Free words.
    #[serde(default, deserialize_with = "or_nothing")]
    pub annotations: BTreeMap<String, String>,
}

/// One image for several kinds of machine.
#[derive(Debug, Clone, Deserialize)]
pub struct Index {
    /// One manifest a platform.
    #[serde(deserialize_with = "or_nothing")]
    pub manifests: Vec<Descriptor>,
    /// Free words.
    #[serde(default, deserialize_with = "or_nothing")]
    pub annotations: BTreeMap<String, String>,
}

/// A document that is either.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "one of them lives at a time, and not for long"
)]
pub enum Content {
    /// For one kind of machine.
    Manifest(Manifest),
    /// For several.
    Index(Index),
}

/// Why bytes are neither manifest nor index.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// Not JSON, or without what every such document has.
    #[error("not an image manifest: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It could be read both ways, and two readers would see two images.
    #[error("both a manifest and an index")]
    Ambiguous,
    /// It says one thing and is another.
    #[error("says it is {said:?} and is not")]
    Mislabelled {
        /// Its own `mediaType`.
        said: String,
    },
    /// A list without an end.
    #[error("lists more than {MOST_DESCRIPTORS} parts")]
    TooMany,
}

/// What decides between the two kinds, before either is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outline {
    #[serde(default)]
    media_type: Option<String>,
    manifests: Option<serde::de::IgnoredAny>,
    config: Option<serde::de::IgnoredAny>,
    layers: Option<serde::de::IgnoredAny>,
}

impl Content {
    /// Reads a document. The bytes decide what it is, never a header of the registry; a document
    /// that could be read both ways is refused (two readers would see two different images).
    ///
    /// # Errors
    /// When the bytes are neither, both, or too much.
    pub fn parse(bytes: &[u8]) -> Result<Self, ContentError> {
        let outline: Outline = serde_json::from_slice(bytes)?;
        let is_index = outline.manifests.is_some();
        if is_index && (outline.config.is_some() || outline.layers.is_some()) {
            return Err(ContentError::Ambiguous);
        }
        if let Some(said) = outline.media_type {
            let says_index = said.ends_with("image.index.v1+json")
                || said.ends_with("distribution.manifest.list.v2+json");
            if says_index != is_index {
                let said = crate::foreign::brief(&said);
                return Err(ContentError::Mislabelled { said });
            }
        }
        let content = if is_index {
            Self::Index(serde_json::from_slice(bytes)?)
        } else {
            Self::Manifest(serde_json::from_slice(bytes)?)
        };
        let parts = match &content {
            Self::Index(index) => index.manifests.len(),
            Self::Manifest(manifest) => manifest.layers.len(),
        };
        if parts > MOST_DESCRIPTORS {
            return Err(ContentError::TooMany);
        }
        Ok(content)
    }
}

fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// Go writes an empty list or map as `null`.
fn or_nothing<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn parse(text: &str) -> Result<Content, ContentError> {
        Content::parse(text.replace("DIGEST", DIGEST).as_bytes())
    }

    #[test]
    fn the_two_kinds_are_told_apart_by_what_they_are() {
        let manifest = r#"{"config": {"digest": "DIGEST", "size": 2}, "layers": null}"#;
        assert!(matches!(parse(manifest), Ok(Content::Manifest(_))));
        let index = r#"{"mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [{"digest": "DIGEST", "size": 2, "platform": {"os": "linux", "architecture": "amd64"}}]}"#;
        let Ok(Content::Index(index)) = parse(index) else {
            panic!("an index");
        };
        assert_eq!(
            index.manifests[0].platform.as_ref().unwrap().architecture,
            "amd64"
        );
    }

    #[test]
    fn what_could_be_read_both_ways_is_refused() {
        let both = r#"{"config": {"digest": "DIGEST", "size": 2}, "manifests": []}"#;
        assert!(matches!(parse(both), Err(ContentError::Ambiguous)));
        let lies =
            r#"{"mediaType": "application/vnd.oci.image.manifest.v1+json", "manifests": []}"#;
        assert!(matches!(parse(lies), Err(ContentError::Mislabelled { .. })));
        let short = r#"{"config": {"digest": "sha256:00", "size": 2}}"#;
        assert!(matches!(parse(short), Err(ContentError::Malformed(_))));
        let one = format!(r#"{{"digest": "{DIGEST}", "size": 2}}"#);
        let many = format!(r#"{{"manifests": [{}]}}"#, vec![one; 1001].join(","));
        assert!(matches!(parse(&many), Err(ContentError::TooMany)));
    }
}
