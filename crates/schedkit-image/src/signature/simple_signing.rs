//! A signature in "simple signing" form, as cosign v2 stores it under the tag `sha256-<hex>.sig`:
//! the layer is the payload that was signed, its annotations hold everything else.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use schedkit_core::Digest;
use serde::Deserialize;
use sigstore_verify::types::bundle::{
    CertificateContent, InclusionPromise, LogId, MediaType, MessageDigest, MessageSignature,
    TransparencyLogEntry, VerificationMaterial, VerificationMaterialContent,
};
use sigstore_verify::types::{
    Bundle, CanonicalizedBody, DerCertificate, DigestBytes, HashAlgorithm, KindVersion, LogIndex,
    LogKeyId, PublicKeyIdentifier, SignatureBytes, SignatureContent, SignedTimestamp,
};

use super::payload;
use super::refusal::Refusal;
use crate::hash::sha256;
use crate::untrusted::brief;

const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const LOG_BUNDLE: &str = "dev.sigstore.cosign/bundle";

#[derive(Debug)]
pub(super) struct SimpleSignature<'a> {
    payload: &'a [u8],
    signature: Vec<u8>,
    certificate: Option<DerCertificate>,
    log_bundle: Option<&'a str>,
}

/// Rekor's response when the signature was entered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogBundle {
    #[serde(rename = "SignedEntryTimestamp")]
    promise: String,
    #[serde(rename = "Payload")]
    payload: LogPayload,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogPayload {
    body: String,
    #[serde(rename = "integratedTime")]
    integrated_time: i64,
    #[serde(rename = "logIndex")]
    log_index: i64,
    #[serde(rename = "logID")]
    log_id: String,
}

/// The fields of an entry's body that tell its kind.
#[derive(Deserialize)]
struct Body {
    #[serde(rename = "apiVersion")]
    version: String,
    kind: String,
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    hash: Hash,
}

#[derive(Deserialize)]
struct Hash {
    algorithm: String,
}

impl<'a> SimpleSignature<'a> {
    pub(super) fn parse(
        payload: &'a [u8],
        annotations: &'a BTreeMap<String, String>,
    ) -> Result<Self, Refusal> {
        let signature = annotations
            .get(SIGNATURE)
            .ok_or_else(|| fault(SIGNATURE, "is missing"))?;
        let signature = STANDARD
            .decode(signature)
            .map_err(|_| fault(SIGNATURE, "cannot be read"))?;
        let certificate = annotations
            .get(CERTIFICATE)
            .filter(|text| !text.is_empty())
            .map(|text| certificate(text))
            .transpose()?;
        let log_bundle = annotations.get(LOG_BUNDLE).map(String::as_str);
        Ok(Self {
            payload,
            signature,
            certificate,
            log_bundle,
        })
    }

    /// Checks that its payload signs this digest.
    pub(super) fn check_payload(&self, digest: &Digest) -> Result<(), Refusal> {
        payload::check_simple(self.payload, digest)
    }

    /// Whether it was signed with a certificate; otherwise with a key.
    pub(super) fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }

    pub(super) fn certificate(&self) -> Option<&DerCertificate> {
        self.certificate.as_ref()
    }

    pub(super) fn payload(&self) -> &[u8] {
        self.payload
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// The same as a bundle of version 0.1, which has a promise of the log and no proof, so that one
    /// verifier serves both formats.
    pub(super) fn to_bundle(&self) -> Result<Bundle, Refusal> {
        let entry = log_entry(self.log_bundle.ok_or(Refusal::NoLogEntry)?)?;
        let material = match &self.certificate {
            Some(der) => {
                VerificationMaterialContent::Certificate(CertificateContent::new(der.clone()))
            }
            None => VerificationMaterialContent::PublicKey(PublicKeyIdentifier::new("")),
        };
        let digest = DigestBytes::new(sha256(self.payload).as_bytes().to_vec());
        let digest = MessageDigest::new(HashAlgorithm::Sha2256, digest);
        let signature = MessageSignature::new(SignatureBytes::new(self.signature.clone()));
        Ok(Bundle::new(
            MediaType::Bundle0_1,
            VerificationMaterial::new(material).with_tlog_entries(vec![entry]),
            SignatureContent::MessageSignature(signature.with_message_digest(digest)),
        ))
    }
}

fn certificate(text: &str) -> Result<DerCertificate, Refusal> {
    if text.matches("-----BEGIN ").count() != 1 {
        return Err(fault(CERTIFICATE, "does not hold exactly one certificate"));
    }
    DerCertificate::from_pem(text).map_err(|_| fault(CERTIFICATE, "cannot be read"))
}

fn log_entry(text: &str) -> Result<TransparencyLogEntry, Refusal> {
    let unreadable = |why: &str| fault(LOG_BUNDLE, &format!("cannot be read: {}", brief(why)));
    let LogBundle { promise, payload } =
        serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))?;
    let body = STANDARD
        .decode(&payload.body)
        .map_err(|_| unreadable("its body is not base64"))?;
    let kind: Body =
        serde_json::from_slice(&body).map_err(|error| unreadable(&error.to_string()))?;
    if (kind.kind.as_str(), kind.version.as_str()) != ("hashedrekord", "0.0.1") {
        let kind = format!("{}/{}", kind.kind, kind.version);
        return Err(Refusal::OtherLogEntry(format!("it is a {}", brief(&kind))));
    }
    if kind.spec.data.hash.algorithm != "sha256" {
        return Err(Refusal::OtherLogEntry(
            "it names no SHA-256 digest".to_owned(),
        ));
    }
    let promise = STANDARD
        .decode(promise)
        .map_err(|_| unreadable("its promise is not base64"))?;
    let index =
        LogIndex::try_from(payload.log_index).map_err(|_| unreadable("its index is negative"))?;
    let id = format!("sha256:{}", payload.log_id).parse::<Digest>();
    let id = id.map_err(|_| unreadable("its log ID is no SHA-256"))?;
    let time = Timestamp::from_second(payload.integrated_time);
    let time = time.map_err(|_| unreadable("its time is out of range"))?;
    let entry = TransparencyLogEntry::new(
        index,
        LogId::new(LogKeyId::from_bytes(id.as_bytes())),
        KindVersion::HashedRekordV001,
        CanonicalizedBody::new(body),
    );
    Ok(entry
        .with_integrated_time(time)
        .with_inclusion_promise(InclusionPromise::new(SignedTimestamp::new(promise))))
}

fn fault(name: &'static str, fault: &str) -> Refusal {
    let fault = fault.to_owned();
    Refusal::Annotation { name, fault }
}
