//! Signing and verifying with the programs that users have, and with a Sigstore of our own whose
//! signatures can be wrong in one way at a time.
//!
//! ```text
//!   Cosign ── cosign 3, cosign 2 ──▶ sign and verify what is in a registry, by key or keyless
//!   Sigstore ─┬─▶ Authority ─▶ Material: good and flawed bundles and signatures
//!             └─▶ KeyPair, signatures by key, what Go makes of a regexp
//! ```
//!
//! For end-to-end tests: bring a lab up with [`LabSpec::signing`](crate::LabSpec) and take its
//! `Lab::sigstore` or `Lab::cosign`. Nothing here decides whether a signature is good; cosign does.

pub mod authority;
pub mod cosign;
pub mod key;
mod request;
pub mod sigstore;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use authority::{Authority, Material};
pub use cosign::{Cosign, Verdict, verdict_of};
pub use key::{Algorithm, Hash, KeyPair, Scheme, Signed, simple_payload, statement};
pub use request::SigningError;
pub use sigstore::{RegexpResult, Sigstore};

/// Who signs, unless somebody else is asked for: a workflow, as with the images of the project.
pub const IDENTITY: &str =
    "https://github.com/schedkit/plumbing/.github/workflows/oci-build-publish.yml@refs/heads/main";
/// Who vouches for that identity.
pub const ISSUER: &str = "https://token.actions.githubusercontent.com";

/// The programs of signing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// Our own Sigstore.
    pub sigstore: PathBuf,
    /// With [`Signing::Cosign`](crate::Signing) only.
    pub cosign: Option<CosignPrograms>,
}

/// cosign, in both editions that users have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CosignPrograms {
    pub v2: PathBuf,
    pub v3: PathBuf,
}

/// Which cosign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// Version 2, whose own form is the tag.
    V2,
    /// Version 3, whose own form is the bundle.
    V3,
}

/// How a signature hangs on an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Under the tag `sha256-….sig`.
    SigTag,
    /// As a bundle that refers to the image.
    Bundle,
}

/// What an identity or issuer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Exactly this.
    Exact(String),
    /// Something that this matches, anywhere in it unless anchored.
    Regexp(String),
}

/// Who must have signed for cosign to accept a keyless signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The certificate's subject.
    pub identity: Match,
    /// Who vouched for it.
    pub issuer: Match,
}

impl Default for Signer {
    fn default() -> Self {
        Self {
            identity: Match::Exact(IDENTITY.to_owned()),
            issuer: Match::Exact(ISSUER.to_owned()),
        }
    }
}

impl CosignPrograms {
    pub fn of(&self, edition: Edition) -> &PathBuf {
        match edition {
            Edition::V2 => &self.v2,
            Edition::V3 => &self.v3,
        }
    }
}
