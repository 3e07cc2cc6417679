//! A signature that was found in the registry: its bytes and where it was found. Nothing about it
//! is verified yet.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use schedkit_core::Digest;
use serde::{Serialize, Serializer};

/// Where a registry stores signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureSource {
    /// A manifest that refers to the image (cosign v3): from the referrers API, or from the tag
    /// `sha256-<hex>` where a registry has none.
    Referrer,
    /// A layer under the tag `sha256-<hex>.sig` (cosign v2).
    SignatureTag,
}

/// Identifies one signature of an image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SignatureId {
    pub source: SignatureSource,
    /// The digest of the referring manifest, or of the layer.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
}

#[derive(Debug)]
pub(super) struct FoundSignature {
    pub(super) id: SignatureId,
    pub(super) material: Material,
}

/// The two formats.
#[derive(Debug)]
pub(super) enum Material {
    /// A Sigstore bundle.
    Bundle(Bytes),
    /// A payload in "simple signing" form; its layer's annotations hold signature and proof.
    SimpleSigning {
        payload: Bytes,
        annotations: BTreeMap<String, String>,
    },
}

impl fmt::Display for SignatureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            SignatureSource::Referrer => write!(f, "referrer {}", self.digest),
            SignatureSource::SignatureTag => write!(f, ".sig layer {}", self.digest),
        }
    }
}

/// Serializes a value as its `Display` text.
pub(super) fn as_text<T: fmt::Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
