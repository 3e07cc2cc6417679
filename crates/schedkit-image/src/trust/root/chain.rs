//! Checks the certificate chains of a trusted root when it is loaded.
//!
//! The library takes every certificate of a chain as an anchor of its own and looks at none of this;
//! cosign verifies up to the last certificate. A chain that passes here means the same to both.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ED25519,
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, VerificationAlgorithm,
};
use x509_cert::Certificate;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Header, Reader, SliceReader};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};
use x509_cert::spki::SubjectPublicKeyInfoOwned;

const fn oid(text: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(text)
}

const BASIC_CONSTRAINTS: ObjectIdentifier = oid("2.5.29.19");
const KEY_USAGE: ObjectIdentifier = oid("2.5.29.15");
const EXTENDED_KEY_USAGE: ObjectIdentifier = oid("2.5.29.37");
const ANY_USAGE: ObjectIdentifier = oid("2.5.29.37.0");
const NAME_CONSTRAINTS: ObjectIdentifier = oid("2.5.29.30");
/// The three that are checked, and those that restrict nothing: names, key identifiers, revocation
/// lists.
const UNDERSTOOD: [ObjectIdentifier; 7] = [
    BASIC_CONSTRAINTS,
    KEY_USAGE,
    EXTENDED_KEY_USAGE,
    oid("2.5.29.14"),
    oid("2.5.29.17"),
    oid("2.5.29.31"),
    oid("2.5.29.35"),
];

/// What the certificates below a chain are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    CodeSigning,
    TimeStamping,
}

/// What is wrong with a chain. Its text follows "has an authority (NAME) with a chain that …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    #[error("has no certificates")]
    Empty,
    #[error("cannot be read at certificate {0}")]
    Unreadable(usize),
    /// The certificates must be in order, the root last.
    #[error("does not chain: certificate {0} was not issued by the one after it")]
    NotIssued(usize),
    #[error("has certificate {0}, which is no certificate authority (CA)")]
    NotCa(usize),
    #[error("has certificate {0}, which may not sign certificates (key usage)")]
    NoCertSign(usize),
    #[error("has certificate {0}, which allows fewer certificates below it")]
    TooLong(usize),
    #[error("has certificate {0}, which is for another purpose (extended key usage)")]
    OtherPurpose(usize),
    /// RFC 3161.
    #[error(
        "has no certificate for time stamping only, with a critical extended key usage, at its beginning"
    )]
    Stamper,
    #[error("has certificate {0} with name constraints, which are not checked")]
    NameConstraints(usize),
    #[error("has certificate {0} with a critical extension that is not understood")]
    Critical(usize),
}

/// Checks a chain, the certificate nearest to the signer's first and the root last.
pub(super) fn check(chain: &[&[u8]], purpose: Purpose) -> Result<(), ChainFault> {
    if chain.is_empty() {
        return Err(ChainFault::Empty);
    }
    let links = chain
        .iter()
        .zip(1..)
        .map(|(der, position)| Link::read(der, position))
        .collect::<Result<Vec<_>, _>>()?;
    let stampers = match (purpose, links.first()) {
        (Purpose::TimeStamping, Some(first)) if !first.is_ca()? => {
            first.check_stamper()?;
            1
        }
        _ => 0,
    };
    if links.len() == stampers {
        return Err(ChainFault::NotIssued(stampers));
    }
    for (below, link) in links.iter().skip(stampers).enumerate() {
        link.check_authority(below, purpose)?;
    }
    links
        .iter()
        .zip(links.iter().skip(1))
        .try_for_each(|(link, issuer)| link.check_issuer(issuer))
}

/// A certificate of a chain, counted from 1.
struct Link {
    position: usize,
    certificate: Certificate,
    /// The bytes that its issuer signed.
    signed: Vec<u8>,
}

impl Link {
    fn read(der: &[u8], position: usize) -> Result<Self, ChainFault> {
        let unreadable = |_| ChainFault::Unreadable(position);
        let link = Self {
            position,
            certificate: Certificate::from_der(der).map_err(unreadable)?,
            signed: signed_part(der).map_err(unreadable)?,
        };
        for extension in link.extensions() {
            if extension.extn_id == NAME_CONSTRAINTS {
                return Err(ChainFault::NameConstraints(position));
            }
            if extension.critical && !UNDERSTOOD.contains(&extension.extn_id) {
                return Err(ChainFault::Critical(position));
            }
        }
        Ok(link)
    }

