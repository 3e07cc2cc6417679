//! Key pairs of every kind that a policy may name, and signatures over whatever bytes a test
//! wants signed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::oci::SignatureLayer;

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// ECDSA on P-256: what cosign makes by itself.
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// ECDSA on P-384.
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    /// ECDSA on P-521.
    #[serde(rename = "ecdsa-p521")]
    EcdsaP521,
    /// Ed25519.
    #[serde(rename = "ed25519")]
    Ed25519,
    /// RSA of 2048 bits.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    /// RSA of 3072 bits.
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    /// RSA of 4096 bits.
    #[serde(rename = "rsa-4096")]
    Rsa4096,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::EcdsaP521,
        Self::Ed25519,
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Rsa4096,
    ];

    /// Its name on command lines.
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

/// What is hashed before it is signed; Ed25519 signs the whole message and ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// What cosign uses, whatever the key.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// How RSA pads; other keys have no choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Scheme {
    /// The usual one; for RSA PKCS #1 v1.5.
    #[default]
    #[serde(rename = "")]
    Default,
    /// RSA-PSS.
    #[serde(rename = "pss")]
    Pss,
}

/// A key pair, in files.
#[derive(Clone, Debug)]
pub struct KeyPair {
    /// Its kind.
    pub algorithm: Algorithm,
    /// The private key as PKCS #8 PEM.
    pub private: String,
    /// The public key as PEM.
    pub public: String,
    /// The public key in a file.
    pub public_key: PathBuf,
}

impl KeyPair {
    /// What the Sigstore is asked when it is to sign these bytes.
    pub(super) fn question(
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

/// A key pair as the Sigstore gives it.
#[derive(Debug, Deserialize)]
pub(super) struct MadeKey {
    pub(super) algorithm: Algorithm,
    pub(super) private: String,
    pub(super) public: String,
}

/// Signatures that one key made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Signed {
    /// Over the payload of cosign v2's form, in base64.
    pub signature: String,
    /// What the log said about that signature, as an annotation carries it; empty without a log.
    pub note: String,
    /// A bundle of cosign v3's form with the statement, and with a log entry where there is a log.
    pub bundle: String,
}

impl Signed {
    /// A signature of cosign v2's form over this payload, which must be what was signed.
    pub fn layer(&self, payload: &str) -> SignatureLayer {
        let mut layer = SignatureLayer::by_key(payload, &self.signature);
        if !self.note.is_empty() {
            let name = "dev.sigstore.cosign/bundle".to_owned();
            layer.annotations.insert(name, self.note.clone());
        }
        layer
    }
}

/// What cosign v2 signs about an image.
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

/// What cosign v3 signs about an image.
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
