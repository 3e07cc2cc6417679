//! A public key of a policy: one PEM block, one kind, one fingerprint.
//!
//! Which hash goes with which key follows `cosign verify --key`: SHA-256 with everything, and for
//! the two larger curves also their own hash, which newer versions of cosign sign with. RSA is
//! PKCS #1 v1.5 only and Ed25519 is not prehashed, because cosign accepts no other with a key.

use std::fmt;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P521_SHA256_ASN1,
    ECDSA_P521_SHA512_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    VerificationAlgorithm,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schedkit_core::Digest;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Reader, SliceReader};
use x509_cert::spki::SubjectPublicKeyInfoRef;

use crate::hash::sha256;

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";
const MIN_RSA_BITS: usize = 2048;
const MAX_RSA_BITS: usize = 8192;

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
const ED: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

pub struct PublicKey {
    kind: KeyKind,
    der: Vec<u8>,
    fingerprint: Digest,
    verifiers: Vec<ParsedPublicKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on NIST P-256.
    EcdsaP256,
    /// ECDSA on NIST P-384.
    EcdsaP384,
    /// ECDSA on NIST P-521.
    EcdsaP521,
    Ed25519,
    /// RSA of at least 2048 bits.
    Rsa,
}

/// Why text is no public key. Never quotes the text: it may be a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("is a private key; the policy names the public one (`cosign public-key --key …`)")]
    Private,
    #[error("is a certificate; name its public key, or use `identities`")]
    Certificate,
    #[error("has no PEM block `PUBLIC KEY`")]
    NotPem,
    #[error("has more than one PEM block; one file holds one key")]
    Several,
    #[error("has a PEM block that does not hold a public key")]
    Malformed,
    #[error("is not an ECDSA (P-256, P-384, P-521), Ed25519 or RSA key")]
    Unsupported,
    #[error(
        "is an RSA key of {bits} bits; at least {MIN_RSA_BITS} and at most {MAX_RSA_BITS} are accepted"
    )]
    RsaSize { bits: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature was not made with this key, or not over this content")]
pub struct WrongSignature;

impl PublicKey {
    /// Parses one PEM block `PUBLIC KEY`.
    ///
    /// # Errors
    /// When there is none, more than one, or a key that is not accepted.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let der = pem_block(text)?;
        Self::from_der(der)
    }

    fn from_der(der: Vec<u8>) -> Result<Self, KeyError> {
        let (kind, bits) = kind_of(&der)?;
        let verifiers = algorithms(kind)
            .iter()
            .map(|algorithm| ParsedPublicKey::new(*algorithm, &bits))
            .collect::<Result<_, _>>()
            .map_err(|_| KeyError::Malformed)?;
        let fingerprint = sha256(&der);
        Ok(Self {
            kind,
            der,
            fingerprint,
            verifiers,
        })
    }

    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// SHA-256 of the key's DER form, as `openssl pkey -pubin -outform DER | sha256sum` prints it.
    pub fn fingerprint(&self) -> &Digest {
        &self.fingerprint
    }

    /// The key as DER (SubjectPublicKeyInfo).
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// # Errors
    /// When this key did not make this signature of this message.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), WrongSignature> {
        let verifies = |verifier: &ParsedPublicKey| verifier.verify_sig(message, signature).is_ok();
        if self.verifiers.iter().any(verifies) {
            Ok(())
        } else {
            Err(WrongSignature)
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({:?} {})", self.kind, self.fingerprint)
    }
}

fn algorithms(kind: KeyKind) -> &'static [&'static dyn VerificationAlgorithm] {
    match kind {
        KeyKind::EcdsaP256 => &[&ECDSA_P256_SHA256_ASN1],
        KeyKind::EcdsaP384 => &[&ECDSA_P384_SHA256_ASN1, &ECDSA_P384_SHA384_ASN1],
        KeyKind::EcdsaP521 => &[&ECDSA_P521_SHA256_ASN1, &ECDSA_P521_SHA512_ASN1],
        KeyKind::Ed25519 => &[&ED25519],
        KeyKind::Rsa => &[&RSA_PKCS1_2048_8192_SHA256],
    }
}

