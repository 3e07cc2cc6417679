//! The log entry of a signature made with a certificate.

use schedkit_image::signature::Refusal;
use serde_json::{Value, json};

use crate::fixture::{
    BY_IDENTITY, bundle_verdict, by_identity, layer_verdict, our_payload, our_statement, policy,
    reason,
};
use crate::sigstore::{CertificateSpec, SigningKey, Sigstore, encode};

/// A good bundle whose log entry was changed.
async fn with_entry(edit: impl Fn(&mut Value)) -> Refusal {
    let sigstore = Sigstore::new();
    let mut bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    edit(&mut bundle["verificationMaterial"]["tlogEntries"]);
    reason(bundle_verdict(&by_identity(&sigstore), &bundle).await)
}

#[tokio::test]
async fn every_part_of_the_log_entry_is_checked() {
    assert_eq!(
        with_entry(|list| *list = json!([])).await,
        Refusal::NoLogEntry
    );
    let twice = |list: &mut Value| *list = json!([list[0], list[0]]);
    assert_eq!(with_entry(twice).await, Refusal::LogEntries(2));
    let unknown = |list: &mut Value| list[0]["logId"]["keyId"] = encode([7; 32]).into();
    let outcome = with_entry(unknown).await;
    assert_eq!(outcome, Refusal::UnknownLog);
    assert!(outcome.to_string().contains("`trustedRoot`"));
    let unpromised = |list: &mut Value| list[0]["inclusionPromise"] = Value::Null;
    assert!(matches!(with_entry(unpromised).await, Refusal::NoTime(_)));
    let backdated = |list: &mut Value| {
        let time: i64 = list[0]["integratedTime"].as_str().unwrap().parse().unwrap();
        list[0]["integratedTime"] = (time - 5).to_string().into();
    };
    assert!(matches!(
        with_entry(backdated).await,
        Refusal::LogPromise(_)
    ));
    let timeless = |list: &mut Value| list[0]["integratedTime"] = "0".into();
    assert!(matches!(with_entry(timeless).await, Refusal::LogPromise(_)));
    let unproven = |list: &mut Value| list[0]["inclusionProof"] = Value::Null;
    assert!(matches!(with_entry(unproven).await, Refusal::LogProof(_)));
    let other_root =
        |list: &mut Value| list[0]["inclusionProof"]["rootHash"] = encode([7; 32]).into();
    assert!(matches!(
        with_entry(other_root).await,
        Refusal::LogProof(_) | Refusal::Bundle(_)
    ));
    let envelope = |list: &mut Value, edit: fn(&str) -> String| {
        let text = list[0]["inclusionProof"]["checkpoint"]["envelope"]
            .as_str()
            .unwrap();
        list[0]["inclusionProof"]["checkpoint"]["envelope"] = edit(text).into();
    };
    let renumbered = |list: &mut Value| envelope(list, |text| text.replace("- 42", "- 43"));
    assert!(matches!(with_entry(renumbered).await, Refusal::LogProof(_)));
    let second_kind = |list: &mut Value| envelope(list, |text| text.replace(" - 42", ""));
    assert!(matches!(
        with_entry(second_kind).await,
        Refusal::LogProof(_)
    ));
    let three_parts = |list: &mut Value| envelope(list, |text| format!("{text}\n\nmore\n"));
    assert!(matches!(
        with_entry(three_parts).await,
        Refusal::LogProof(_)
    ));
}

#[tokio::test]
async fn only_p256_keys_make_promises() {
    let sigstore = Sigstore::new();
    let mut root = sigstore.root();
    root["tlogs"][0]["publicKey"]["keyDetails"] = "PKIX_ECDSA_P384_SHA_384".into();
    let policy = policy(BY_IDENTITY, &SigningKey::new(), &root);
    let outcome = bundle_verdict(
        &policy,
        &sigstore.bundle(&our_statement(), &CertificateSpec::default()),
    )
    .await;
    assert!(matches!(reason(outcome), Refusal::LogPromise(_)));
}

#[tokio::test]
async fn a_checkpoint_of_the_newer_kind_does_not_prove_an_older_entry() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let spec = CertificateSpec {
        origin: "rekor.test",
        ..CertificateSpec::default()
    };
    let outcome = bundle_verdict(&policy, &sigstore.bundle(&our_statement(), &spec)).await;
    assert!(matches!(reason(outcome), Refusal::LogProof(_)));
}

#[tokio::test]
async fn an_entry_of_another_signature_does_not_count() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let mut bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    let other = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    bundle["verificationMaterial"]["tlogEntries"] =
        other["verificationMaterial"]["tlogEntries"].clone();
    assert!(matches!(
        reason(bundle_verdict(&policy, &bundle).await),
        Refusal::OtherLogEntry(_)
    ));
    let payload = our_payload();
    let mut annotations = sigstore.annotations(&payload, &CertificateSpec::default());
    let other = sigstore.annotations(&payload, &CertificateSpec::default());
    let name = "dev.sigstore.cosign/bundle";
    annotations[name] = other[name].clone();
    let outcome = layer_verdict(&policy, &payload, &annotations).await;
    assert!(matches!(reason(outcome), Refusal::OtherLogEntry(_)));
}

