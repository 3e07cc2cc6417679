//! The name of a key in a DSSE envelope (`keyid`), as cosign computes it: the fingerprint that
//! `ssh-keygen -l` prints. The name is not signed. cosign passes over a signature that names another
//! key than the one it is verified with, so we refuse it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Reader, SliceReader};
use x509_cert::spki::SubjectPublicKeyInfoRef;

use crate::hash::sha256;

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
const ED: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// `SHA256:…` of a key in DER form (SubjectPublicKeyInfo); `None` for a key that SSH does not have.
pub(super) fn ssh_fingerprint(der: &[u8]) -> Option<String> {
    let digest = sha256(&wire_form(der)?);
    Some(format!(
        "SHA256:{}",
        STANDARD_NO_PAD.encode(digest.as_bytes())
    ))
}

/// The key as SSH sends it (RFC 4253, 5656, 8709): its kind, then its numbers, each with its length.
fn wire_form(der: &[u8]) -> Option<Vec<u8>> {
    let info = SubjectPublicKeyInfoRef::from_der(der).ok()?;
    let bits = info.subject_public_key.as_bytes()?;
    match info.algorithm.oid {
        EC => {
            let (kind, curve) = match info.algorithm.parameters_oid().ok()? {
                P256 => ("ecdsa-sha2-nistp256", "nistp256"),
                P384 => ("ecdsa-sha2-nistp384", "nistp384"),
                P521 => ("ecdsa-sha2-nistp521", "nistp521"),
                _ => return None,
            };
            joined(&[kind.as_bytes(), curve.as_bytes(), bits])
        }
        ED => joined(&[b"ssh-ed25519", bits]),
        RSA => {
            let mut reader = SliceReader::new(bits).ok()?;
            let numbers = reader.sequence(|numbers| {
                let modulus = UintRef::decode(numbers)?;
                Ok((modulus, UintRef::decode(numbers)?))
            });
            let (modulus, exponent) = numbers.ok()?;
            joined(&[
                b"ssh-rsa",
                &positive(exponent.as_bytes()),
                &positive(modulus.as_bytes()),
            ])
        }
        _ => None,
    }
}

fn joined(fields: &[&[u8]]) -> Option<Vec<u8>> {
    let mut wire = Vec::new();
    for field in fields {
        wire.extend(u32::try_from(field.len()).ok()?.to_be_bytes());
        wire.extend(*field);
    }
    Some(wire)
}

/// SSH's numbers have a sign: one whose first bit is set gets a zero before it.
fn positive(number: &[u8]) -> Vec<u8> {
    let is_negative = number.first().is_some_and(|first| first & 0x80 != 0);
    let sign: &[u8] = if is_negative { &[0] } else { &[] };
    [sign, number].concat()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    /// Keys made with openssl, fingerprints made with ssh-keygen.
    const KNOWN: [(&str, &str); 4] = [
        (
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEPEhvXLGnkFPrVUuzlBfPFt11LhitjpEjYIuHRIpxi67u2VnRT0WJjXaSEckVu1ETBapYY6IfCUn3PLKEJxESSg==",
            "SHA256:1zRPILlxv6UWkadvHT5TIoZtBIFFFL0/M1JdBzDObRI",
        ),
        (
            "MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQBDjprcgE4jf4YS5Wt0q8HTJMiq0je5+wNoo2mqC/TpLZloLgkVu9DaaQ0kSYUdBZsYqBNDJkq8HB255o8uS4DU5EApG/uvgsBd6xfV/C8pK8aqg+RCElZFHIOkP0vHRivQKWDudTxGY4I8gkaea6fMXpidgPT6ZyKyiRUd/rNwoN6x2w=",
            "SHA256:8sI/QlQdQITYHb2GNvzxPRhhkfUTpbO2utno0F96Hjs",
        ),
        (
            "MCowBQYDK2VwAyEAifPMAQUBMXxJxCU4Wm+cm6vQc1vSfhfx35v2fFWy9b4=",
            "SHA256:YAlxVgZbjWbjYJpmiWNeVukYdrsbwz7KuvEwri/B6x0",
        ),
        (
            "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAq7O9ZRqC9pUsge9VECWKbr4RSJn0FjP93x7EiW+tkHoqhmQpk5jo5rmWeCn+Kb7e3SxKUmAGTabp7mKofDTqhCRJ439yyxoOgSHr8qAst2Y7w6HgU1fwXlrNYcBLR2RpCXfz4JIQW3w0c0gxWieHhf6oIatz8YaNWrzEzOXMbjg2SVwlFImKj5MUo7Gru37XXqLAdMlJwvDkLBYfmBsgM+3c9uCjolFWV+PHrPlHLOUQCyaFPtLoPCmb5n4xkVxxx9ujtyiWH7muzqwMo8kZwCH2Fua3N5Q/IjHfccNQX/L14MRd7FMjMIcd3K255qhV9ytdwgZWimXYQ2uiDqtYvQIDAQAB",
            "SHA256:Mcy2v22dWxOdNG81n5Sfm2tDrEP2/Jk217Q2Zpv+n3A",
        ),
    ];

    #[test]
    fn fingerprints_are_those_of_ssh() {
        for (key, fingerprint) in KNOWN {
            let der = STANDARD.decode(key).unwrap();
            assert_eq!(ssh_fingerprint(&der).as_deref(), Some(fingerprint));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, key in 0..4usize, position: usize, bit in 0..8u32) {
            let _ = ssh_fingerprint(&bytes);
            let mut changed = STANDARD.decode(KNOWN[key].0).unwrap();
            let position = position % changed.len();
            changed[position] ^= 1 << bit;
            let _ = ssh_fingerprint(&changed);
        }
    }
}
