//! A private Sigstore: a trusted root, and keyless signatures that are good or have one flaw.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::key::{KeyPair, Signed};
use super::request::{self, SigningError};
use super::signer::{IDENTITY, ISSUER};
use crate::oci::SignatureLayer;

/// The keys behind one trusted root: certificate authority, log and timestamp authority.
#[derive(Clone, Debug)]
pub struct Authority {
    program: PathBuf,
    keys: PathBuf,
    trusted_root: PathBuf,
}

/// The output of `sigstore create`.
#[derive(Deserialize)]
struct Created {
    authority: serde_json::Value,
    #[serde(rename = "trustedRoot")]
    trusted_root: serde_json::Value,
}

/// Keyless signatures of one image by one signer, by case: good ones, and ones with one flaw each.
/// `lab/sigstore/bundles.go` and `simple.go` have the cases; `signature_cases.json` of
/// schedkit-image has the verdict on each.
#[derive(Clone, Debug, Deserialize)]
pub struct Material {
    /// In the format of cosign 3.
    pub bundles: BTreeMap<String, String>,
    /// In the format of cosign 2.
    pub signatures: BTreeMap<String, SignatureLayer>,
}

impl Authority {
    /// Creates the keys and writes them to a folder.
    pub(super) fn create(program: &Path, folder: &Path) -> Result<Self, SigningError> {
        let Created {
            authority,
            trusted_root,
        } = request::run(program, &["create"], &())?;
        fs::create_dir_all(folder)?;
        let created = Self {
            program: program.to_owned(),
            keys: folder.join("authority.json"),
            trusted_root: folder.join("trusted_root.json"),
        };
        fs::write(&created.keys, authority.to_string())?;
        fs::write(&created.trusted_root, trusted_root.to_string())?;
        Ok(created)
    }

    /// The trusted root, for verifiers.
    pub fn trusted_root(&self) -> &Path {
        &self.trusted_root
    }

    /// Signs an image as [`IDENTITY`] with [`ISSUER`].
    pub fn issue(&self, repository: &str, digest: &str) -> Result<Material, SigningError> {
        self.issue_to(IDENTITY, ISSUER, repository, digest)
    }

    /// Signs an image as any identity.
    pub fn issue_to(
        &self,
        identity: &str,
        issuer: &str,
        repository: &str,
        digest: &str,
    ) -> Result<Material, SigningError> {
        let keys = self.keys.to_string_lossy();
        request::run(
            &self.program,
            &["issue", &keys],
            &json!({
                "digest": digest, "repository": repository, "identity": identity, "issuer": issuer,
            }),
        )
    }

    /// Signs exactly these bytes by key and records both signatures in the log.
    pub fn sign_bytes(
        &self,
        key: &KeyPair,
        simple: &str,
        statement: &str,
    ) -> Result<Signed, SigningError> {
        let keys = self.keys.to_string_lossy();
        let input = key.sign_input(Default::default(), simple, statement);
        request::run(&self.program, &["sign", &keys], &input)
    }
}
