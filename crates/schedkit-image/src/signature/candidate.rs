//! Something that may be a signature: its bytes, and where it was found. Nothing is believed yet.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use schedkit_core::Digest;
use serde::Serialize;

/// Where signatures are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A manifest that refers to the image (cosign v3): by the referrers API, or by the tag
    /// `sha256-<hex>` where a registry has none.
    Referrer,
    /// A layer under the tag `sha256-<hex>.sig` (cosign v2).
    SignatureTag,
}

/// Which candidate is spoken of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CandidateName {
    /// Where it was found.
    pub source: Source,
    /// The digest of the referring manifest, or of the layer.
    #[serde(serialize_with = "super::verdict::as_text")]
    pub digest: Digest,
}

/// A candidate with its bytes.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) name: CandidateName,
    pub(super) material: Material,
}

/// The two formats.
#[derive(Debug)]
pub(super) enum Material {
    /// A Sigstore bundle.
    Bundle(Bytes),
    /// A payload in "simple signing" form; signature and proof stand in its layer's annotations.
    Simple {
        payload: Bytes,
        annotations: BTreeMap<String, String>,
    },
}

impl fmt::Display for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Referrer => write!(f, "referrer {}", self.digest),
            Source::SignatureTag => write!(f, ".sig layer {}", self.digest),
        }
    }
}
