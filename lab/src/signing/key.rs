//! Key pairs of every algorithm that a trust policy accepts, and signatures over any bytes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::oci::SignatureLayer;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// cosign's default.
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    #[serde(rename = "ecdsa-p521")]
    EcdsaP521,
    #[serde(rename = "ed25519")]
    Ed25519,
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    #[serde(rename = "rsa-4096")]
    Rsa4096,
}

impl Algorithm {
    pub const ALL: [Self; 7] = [
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::EcdsaP521,
        Self::Ed25519,
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Rsa4096,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::EcdsaP521 => "ecdsa-p521",
            Self::Ed25519 => "ed25519",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        }
    }
}

/// The hash that is signed; Ed25519 signs the whole message and ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// cosign's default for every key.
    #[default]
    Sha256,
    Sha384,
    Sha512,
}

/// RSA padding; ignored for other keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Scheme {
    /// PKCS #1 v1.5.
    #[default]
    #[serde(rename = "")]
    Default,
    #[serde(rename = "pss")]
    Pss,
}

#[derive(Clone, Debug)]
pub struct KeyPair {
    pub algorithm: Algorithm,
    /// The private key as PKCS #8 PEM.
    pub private: String,
    /// The public key as PEM.
    pub public: String,
    /// The file of the public key; `private.pem` beside it holds the private one.
    pub public_key: PathBuf,
}

impl KeyPair {
    /// The input of `sigstore sign`.
    pub(super) fn sign_input(
        &self,
        (hash, scheme): (Hash, Scheme),
        simple: &str,
        statement: &str,
    ) -> serde_json::Value {
        json!({
            "private": self.private, "hash": hash, "scheme": scheme,
            "simple": simple, "statement": statement,
        })
    }
}

/// A key pair as `sigstore keys` prints it.
#[derive(Debug, Deserialize)]
pub(super) struct GeneratedKey {
    pub(super) algorithm: Algorithm,
    pub(super) private: String,
    pub(super) public: String,
}

/// Signatures that one key made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Signed {
    /// Over the payload in the format of cosign 2, in base64.
    pub signature: String,
    /// The log entry of that signature, as an annotation carries it; empty without a log.
    #[serde(rename = "logEntry")]
    pub log_entry: String,
    /// A bundle in the format of cosign 3 with the statement, and with a log entry if there is a log.
    pub bundle: String,
}

impl Signed {
    /// The signature in the format of cosign 2. `payload` must be the signed one.
    pub fn layer(&self, payload: &str) -> SignatureLayer {
        let mut layer = SignatureLayer::by_key(payload, &self.signature);
        if !self.log_entry.is_empty() {
            let name = "dev.sigstore.cosign/bundle".to_owned();
            layer.annotations.insert(name, self.log_entry.clone());
        }
        layer
    }
}

/// The payload that cosign 2 signs for an image.
pub fn simple_payload(repository: &str, digest: &str) -> String {
    json!({
        "critical": {
            "identity": {"docker-reference": repository},
            "image": {"docker-manifest-digest": digest},
            "type": "cosign container image signature",
        },
        "optional": null,
    })
    .to_string()
}

/// The in-toto statement that cosign 3 signs for an image.
pub fn statement(digest: &str) -> String {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": hex}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
    })
    .to_string()
}
