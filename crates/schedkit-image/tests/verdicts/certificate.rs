//! Builds certificates by hand: libraries do not make invalid ones.

use std::str::FromStr;
use std::time::Duration;

use x509_cert::certificate::{Certificate, TbsCertificate, Version};
use x509_cert::der::asn1::{BitString, OctetString, UtcTime};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::Extension;
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};

use crate::key_pair::SigningKey;

pub(crate) fn sized(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes(), bytes].concat()
}

pub(crate) fn oid(text: &str) -> ObjectIdentifier {
    ObjectIdentifier::new(text).unwrap()
}

pub(crate) fn extension(id: &str, critical: bool, value: &[u8]) -> Extension {
    let extn_value = OctetString::new(value).unwrap();
    Extension {
        extn_id: oid(id),
        critical,
        extn_value,
    }
}

fn algorithm() -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned {
        oid: oid("1.2.840.10045.4.3.2"),
        parameters: None,
    }
}

pub(crate) fn body(
    name: &str,
    spki: &[u8],
    validity: (i64, i64),
    extensions: Vec<Extension>,
) -> TbsCertificate {
    let time = |seconds: i64| {
        let since = Duration::from_secs(seconds as u64);
        Time::UtcTime(UtcTime::from_unix_duration(since).unwrap())
    };
    TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&[7]).unwrap(),
        signature: algorithm(),
        issuer: Name::from_str(name).unwrap(),
        validity: Validity {
            not_before: time(validity.0),
            not_after: time(validity.1),
        },
        subject: Name::from_str(name).unwrap(),
        subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(spki).unwrap(),
        issuer_unique_id: None,
        subject_unique_id: None,
        extensions: Some(extensions),
    }
}

pub(crate) fn finish(signer: &SigningKey, tbs_certificate: TbsCertificate) -> Vec<u8> {
    let signature = signer.sign(&tbs_certificate.to_der().unwrap());
    let certificate = Certificate {
        tbs_certificate,
        signature_algorithm: algorithm(),
        signature: BitString::from_bytes(&signature).unwrap(),
    };
    certificate.to_der().unwrap()
}