fn pem_block(text: &str) -> Result<Vec<u8>, KeyError> {
    if text.contains("PRIVATE KEY-----") {
        return Err(KeyError::Private);
    }
    if text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(KeyError::Certificate);
    }
    match text.matches("-----BEGIN ").count() {
        0 => return Err(KeyError::NotPem),
        1 => {}
        _ => return Err(KeyError::Several),
    }
    let (_, rest) = text.split_once(BEGIN).ok_or(KeyError::NotPem)?;
    let (body, _) = rest.split_once(END).ok_or(KeyError::NotPem)?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).map_err(|_| KeyError::Malformed)
}

/// The kind, and the bits of the key without its algorithm.
fn kind_of(der: &[u8]) -> Result<(KeyKind, Vec<u8>), KeyError> {
    let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| KeyError::Malformed)?;
    let bits = info.subject_public_key.as_bytes();
    let bits = bits.ok_or(KeyError::Malformed)?.to_vec();
    let kind = match info.algorithm.oid {
        EC => match info.algorithm.parameters_oid() {
            Ok(P256) => KeyKind::EcdsaP256,
            Ok(P384) => KeyKind::EcdsaP384,
            Ok(P521) => KeyKind::EcdsaP521,
            _ => return Err(KeyError::Unsupported),
        },
        ED => KeyKind::Ed25519,
        RSA => {
            let size = rsa_bits(&bits)?;
            if !(MIN_RSA_BITS..=MAX_RSA_BITS).contains(&size) {
                return Err(KeyError::RsaSize { bits: size });
            }
            KeyKind::Rsa
        }
        _ => return Err(KeyError::Unsupported),
    };
    Ok((kind, bits))
}

