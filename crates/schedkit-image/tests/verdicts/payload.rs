//! What is signed, in cosign's two formats.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schedkit_core::Digest;

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        encode(der)
    )
}

pub(crate) fn statement(digest: &Digest) -> String {
    format!(
        r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"digest":{{"sha256":"{}"}}}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{{}}}}"#,
        digest.hex()
    )
}

pub(crate) fn simple_payload(digest: &Digest) -> Vec<u8> {
    format!(
        r#"{{"critical":{{"identity":{{"docker-reference":"registry.example/a"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"cosign container image signature"}},"optional":null}}"#
    )
    .into_bytes()
}

/// The pre-authentication encoding of a bundle: type and payload, each with its length.
pub(crate) fn enclose(payload: &str) -> Vec<u8> {
    enclose_as("application/vnd.in-toto+json", payload)
}

pub(crate) fn enclose_as(kind: &str, payload: &str) -> Vec<u8> {
    format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len()).into_bytes()
}