    /// `below` counts the authorities between it and the signer.
    fn check_authority(&self, below: usize, purpose: Purpose) -> Result<(), ChainFault> {
        let position = self.position;
        let basic: BasicConstraints = self
            .extension(BASIC_CONSTRAINTS)?
            .ok_or(ChainFault::NotCa(position))?;
        if !basic.ca {
            return Err(ChainFault::NotCa(position));
        }
        if basic
            .path_len_constraint
            .is_some_and(|most| usize::from(most) < below)
        {
            return Err(ChainFault::TooLong(position));
        }
        let usage: Option<KeyUsage> = self.extension(KEY_USAGE)?;
        if usage.is_some_and(|usage| !usage.key_cert_sign()) {
            return Err(ChainFault::NoCertSign(position));
        }
        let purposes: Option<ExtendedKeyUsage> = self.extension(EXTENDED_KEY_USAGE)?;
        let is_allowed = |id: &ObjectIdentifier| *id == ANY_USAGE || *id == purpose.id();
        match purposes {
            Some(purposes) if !purposes.0.iter().any(is_allowed) => {
                Err(ChainFault::OtherPurpose(position))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// It makes timestamps and signs no certificates.
    fn check_stamper(&self) -> Result<(), ChainFault> {
        let is_critical = self
            .extensions()
            .iter()
            .any(|one| one.extn_id == EXTENDED_KEY_USAGE && one.critical);
        let purposes: Option<ExtendedKeyUsage> = self.extension(EXTENDED_KEY_USAGE)?;
        match purposes {
            Some(purposes) if is_critical && purposes.0 == [Purpose::TimeStamping.id()] => Ok(()),
            Some(_) | None => Err(ChainFault::Stamper),
        }
    }

    fn check_issuer(&self, issuer: &Self) -> Result<(), ChainFault> {
        let body = &self.certificate.tbs_certificate;
        let issuer = &issuer.certificate.tbs_certificate;
        let is_named = body.issuer == issuer.subject;
        let signature = &self.certificate.signature;
        let algorithm = self.certificate.signature_algorithm.oid;
        let is_signed = is_named
            && body.signature.oid == algorithm
            && signature.as_bytes().is_some_and(|signature| {
                has_signed(
                    &issuer.subject_public_key_info,
                    algorithm,
                    &self.signed,
                    signature,
                )
            });
        match is_signed {
            true => Ok(()),
            false => Err(ChainFault::NotIssued(self.position)),
        }
    }

    fn is_ca(&self) -> Result<bool, ChainFault> {
        let basic: Option<BasicConstraints> = self.extension(BASIC_CONSTRAINTS)?;
        Ok(basic.is_some_and(|basic| basic.ca))
    }

    fn extensions(&self) -> &[Extension] {
        let extensions = self.certificate.tbs_certificate.extensions.as_deref();
        extensions.unwrap_or_default()
    }

    /// An extension that is repeated or cannot be read is a fault.
    fn extension<T: for<'a> Decode<'a>>(
        &self,
        id: ObjectIdentifier,
    ) -> Result<Option<T>, ChainFault> {
        let unreadable = ChainFault::Unreadable(self.position);
        let mut matching = self.extensions().iter().filter(|one| one.extn_id == id);
        match (matching.next(), matching.next()) {
            (None, _) => Ok(None),
            (Some(one), None) => T::from_der(one.extn_value.as_bytes())
                .map(Some)
                .map_err(|_| unreadable),
            (Some(_), Some(_)) => Err(unreadable),
        }
    }
}

impl Purpose {
    fn id(self) -> ObjectIdentifier {
        match self {
            Self::CodeSigning => oid("1.3.6.1.5.5.7.3.3"),
            Self::TimeStamping => oid("1.3.6.1.5.5.7.3.8"),
        }
    }
}

/// The first part of a certificate, with its header.
fn signed_part(der: &[u8]) -> x509_cert::der::Result<Vec<u8>> {
    let mut reader = SliceReader::new(der)?;
    Header::decode(&mut reader)?;
    Ok(reader.tlv_bytes()?.to_vec())
}

fn has_signed(
    key: &SubjectPublicKeyInfoOwned,
    algorithm: ObjectIdentifier,
    message: &[u8],
    signature: &[u8],
) -> bool {
    let curve = key.algorithm.parameters.as_ref();
    let curve = curve.and_then(|one| one.decode_as::<ObjectIdentifier>().ok());
    let bits = key.subject_public_key.as_bytes();
    let (Some(algorithm), Some(bits)) = (verifier(algorithm, curve), bits) else {
        return false;
    };
    ParsedPublicKey::new(algorithm, bits)
        .is_ok_and(|key| key.verify_sig(message, signature).is_ok())
}

fn verifier(
    algorithm: ObjectIdentifier,
    curve: Option<ObjectIdentifier>,
) -> Option<&'static dyn VerificationAlgorithm> {
    const SHA256: ObjectIdentifier = oid("1.2.840.10045.4.3.2");
    const SHA384: ObjectIdentifier = oid("1.2.840.10045.4.3.3");
    const SHA512: ObjectIdentifier = oid("1.2.840.10045.4.3.4");
    const P256: ObjectIdentifier = oid("1.2.840.10045.3.1.7");
    const P384: ObjectIdentifier = oid("1.3.132.0.34");
    const P521: ObjectIdentifier = oid("1.3.132.0.35");
    const RSA_SHA256: ObjectIdentifier = oid("1.2.840.113549.1.1.11");
    const RSA_SHA384: ObjectIdentifier = oid("1.2.840.113549.1.1.12");
    const RSA_SHA512: ObjectIdentifier = oid("1.2.840.113549.1.1.13");
    const EDWARDS: ObjectIdentifier = oid("1.3.101.112");
    let found: &'static dyn VerificationAlgorithm = match (algorithm, curve) {
        (SHA256, Some(P256)) => &ECDSA_P256_SHA256_ASN1,
        (SHA384, Some(P256)) => &ECDSA_P256_SHA384_ASN1,
        (SHA256, Some(P384)) => &ECDSA_P384_SHA256_ASN1,
        (SHA384, Some(P384)) => &ECDSA_P384_SHA384_ASN1,
        (SHA256, Some(P521)) => &ECDSA_P521_SHA256_ASN1,
        (SHA384, Some(P521)) => &ECDSA_P521_SHA384_ASN1,
        (SHA512, Some(P521)) => &ECDSA_P521_SHA512_ASN1,
        (RSA_SHA256, None) => &RSA_PKCS1_2048_8192_SHA256,
        (RSA_SHA384, None) => &RSA_PKCS1_2048_8192_SHA384,
        (RSA_SHA512, None) => &RSA_PKCS1_2048_8192_SHA512,
        (EDWARDS, None) => &ED25519,
        _ => return None,
    };
    Some(found)
}
