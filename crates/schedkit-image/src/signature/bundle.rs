//! A Sigstore bundle, as cosign v3 attaches one to an image.
//!
//! It is parsed twice: first into types that list every field a bundle may have and refuse unknown
//! and repeated ones, as cosign's parser does; then by the library that verifies it, which accepts
//! more. Whatever passes the first parser means only one thing to the second.

use schedkit_core::Digest;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sigstore_verify::types::bundle::TimestampVerificationData;
use sigstore_verify::types::{self, DerCertificate, SignatureContent};

use super::key_id::ssh_fingerprint;
use super::payload;
use super::refusal::Refusal;
use crate::untrusted::brief;

const VERSIONS: [&str; 2] = [
    "application/vnd.dev.sigstore.bundle.v0.3+json",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
];
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// cosign's limit.
const MAX_TIMESTAMPS: usize = 32;

/// A bundle with a signed statement, the kind that cosign signs images with.
#[derive(Debug)]
pub(super) struct Bundle {
    parsed: types::Bundle,
    /// The key that the envelope names, if it names one.
    key_id: Option<String>,
    payload: Vec<u8>,
    message: Vec<u8>,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Outline {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
    message_signature: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Material {
    public_key: Option<PublicKeyHint>,
    certificate: Option<RawBytes>,
    #[serde(rename = "x509CertificateChain")]
    chain: Option<IgnoredAny>,
    tlog_entries: Option<Vec<Entry>>,
    #[serde(rename = "timestampVerificationData")]
    timestamps: Option<Timestamps>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicKeyHint {
    #[serde(rename = "hint")]
    _hint: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBytes {
    #[serde(rename = "rawBytes")]
    _raw_bytes: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Timestamps {
    #[serde(rename = "rfc3161Timestamps")]
    list: Option<Vec<SignedTimestamp>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedTimestamp {
    #[serde(rename = "signedTimestamp")]
    _signed: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    #[serde(rename = "logIndex")]
    _index: Option<IgnoredAny>,
    #[serde(rename = "logId")]
    _log: LogId,
    #[serde(rename = "kindVersion")]
    _kind: KindVersion,
    #[serde(rename = "integratedTime")]
    _time: Option<IgnoredAny>,
    #[serde(rename = "inclusionPromise")]
    _promise: Option<Promise>,
    inclusion_proof: Option<Proof>,
    #[serde(rename = "canonicalizedBody")]
    _body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogId {
    #[serde(rename = "keyId")]
    _key_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindVersion {
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "version")]
    _version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Promise {
    #[serde(rename = "signedEntryTimestamp")]
    _set: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    #[serde(rename = "logIndex")]
    _index: Option<IgnoredAny>,
    #[serde(rename = "rootHash")]
    _root: String,
    #[serde(rename = "treeSize")]
    _size: IgnoredAny,
    #[serde(rename = "hashes")]
    _hashes: Option<Vec<String>>,
    #[serde(rename = "checkpoint")]
    _checkpoint: Checkpoint,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    #[serde(rename = "envelope")]
    _envelope: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    #[serde(rename = "payload")]
    _payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeSignature {
    #[serde(rename = "sig")]
    _sig: String,
    #[serde(rename = "keyid")]
    key_id: Option<String>,
}

impl Bundle {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let outline: Outline =
            serde_json::from_slice(bytes).map_err(|error| unreadable(&error.to_string()))?;
        outline.check()?;
        let text = str::from_utf8(bytes).map_err(|error| unreadable(&error.to_string()))?;
        let key_id = outline.key_id();
        let parsed =
            types::Bundle::from_json(text).map_err(|error| unreadable(&error.to_string()))?;
        let SignatureContent::DsseEnvelope(envelope) = &parsed.content else {
            return Err(Refusal::NoStatement);
        };
        let payload = envelope.payload.as_bytes().to_vec();
        let message = envelope.pae();
        let signature = envelope.signature.sig.as_bytes().to_vec();
        Ok(Self {
            parsed,
            key_id,
            payload,
            message,
            signature,
        })
    }

    /// Checks that its statement signs this digest.
    pub(super) fn check_payload(&self, digest: &Digest) -> Result<(), Refusal> {
        payload::check_statement(&self.payload, digest)
    }

    /// Checks that the envelope names no other key than this one, in DER form.
    pub(super) fn check_key_id(&self, key: &[u8]) -> Result<(), Refusal> {
        match &self.key_id {
            Some(named) if ssh_fingerprint(key).as_ref() != Some(named) => {
                Err(Refusal::OtherKeyId(brief(named)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What its statement says, unparsed.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Whether it was signed with a certificate; otherwise with a key.
    pub(super) fn has_certificate(&self) -> bool {
        self.certificate().is_some()
    }

    pub(super) fn certificate(&self) -> Option<&DerCertificate> {
        self.parsed.signing_certificate()
    }

    /// What was signed: the payload and its type, each with its length.
    pub(super) fn message(&self) -> &[u8] {
        &self.message
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }

    pub(super) fn parsed(&self) -> &types::Bundle {
        &self.parsed
    }

    /// The same without its timestamps: where the log proves the time, cosign ignores them, and an
    /// untrusted one must not make a good signature fail.
    pub(super) fn without_timestamps(&self) -> types::Bundle {
        let mut bundle = self.parsed.clone();
        bundle.verification_material.timestamp_verification_data =
            TimestampVerificationData::default();
        bundle
    }
}

impl Outline {
    fn check(&self) -> Result<(), Refusal> {
        if !VERSIONS.contains(&self.media_type.as_str()) {
            return Err(Refusal::BundleVersion(brief(&self.media_type)));
        }
        let envelope = match (&self.dsse_envelope, &self.message_signature) {
            (Some(envelope), None) => envelope,
            (None, Some(_)) => return Err(Refusal::NoStatement),
            _ => return Err(unreadable("it has no content, or two")),
        };
        if envelope.payload_type != IN_TOTO {
            return Err(Refusal::OtherPayload(brief(&envelope.payload_type)));
        }
        if envelope.signatures.len() != 1 {
            let count = envelope.signatures.len();
            return Err(unreadable(&format!(
                "it has {count} signatures where one is expected"
            )));
        }
        let material = &self.verification_material;
        if material.chain.is_some() {
            return Err(Refusal::CertificateChain);
        }
        if material.public_key.is_some() == material.certificate.is_some() {
            return Err(unreadable(
                "it was made with neither a key nor a certificate, or both",
            ));
        }
        material.timestamps.iter().try_for_each(Timestamps::check)?;
        let mut entries = material.tlog_entries.iter().flatten();
        if entries.any(|entry| entry.inclusion_proof.is_none()) {
            return Err(Refusal::LogProof("there is none".to_owned()));
        }
        Ok(())
    }

    fn key_id(self) -> Option<String> {
        let mut signatures = self.dsse_envelope?.signatures.into_iter();
        signatures.next()?.key_id.filter(|named| !named.is_empty())
    }
}

impl Timestamps {
    fn check(&self) -> Result<(), Refusal> {
        let count = self.list.as_ref().map_or(0, Vec::len);
        if count > MAX_TIMESTAMPS {
            return Err(unreadable(&format!(
                "it has {count} timestamps, and no more than {MAX_TIMESTAMPS} are read"
            )));
        }
        Ok(())
    }
}

fn unreadable(why: &str) -> Refusal {
    Refusal::Bundle(brief(why))
}
