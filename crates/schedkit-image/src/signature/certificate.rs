//! Reads subject and issuer from a certificate: the two texts that a policy's identities match.
//!
//! A certificate must have exactly one of each. Fulcio issues nothing else, and two readers could
//! choose differently among several. Nothing is verified here.

use jiff::Timestamp;
use x509_cert::Certificate;
use x509_cert::der::asn1::Utf8StringRef;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::refusal::Refusal;
use crate::trust::certificate_time;

const SUBJECT: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const ISSUER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.8");
const OLD_ISSUER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
/// ECDSA, Ed25519, RSA: the kinds of keys that cosign verifies with.
const KEY_ALGORITHMS: [ObjectIdentifier; 3] = [
    ObjectIdentifier::new_unwrap("1.2.840.10045.2.1"),
    ED25519,
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1"),
];

#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) subject: String,
    pub(super) issuer: String,
    /// The issuer in the extension of older certificates, the only one that cosign reads for v2's
    /// format.
    pub(super) old_issuer: Option<String>,
    /// In DER form (SubjectPublicKeyInfo).
    pub(super) public_key: Vec<u8>,
    pub(super) is_ed25519: bool,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
}

pub(super) fn read(der: &[u8]) -> Result<Leaf, Refusal> {
    let certificate = Certificate::from_der(der).map_err(|_| refused("it cannot be read"))?;
    let body = &certificate.tbs_certificate;
    if !KEY_ALGORITHMS.contains(&body.subject_public_key_info.algorithm.oid) {
        return Err(refused("its key is of an unknown kind"));
    }
    let public_key = body.subject_public_key_info.to_der();
    let extensions = body.extensions.as_deref().unwrap_or_default();
    let old_issuer = find(extensions, OLD_ISSUER)?.map(old_issuer).transpose()?;
    let new_issuer = find(extensions, ISSUER)?.map(issuer).transpose()?;
    let issuer = match (&new_issuer, &old_issuer) {
        (Some(new), Some(old)) if new != old => return Err(refused("it names two issuers")),
        (Some(issuer), _) | (None, Some(issuer)) => issuer.clone(),
        (None, None) => return Err(refused("it names no issuer")),
    };
    let names = find(extensions, SUBJECT)?.ok_or_else(|| refused("it names no subject"))?;
    let time =
        |time| certificate_time(time).ok_or_else(|| refused("its time of validity cannot be read"));
    Ok(Leaf {
        subject: subject(names)?,
        issuer,
        old_issuer,
        public_key: public_key.map_err(|_| refused("its key cannot be read"))?,
        is_ed25519: body.subject_public_key_info.algorithm.oid == ED25519,
        not_before: time(&body.validity.not_before)?,
        not_after: time(&body.validity.not_after)?,
    })
}

fn find(extensions: &[Extension], id: ObjectIdentifier) -> Result<Option<&[u8]>, Refusal> {
    let mut matching = extensions
        .iter()
        .filter(|extension| extension.extn_id == id);
    let first = matching.next();
    if matching.next().is_some() {
        return Err(refused("it has an extension twice"));
    }
    Ok(first.map(|extension| extension.extn_value.as_bytes()))
}

fn subject(value: &[u8]) -> Result<String, Refusal> {
    let names = SubjectAltName::from_der(value).map_err(|_| refused("its names cannot be read"))?;
    match names.0.as_slice() {
        [GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name)] => {
            Ok(name.to_string())
        }
        [_] => Err(refused(
            "its subject is neither a URI nor an e-mail address",
        )),
        _ => Err(refused("it does not name exactly one subject")),
    }
}

fn issuer(value: &[u8]) -> Result<String, Refusal> {
    let text = Utf8StringRef::from_der(value).map_err(|_| refused("its issuer cannot be read"))?;
    Ok(text.as_str().to_owned())
}

fn old_issuer(value: &[u8]) -> Result<String, Refusal> {
    let text = str::from_utf8(value).map_err(|_| refused("its issuer cannot be read"))?;
    Ok(text.to_owned())
}

fn refused(why: &str) -> Refusal {
    Refusal::Certificate(why.to_owned())
}
