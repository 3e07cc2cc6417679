//! The programs that sign and verify.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// The lab's own Sigstore (`lab/sigstore`).
    pub sigstore: PathBuf,
    pub cosign: Option<CosignPrograms>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CosignPrograms {
    pub v2: PathBuf,
    pub v3: PathBuf,
}

/// A major version of cosign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// Writes [`Form::SigTag`] by default.
    V2,
    /// Writes [`Form::Bundle`] by default.
    V3,
}

/// How a signature is attached to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Under the tag `sha256-….sig`.
    SigTag,
    /// As a bundle that refers to the image.
    Bundle,
}

impl CosignPrograms {
    pub fn of(&self, edition: Edition) -> &PathBuf {
        match edition {
            Edition::V2 => &self.v2,
            Edition::V3 => &self.v3,
        }
    }
}