#[tokio::test]
async fn the_older_format_needs_its_log_entry() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let payload = our_payload();
    let good = sigstore.annotations(&payload, &CertificateSpec::default());
    let verdict = async |edit: &dyn Fn(&mut Value)| {
        let mut annotations = good.clone();
        edit(&mut annotations);
        reason(layer_verdict(&policy, &payload, &annotations).await)
    };
    let name = "dev.sigstore.cosign/bundle";
    let without = |all: &mut Value| drop(all.as_object_mut().unwrap().remove(name));
    assert_eq!(verdict(&without).await, Refusal::NoLogEntry);
    let change = |all: &mut Value, edit: &dyn Fn(&mut Value)| {
        let mut log: Value = serde_json::from_str(all[name].as_str().unwrap()).unwrap();
        edit(&mut log);
        all[name] = log.to_string().into();
    };
    let backdated = |log: &mut Value| {
        log["Payload"]["integratedTime"] =
            (log["Payload"]["integratedTime"].as_i64().unwrap() - 5).into();
    };
    assert!(matches!(
        verdict(&|all| change(all, &backdated)).await,
        Refusal::LogPromise(_)
    ));
    let unknown = |log: &mut Value| log["Payload"]["logID"] = "07".repeat(32).into();
    assert_eq!(
        verdict(&|all| change(all, &unknown)).await,
        Refusal::UnknownLog
    );
    let other_kind = |log: &mut Value| {
        log["Payload"]["body"] = encode(r#"{"apiVersion":"0.0.1","kind":"rekord","spec":{"data":{"hash":{"algorithm":"sha256"}}}}"#).into();
    };
    assert!(matches!(
        verdict(&|all| change(all, &other_kind)).await,
        Refusal::OtherLogEntry(_)
    ));
    let garbled = |all: &mut Value| all[name] = "{}".into();
    assert!(matches!(
        verdict(&garbled).await,
        Refusal::Annotation { .. }
    ));
    let certificates = "dev.sigstore.cosign/certificate";
    let two = |all: &mut Value| {
        let one = all[certificates].as_str().unwrap().to_owned();
        all[certificates] = format!("{one}{one}").into();
    };
    assert!(matches!(verdict(&two).await, Refusal::Annotation { .. }));
}

#[tokio::test]
async fn the_newer_log_needs_a_timestamp() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let bundle = sigstore.bundle_in_rekor_v2(&our_statement());
    assert!(matches!(
        reason(bundle_verdict(&policy, &bundle).await),
        Refusal::NoTime(_)
    ));
    let stamped = |bundle: &Value| {
        let mut bundle = bundle.clone();
        bundle["verificationMaterial"]["timestampVerificationData"] =
            json!({"rfc3161Timestamps": [{"signedTimestamp": encode("nothing")}]});
        bundle
    };
    let outcome = reason(bundle_verdict(&policy, &stamped(&bundle)).await);
    assert!(matches!(outcome, Refusal::Timestamp(_)), "{outcome:?}");
    let mut timed = stamped(&bundle);
    timed["verificationMaterial"]["tlogEntries"][0]["integratedTime"] = "1".into();
    assert!(matches!(
        reason(bundle_verdict(&policy, &timed).await),
        Refusal::NoTime(_)
    ));
    let mut promised = stamped(&bundle);
    promised["verificationMaterial"]["tlogEntries"][0]["inclusionPromise"] =
        json!({"signedEntryTimestamp": encode("yes")});
    assert_eq!(
        reason(bundle_verdict(&policy, &promised).await),
        Refusal::LogPromise("Rekor v2 makes no promises".to_owned())
    );
    let mut borrowed = stamped(&bundle);
    let other = sigstore.bundle_in_rekor_v2(&our_statement());
    borrowed["verificationMaterial"]["tlogEntries"] =
        other["verificationMaterial"]["tlogEntries"].clone();
    assert!(matches!(
        reason(bundle_verdict(&policy, &borrowed).await),
        Refusal::OtherLogEntry(_)
    ));
    let mut elsewhere = stamped(&bundle);
    let envelope = &mut elsewhere["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["checkpoint"]
        ["envelope"];
    *envelope = envelope
        .as_str()
        .unwrap()
        .replace("log2.test\n", "log3.test\n")
        .into();
    assert!(matches!(
        reason(bundle_verdict(&policy, &elsewhere).await),
        Refusal::LogProof(_)
    ));
}

#[tokio::test]
async fn the_number_of_timestamps_is_limited() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let mut bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    let mut stamp = |count| {
        let one = json!({"signedTimestamp": encode("nothing")});
        bundle["verificationMaterial"]["timestampVerificationData"] =
            json!({"rfc3161Timestamps": vec![one; count]});
        bundle.clone()
    };
    assert!(bundle_verdict(&policy, &stamp(32)).await.is_ok());
    assert!(matches!(
        reason(bundle_verdict(&policy, &stamp(33)).await),
        Refusal::Bundle(why) if why.contains("33 timestamps")
    ));
}

#[tokio::test]
async fn an_untrusted_timestamp_beside_the_logs_promise_is_ignored() {
    let sigstore = Sigstore::new();
    let mut bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    bundle["verificationMaterial"]["timestampVerificationData"] =
        json!({"rfc3161Timestamps": [{"signedTimestamp": encode("nothing")}]});
    let verified = bundle_verdict(&by_identity(&sigstore), &bundle)
        .await
        .unwrap();
    assert_eq!(verified.evidence().timestamps, []);
}
