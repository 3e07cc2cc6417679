//! Logs that have ended: what is entered afterwards, or at an unknown time, proves nothing.
//!
//! `second_log/` has a signature of the lab's Sigstore in its Rekor v2 log, with a timestamp of
//! 2026-11-16, 13:33 UTC, and the trusted root of that Sigstore.

use jiff::{SignedDuration, Timestamp};
use schedkit_image::signature::Refusal;
use serde_json::{Value, json};

use crate::fixture::{BY_IDENTITY, BY_KEY, bundle_verdict, our_statement, policy, reason};
use crate::sigstore::{CertificateSpec, SigningKey, Sigstore};

fn stamped() -> (Value, Value) {
    let bundle = serde_json::from_str(include_str!("second_log/bundle.json")).unwrap();
    let root = serde_json::from_str(include_str!("second_log/trusted_root.json")).unwrap();
    (bundle, root)
}

/// The root whose Rekor v2 log ends at this time.
fn ending(mut root: Value, end: &str) -> Value {
    root["tlogs"][1]["publicKey"]["validFor"]["end"] = end.into();
    root
}

#[tokio::test]
async fn an_entry_that_was_stamped_after_the_end_is_refused() {
    let (bundle, root) = stamped();
    let verdict = async |root: &Value| {
        let policy = policy(BY_IDENTITY, &SigningKey::new(), root);
        bundle_verdict(&policy, &bundle).await
    };
    assert!(verdict(&root).await.is_ok());
    let later = ending(root.clone(), "2026-11-17T00:00:00Z");
    assert!(verdict(&later).await.is_ok());
    let earlier = ending(root, "2026-11-16T13:00:00Z");
    let refusal = reason(verdict(&earlier).await);
    assert!(
        matches!(refusal, Refusal::LogEnded { end, made } if end < made),
        "{refusal:?}"
    );
}

#[tokio::test]
async fn an_entry_of_a_key_needs_a_time_once_its_log_has_ended() {
    let sigstore = Sigstore::new();
    let key = SigningKey::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let from_now = |seconds| {
        let end = Timestamp::now() + SignedDuration::from_secs(seconds);
        policy(&text, &key, &ending(sigstore.root(), &end.to_string()))
    };
    let bundle = sigstore.key_bundle_in_rekor_v2(&our_statement(), &key);
    assert!(bundle_verdict(&from_now(3600), &bundle).await.is_ok());
    let refusal = reason(bundle_verdict(&from_now(-60), &bundle).await);
    assert!(matches!(refusal, Refusal::NoTime(_)), "{refusal:?}");
    let mut stamped = bundle.clone();
    stamped["verificationMaterial"]["timestampVerificationData"] =
        json!({"rfc3161Timestamps": [{"signedTimestamp": "AAAA"}]});
    assert!(bundle_verdict(&from_now(3600), &stamped).await.is_ok());
    let refusal = reason(bundle_verdict(&from_now(-60), &stamped).await);
    assert!(matches!(refusal, Refusal::Timestamp(_)), "{refusal:?}");
}

#[tokio::test]
async fn a_promise_is_a_time() {
    let sigstore = Sigstore::new();
    let key = SigningKey::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let mut root = sigstore.root();
    let end = Timestamp::now() - SignedDuration::from_secs(5);
    root["tlogs"][0]["publicKey"]["validFor"]["end"] = end.to_string().into();
    let by_key = policy(&text, &key, &root);
    let good = sigstore.key_bundle(&our_statement(), &key);
    assert!(bundle_verdict(&by_key, &good).await.is_ok());
    let mut unpromised = good;
    unpromised["verificationMaterial"]["tlogEntries"][0]["inclusionPromise"] = Value::Null;
    let refusal = reason(bundle_verdict(&by_key, &unpromised).await);
    assert!(matches!(refusal, Refusal::NoTime(_)), "{refusal:?}");
    let by_identity = policy(BY_IDENTITY, &key, &root);
    let late = CertificateSpec {
        logged: -1,
        ..CertificateSpec::default()
    };
    let late = sigstore.bundle(&our_statement(), &late);
    let refusal = reason(bundle_verdict(&by_identity, &late).await);
    assert!(matches!(refusal, Refusal::LogPromise(_)), "{refusal:?}");
}

#[tokio::test]
async fn the_url_of_the_policy_excludes_other_logs() {
    let sigstore = Sigstore::new();
    let bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    for (url, is_accepted) in [("https://rekor.test", true), ("https://log2.test/", false)] {
        let text = format!("{BY_IDENTITY}rekorURL: {url}\n");
        let policy = policy(&text, &SigningKey::new(), &sigstore.root());
        match (is_accepted, bundle_verdict(&policy, &bundle).await) {
            (true, outcome) => assert!(outcome.is_ok(), "{outcome:?}"),
            (false, outcome) => assert_eq!(reason(outcome), Refusal::UnknownLog),
        }
    }
}
