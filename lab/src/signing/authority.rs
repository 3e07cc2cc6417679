//! A Sigstore of our own: a trusted root, and keyless signatures that it vouches for or, in one
//! respect, does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::key::{KeyPair, Signed};
use super::request::{SigningError, ask};
use super::{IDENTITY, ISSUER};
use crate::oci::SignatureLayer;

/// Everything that one trusted root vouches for.
#[derive(Clone, Debug)]
pub struct Authority {
    sigstore: PathBuf,
    keys: PathBuf,
    trusted_root: PathBuf,
}

/// The answer of `sigstore found`.
#[derive(Deserialize)]
struct Founding {
    authority: serde_json::Value,
    #[serde(rename = "trustedRoot")]
    trusted_root: serde_json::Value,
}

/// Keyless signatures of one image by one signer: good ones, and ones with one flaw each, by name.
/// `lab/sigstore/bundles.go` and `simple.go` have the names; `e2e/tests/long_signatures/cosign_verdicts.md` says what
/// cosign makes of each.
#[derive(Clone, Debug, Deserialize)]
pub struct Material {
    /// Of cosign v3's form.
    pub bundles: BTreeMap<String, String>,
    /// Of cosign v2's form.
    pub signatures: BTreeMap<String, SignatureLayer>,
}

impl Authority {
    /// Founds one and keeps it in a folder.
    pub(super) fn create(sigstore: &Path, folder: &Path) -> Result<Self, SigningError> {
        let Founding {
            authority,
            trusted_root,
        } = ask(sigstore, &["found"], &())?;
        fs::create_dir_all(folder)?;
        let made = Self {
            sigstore: sigstore.to_owned(),
            keys: folder.join("authority.json"),
            trusted_root: folder.join("trusted_root.json"),
        };
        fs::write(&made.keys, authority.to_string())?;
        fs::write(&made.trusted_root, trusted_root.to_string())?;
        Ok(made)
    }

    /// The file to give to whoever should trust it.
    pub fn trusted_root(&self) -> &Path {
        &self.trusted_root
    }

    /// Signatures of an image by [`IDENTITY`], as [`ISSUER`] vouches.
    pub fn issue(&self, repository: &str, digest: &str) -> Result<Material, SigningError> {
        self.issue_to(IDENTITY, ISSUER, repository, digest)
    }

    /// Signatures of an image by somebody.
    pub fn issue_to(
        &self,
        identity: &str,
        issuer: &str,
        repository: &str,
        digest: &str,
    ) -> Result<Material, SigningError> {
        let keys = self.keys.to_string_lossy();
        ask(
            &self.sigstore,
            &["issue", &keys],
            &json!({
                "digest": digest, "repository": repository, "identity": identity, "issuer": issuer,
            }),
        )
    }

    /// Signs exactly these bytes by key, and has its log record both signatures.
    pub fn sign_bytes(
        &self,
        key: &KeyPair,
        simple: &str,
        statement: &str,
    ) -> Result<Signed, SigningError> {
        let keys = self.keys.to_string_lossy();
        let question = key.question(Default::default(), simple, statement);
        ask(&self.sigstore, &["sign", &keys], &question)
    }
}
