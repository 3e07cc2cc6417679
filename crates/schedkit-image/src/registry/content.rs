//! Parses manifests and indexes of the image specification, and Docker's older media types for the
//! same; only the fields that we use. The bytes are hostile: no input panics, lists are limited,
//! and an ambiguous document is refused.

use std::collections::BTreeMap;

use schedkit_core::Digest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

const MAX_DESCRIPTORS: usize = 1000;

/// Points at content by digest and size.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    #[serde(deserialize_with = "digest")]
    pub digest: Digest,
    /// In bytes.
    pub size: u64,
    /// Written by whoever made the referrer; unreliable (see `docs/trust.md`).
    #[serde(default)]
    pub artifact_type: Option<String>,
    /// In a `.sig` layer they hold the signature.
    #[serde(default, deserialize_with = "null_as_default")]
    pub annotations: BTreeMap<String, String>,
    /// Set in an index.
    #[serde(default)]
    pub platform: Option<Platform>,
}

/// A platform, with Go's names for it (`linux`, `amd64`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
    /// `v8`, with `arm64`.
    #[serde(default)]
    pub variant: Option<String>,
}

/// One image, or one signature that is stored like one.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    pub config: Descriptor,
    /// The lowest first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub layers: Vec<Descriptor>,
    /// The manifest that this one refers to.
    #[serde(default)]
    pub subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub annotations: BTreeMap<String, String>,
}

/// One image for several platforms.
#[derive(Debug, Clone, Deserialize)]
pub struct Index {
    #[serde(deserialize_with = "null_as_default")]
    pub manifests: Vec<Descriptor>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub annotations: BTreeMap<String, String>,
}

/// A parsed document.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "only one exists at a time, and it is dropped soon"
)]
pub enum Content {
    Manifest(Manifest),
    Index(Index),
}

/// Why bytes are neither manifest nor index.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("not an image manifest: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Two readers could see two different images in it.
    #[error("both a manifest and an index")]
    Ambiguous,
    #[error("has the media type {media_type:?} and other content")]
    Mislabelled { media_type: String },
    #[error("lists more than {MAX_DESCRIPTORS} parts")]
    TooMany,
}

/// The fields that tell a manifest from an index.
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
    /// Parses a document. The bytes decide what it is, never a header of the registry.
    ///
    /// # Errors
    /// When the bytes are neither a manifest nor an index, or both, or list too much.
    pub fn parse(bytes: &[u8]) -> Result<Self, ContentError> {
        let content = if is_index(bytes)? {
            Self::Index(serde_json::from_slice(bytes)?)
        } else {
            Self::Manifest(serde_json::from_slice(bytes)?)
        };
        let parts = match &content {
            Self::Index(index) => index.manifests.len(),
            Self::Manifest(manifest) => manifest.layers.len(),
        };
        if parts > MAX_DESCRIPTORS {
            return Err(ContentError::TooMany);
        }
        Ok(content)
    }
}

/// Whether a document is an index; otherwise it is a manifest.
pub(super) fn is_index(bytes: &[u8]) -> Result<bool, ContentError> {
    let outline: Outline = serde_json::from_slice(bytes)?;
    let is_index = outline.manifests.is_some();
    if is_index && (outline.config.is_some() || outline.layers.is_some()) {
        return Err(ContentError::Ambiguous);
    }
    if let Some(media_type) = outline.media_type {
        let is_index_type = media_type.ends_with("image.index.v1+json")
            || media_type.ends_with("distribution.manifest.list.v2+json");
        if is_index_type != is_index {
            let media_type = crate::untrusted::brief(&media_type);
            return Err(ContentError::Mislabelled { media_type });
        }
    }
    Ok(is_index)
}

pub(super) fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// Go writes an empty list or map as `null`.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
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
    fn manifests_and_indexes_are_told_apart_by_their_fields() {
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
    fn ambiguous_documents_are_refused() {
        let both = r#"{"config": {"digest": "DIGEST", "size": 2}, "manifests": []}"#;
        assert!(matches!(parse(both), Err(ContentError::Ambiguous)));
        let mislabelled =
            r#"{"mediaType": "application/vnd.oci.image.manifest.v1+json", "manifests": []}"#;
        assert!(matches!(
            parse(mislabelled),
            Err(ContentError::Mislabelled { .. })
        ));
        let short = r#"{"config": {"digest": "sha256:00", "size": 2}}"#;
        assert!(matches!(parse(short), Err(ContentError::Malformed(_))));
        let one = format!(r#"{{"digest": "{DIGEST}", "size": 2}}"#);
        let many = format!(r#"{{"manifests": [{}]}}"#, vec![one; 1001].join(","));
        assert!(matches!(parse(&many), Err(ContentError::TooMany)));
    }
}
