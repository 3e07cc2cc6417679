//! Keys that a policy accepts for some time only: what a log or a timestamp authority proves counts,
//! and without a proof the time of the verification.

use jiff::{SignedDuration, Timestamp};
use schedkit_image::signature::{Refusal, Verified, VerifyError};
use schedkit_image::trust::{Policy, SignerMismatch};
use serde_json::{Value, json};
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};

use crate::fixture::{
    bundle_verdict, layer_verdict, our_payload, our_statement, policy_of, reason,
};
use crate::payload::decode;
use crate::sigstore::{SigningKey, Sigstore, pem};

/// With the time of the fixture's timestamp.
const STAMPED: &str = "2026-11-16T13:33:11Z";
const BEFORE: &str = "2026-11-16T13:33:10Z";

/// Accepts a key with these fields; `more` is for the whole policy.
fn limited(spki: &[u8], root: &Value, fields: &str, more: &str) -> Policy {
    let text = format!(
        "version: 2\ntrustedRoot: ROOT\n{more}signers: {{a: {{key: KEY, {fields}}}}}\n\
         rules: [{{scope: '*', signers: [a], title: any}}]\n"
    );
    policy_of(&text, spki, root)
}

fn ago(seconds: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_secs(seconds)
}

#[track_caller]
fn is_outside(outcome: Result<Verified, VerifyError>) -> bool {
    let refusal = reason(outcome);
    matches!(refusal, Refusal::Signer(SignerMismatch::Validity { .. }))
}

/// The entry was made ten seconds ago.
#[tokio::test]
async fn the_time_of_a_log_entry_counts_also_where_none_is_required() {
    let (sigstore, key) = (Sigstore::new(), SigningKey::new());
    let (root, spki) = (sigstore.root(), key.spki());
    let ended = format!("notAfter: {}", ago(5));
    let begun = format!("notBefore: {}", ago(5));
    let logged = sigstore.key_bundle(&our_statement(), &key);
    let mut unlogged = logged.clone();
    unlogged["verificationMaterial"]["tlogEntries"] = json!([]);
    // A log that the root does not have proves nothing.
    let elsewhere = Sigstore::new().key_bundle(&our_statement(), &key);
    for (bundle, is_proven) in [(&logged, true), (&unlogged, false), (&elsewhere, false)] {
        let policy = limited(&spki, &root, &ended, "");
        let outcome = bundle_verdict(&policy, bundle).await;
        match is_proven {
            true => assert!(outcome.unwrap().evidence().integrated_time.is_some()),
            false => assert!(is_outside(outcome)),
        }
        let policy = limited(&spki, &root, &begun, "");
        let outcome = bundle_verdict(&policy, bundle).await;
        match is_proven {
            true => assert!(is_outside(outcome)),
            false => assert_eq!(outcome.unwrap().evidence().log, None),
        }
    }
    let payload = our_payload();
    let signer = pem("PUBLIC KEY", &spki);
    let annotations = sigstore.logged_annotations(&payload, &key.sign(&payload), &signer, -10);
    let policy = limited(&spki, &root, &ended, "");
    assert!(layer_verdict(&policy, &payload, &annotations).await.is_ok());
    let policy = limited(&spki, &root, &begun, "");
    assert!(is_outside(
        layer_verdict(&policy, &payload, &annotations).await
    ));
}

/// A signature in a Rekor v2 log, with the timestamp of `second_log/`: it is the signature that has
/// the timestamp, and its key serves without its certificate.
struct Stamped {
    bundle: Value,
    root: Value,
    spki: Vec<u8>,
}

impl Stamped {
    fn new() -> Self {
        let read = |text| serde_json::from_str::<Value>(text).unwrap();
        let original = read(include_str!("second_log/bundle.json"));
        let text = |pointer| original.pointer(pointer).unwrap().as_str().unwrap();
        let certificate = decode(text("/verificationMaterial/certificate/rawBytes"));
        let certificate = Certificate::from_der(&certificate).unwrap();
        let spki = certificate.tbs_certificate.subject_public_key_info;
        let spki = spki.to_der().unwrap();
        let signature = decode(text("/dsseEnvelope/signatures/0/sig"));
        let payload = String::from_utf8(decode(text("/dsseEnvelope/payload"))).unwrap();
        let sigstore = Sigstore::new();
        let details = SigningKey::new().details();
        let mut bundle = sigstore.enter_in_rekor_v2(&payload, &signature, &spki, details);
        let timestamps = "timestampVerificationData";
        bundle["verificationMaterial"][timestamps] =
            original["verificationMaterial"][timestamps].clone();
        let mut root = sigstore.root();
        let lab = read(include_str!("second_log/trusted_root.json"));
        root["timestampAuthorities"] = lab["timestampAuthorities"].clone();
        Self { bundle, root, spki }
    }

    /// The log ends at this time, if at all.
    async fn verdict(
        &self,
        end: Option<Timestamp>,
        fields: &str,
        more: &str,
    ) -> Result<Verified, VerifyError> {
        let mut root = self.root.clone();
        let window = &mut root["tlogs"][1]["publicKey"]["validFor"];
        window["start"] = "2026-11-01T00:00:00Z".into();
        if let Some(end) = end {
            window["end"] = end.to_string().into();
        }
        let policy = limited(&self.spki, &root, fields, more);
        bundle_verdict(&policy, &self.bundle).await
    }
}

#[tokio::test]
async fn a_timestamp_beside_a_log_entry_counts() {
    let stamped = Stamped::new();
    for end in [None, Some(ago(1))] {
        for more in ["", "requireTransparencyLog: true\n"] {
            let until = async |time| {
                let fields = format!("notAfter: {time}");
                stamped.verdict(end, &fields, more).await
            };
            let accepted = until(STAMPED).await.unwrap();
            let stamp: Timestamp = STAMPED.parse().unwrap();
            assert_eq!(accepted.evidence().timestamps, [stamp], "{end:?} {more}");
            assert!(is_outside(until(BEFORE).await), "{end:?} {more}");
        }
    }
}

#[tokio::test]
async fn an_invalid_timestamp_proves_nothing() {
    let mut stamped = Stamped::new();
    stamped.root["timestampAuthorities"] = json!([]);
    let begun = format!("notBefore: {}", ago(60));
    for more in ["", "requireTransparencyLog: true\n"] {
        let accepted = stamped.verdict(None, &begun, more).await.unwrap();
        assert!(accepted.evidence().timestamps.is_empty(), "{more}");
        let until = format!("notAfter: {STAMPED}");
        assert!(is_outside(stamped.verdict(None, &until, more).await));
    }
}