fn rsa_bits(key: &[u8]) -> Result<usize, KeyError> {
    let modulus_size = || -> x509_cert::der::Result<usize> {
        let mut reader = SliceReader::new(key)?;
        let bits = reader.sequence(|inner| {
            let modulus = UintRef::decode(inner)?;
            let _exponent = UintRef::decode(inner)?;
            let first = modulus.as_bytes().first().copied().unwrap_or(0);
            Ok((modulus.as_bytes().len() * 8).saturating_sub(first.leading_zeros() as usize))
        })?;
        reader.finish(bits)
    };
    modulus_size().map_err(|_| KeyError::Malformed)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
        ECDSA_P521_SHA256_ASN1_SIGNING, ECDSA_P521_SHA384_ASN1_SIGNING,
        ECDSA_P521_SHA512_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
        KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
    };

    use super::*;

    fn pem(der: &[u8]) -> String {
        format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(der))
    }

    fn ecdsa(algorithm: &'static EcdsaSigningAlgorithm) -> (PublicKey, Vec<u8>) {
        let pair = EcdsaKeyPair::generate(algorithm).unwrap();
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let signature = pair.sign(&SystemRandom::new(), b"hello").unwrap();
        let key = PublicKey::parse(&pem(der.as_ref())).unwrap();
        (key, signature.as_ref().to_vec())
    }

    /// Made with openssl: aws-lc-rs verifies this pair and does not sign with it.
    fn p384_with_sha256() -> (PublicKey, Vec<u8>) {
        let key = "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEjkDUsMSi//jnfOOuR3M971ogUVh4yHc9t/FhqN8ZAfSHJruZP5umLBOB2iiX/IVKXKUgnBsDLmfSLpIV3xfBoYbtHmK6jQsDEoXFa9PIllnNi1wZNP32qtGxLPkItcUN";
        let signature = "MGQCMEjSllIveDIIMYuZxk3W8YLPRSVM9MqjYaiHVC+8Po2W1xXvLoLzmXUQ8luVkqDg4gIwWZ/6PV7umvrPCEJVmb3TtIulfrvVcBxgeAriidd10vTgkddD9ZlpN+9ADy6P95jK";
        let key = PublicKey::parse(&pem(&STANDARD.decode(key).unwrap())).unwrap();
        (key, STANDARD.decode(signature).unwrap())
    }

    fn rsa(padding: &'static dyn RsaEncoding) -> (PublicKey, Vec<u8>) {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(padding, &SystemRandom::new(), b"hello", &mut signature)
            .unwrap();
        (PublicKey::parse(&pem(der.as_ref())).unwrap(), signature)
    }

    #[test]
    fn every_kind_of_key_verifies_what_it_signed_and_nothing_else() {
        let ed = Ed25519KeyPair::generate().unwrap();
        let ed_der: PublicKeyX509Der<'_> = ed.public_key().as_der().unwrap();
        let pairs = [
            ecdsa(&ECDSA_P256_SHA256_ASN1_SIGNING),
            p384_with_sha256(),
            ecdsa(&ECDSA_P384_SHA384_ASN1_SIGNING),
            ecdsa(&ECDSA_P521_SHA256_ASN1_SIGNING),
            ecdsa(&ECDSA_P521_SHA512_ASN1_SIGNING),
            rsa(&RSA_PKCS1_SHA256),
            (
                PublicKey::parse(&pem(ed_der.as_ref())).unwrap(),
                ed.sign(b"hello").as_ref().to_vec(),
            ),
        ];
        for (key, signature) in &pairs {
            assert_eq!(key.verify(b"hello", signature), Ok(()), "{key:?}");
            assert_eq!(key.verify(b"hellO", signature), Err(WrongSignature));
            let mut cut = signature.clone();
            cut.pop();
            assert_eq!(key.verify(b"hello", &cut), Err(WrongSignature));
            assert_eq!(key.fingerprint(), &sha256(key.der()));
        }
    }

    #[test]
    fn schemes_that_cosign_refuses_with_a_key_are_refused() {
        let (key, signature) = rsa(&RSA_PSS_SHA256);
        assert_eq!(key.verify(b"hello", &signature), Err(WrongSignature));
        let (key, signature) = ecdsa(&ECDSA_P521_SHA384_ASN1_SIGNING);
        assert_eq!(key.verify(b"hello", &signature), Err(WrongSignature));
    }

    #[test]
    fn the_error_tells_what_a_file_holds_instead_of_one_public_key() {
        let (key, _) = ecdsa(&ECDSA_P256_SHA256_ASN1_SIGNING);
        let good = pem(key.der());
        let cases = [
            (String::new(), KeyError::NotPem),
            (good.replace("END", "FIN"), KeyError::NotPem),
            (format!("{good}{good}"), KeyError::Several),
            (
                good.replace("PUBLIC", "ENCRYPTED SIGSTORE PRIVATE"),
                KeyError::Private,
            ),
            (
                good.replace("PUBLIC KEY", "CERTIFICATE"),
                KeyError::Certificate,
            ),
            (
                good.replace("PUBLIC KEY", "RSA PUBLIC KEY"),
                KeyError::NotPem,
            ),
            (pem(b"nothing"), KeyError::Malformed),
            (pem(&[key.der(), b"more"].concat()), KeyError::Malformed),
            (format!("{BEGIN}\n!\n{END}"), KeyError::Malformed),
        ];
        for (text, error) in cases {
            assert_eq!(PublicKey::parse(&text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn small_rsa_keys_and_unknown_curves_are_refused() {
        // Made with openssl: RSA of 1024 bits, and secp256k1.
        let small = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCfPr4Li7D22WatWNgnnQe3TdcE5iGQwpcuTMC9EqOblFmtUubEL1J6y3cRpfEnXQakVRXg4q4Vajq5VPjVdGiU2N2tp8mSvtmX5CygUeXep8TEL8pgyGyNnstdv5MGFObDMTQc4jdGjZuNCdFO1wmYDfPC0m8q7lzeBeHvRMK2pwIDAQAB";
        let small = pem(&STANDARD.decode(small).unwrap());
        assert_eq!(
            PublicKey::parse(&small).unwrap_err(),
            KeyError::RsaSize { bits: 1024 }
        );
        let curve = "MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAE2DpBpkwok/dHEb7EP/j1lGGC/bxdJKeu/2CT74Ns+ZGZJttVOFpnEK8EJKkltjujWukFB/biqoQNImG3sgB/hA==";
        let curve = pem(&STANDARD.decode(curve).unwrap());
        assert_eq!(PublicKey::parse(&curve).unwrap_err(), KeyError::Unsupported);
    }
}
