//! Signing keys: P-256, P-521, Ed25519, and ML-DSA, which cosign does not support.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, ML_DSA_44_SIGNING, PqdsaKeyPair,
};
use schedkit_image::hash::sha256;

use crate::payload::encode;

pub(crate) enum SigningKey {
    /// With its `keyDetails` in Rekor v2.
    Ecdsa(EcdsaKeyPair, &'static str),
    Ed25519(Ed25519KeyPair),
    MlDsa(PqdsaKeyPair),
}

impl SigningKey {
    pub(crate) fn new() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        Self::Ecdsa(pair, "PKIX_ECDSA_P256_SHA_256")
    }

    pub(crate) fn p521() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P521_SHA512_ASN1_SIGNING).unwrap();
        Self::Ecdsa(pair, "PKIX_ECDSA_P521_SHA_512")
    }

    pub(crate) fn details(&self) -> &'static str {
        match self {
            Self::Ecdsa(_, details) => details,
            Self::Ed25519(_) => "PKIX_ED25519",
            Self::MlDsa(_) => "PKIX_ML_DSA_44",
        }
    }

    pub(crate) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn ml_dsa() -> Self {
        Self::MlDsa(PqdsaKeyPair::generate(&ML_DSA_44_SIGNING).unwrap())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ecdsa(pair, _) => {
                let signature = pair.sign(&SystemRandom::new(), message).unwrap();
                signature.as_ref().to_vec()
            }
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::MlDsa(pair) => {
                let mut signature = vec![0; ML_DSA_44_SIGNING.signature_len()];
                pair.sign(message, &mut signature).unwrap();
                signature
            }
        }
    }

    pub(crate) fn spki(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = match self {
            Self::Ecdsa(pair, _) => pair.public_key().as_der().unwrap(),
            Self::Ed25519(pair) => pair.public_key().as_der().unwrap(),
            Self::MlDsa(pair) => pair.public_key().as_der().unwrap(),
        };
        der.as_ref().to_vec()
    }

    /// Of a P-256 key, as `ssh-keygen -l` prints it.
    pub(crate) fn ssh_fingerprint(&self) -> String {
        let spki = self.spki();
        let point = &spki[spki.len() - 65..];
        let fields: [&[u8]; 3] = [b"ecdsa-sha2-nistp256", b"nistp256", point];
        let wire: Vec<u8> = fields
            .iter()
            .flat_map(|field| [&(field.len() as u32).to_be_bytes(), *field].concat())
            .collect();
        let digest = sha256(&wire);
        format!("SHA256:{}", encode(digest.as_bytes()).trim_end_matches('='))
    }
}
