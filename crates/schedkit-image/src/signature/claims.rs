//! Reads from a certificate what it says about the build that it was issued to.
//!
//! The certificate is verified by whoever calls this. A claim that is there twice or cannot be read
//! counts as missing, so that no signer who needs it is accepted.

use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::asn1::Utf8StringRef;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::Extension;

use crate::trust::{CertificateClaims, Claim};

/// Fulcio's extensions (github.com/sigstore/fulcio, docs/oid-info.md).
const EXTENSIONS: [(Claim, ObjectIdentifier); 5] = [
    (
        Claim::Runner,
        ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.11"),
    ),
    (
        Claim::Repository,
        ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.12"),
    ),
    (
        Claim::Ref,
        ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.14"),
    ),
    (
        Claim::OwnerId,
        ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.17"),
    ),
    (
        Claim::Workflow,
        ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.18"),
    ),
];

pub(super) fn read(der: &[u8]) -> CertificateClaims {
    let certificate = Certificate::from_der(der);
    let extensions = certificate
        .as_ref()
        .map(|certificate| certificate.tbs_certificate.extensions.as_deref());
    let extensions = extensions.ok().flatten().unwrap_or_default();
    let claims = EXTENSIONS.into_iter();
    let claims = claims.filter_map(|(claim, id)| Some((claim, only(extensions, id)?)));
    CertificateClaims(claims.collect())
}

fn only(extensions: &[Extension], id: ObjectIdentifier) -> Option<String> {
    let mut matching = extensions.iter().filter(|one| one.extn_id == id);
    let (first, second) = (matching.next()?, matching.next());
    let text = Utf8StringRef::from_der(first.extn_value.as_bytes()).ok()?;
    second.is_none().then(|| text.as_str().to_owned())
}
