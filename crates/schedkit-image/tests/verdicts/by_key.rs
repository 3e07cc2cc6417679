//! Signatures made with keys.

use jiff::{SignedDuration, Timestamp};
use schedkit_image::signature::{Format, Refusal, SignatureSource, Signer, verify};
use schedkit_image::trust::Rule;
use serde_json::{Value, json};

use crate::fixture::{
    BY_KEY, bundle_verdict, by_identity, by_key, layer_verdict, our_payload, our_statement, policy,
    reason,
};
use crate::memory_registry::MemoryRegistry;
use crate::payload::enclose_as;
use crate::sigstore::{
    CertificateSpec, SigningKey, Sigstore, bundle, enclose, encode, hashed_body, pem, statement,
};

fn signed(key: &SigningKey, payload: &str) -> Value {
    let signature = key.sign(&enclose(payload));
    bundle(
        payload,
        &signature,
        &json!({"publicKey": {"hint": "anything"}}),
    )
}

fn annotations(key: &SigningKey, payload: &[u8]) -> Value {
    json!({"dev.cosignproject.cosign/signature": encode(key.sign(payload))})
}

#[tokio::test]
async fn both_formats_are_accepted_and_say_who_signed() {
    let key = SigningKey::new();
    let policy = by_key(&key);
    let verified = bundle_verdict(&policy, &signed(&key, &our_statement()))
        .await
        .unwrap();
    assert_eq!(verified.rule(), &Rule::Key(0));
    assert_eq!(verified.source(), SignatureSource::Referrer);
    assert_eq!(verified.policy(), policy.fingerprint());
    assert_eq!(verified.evidence().log, None);
    let Signer::Key { fingerprint, path } = verified.signer() else {
        panic!("a key");
    };
    assert_eq!(fingerprint, policy.keys()[0].key.fingerprint());
    assert!(path.ends_with("KEY"));
    let payload = our_payload();
    let verified = layer_verdict(&policy, &payload, &annotations(&key, &payload))
        .await
        .unwrap();
    assert_eq!(verified.source(), SignatureSource::SignatureTag);
    assert_eq!(verified.evidence().format, Format::SimpleSigning);
    assert_eq!(verified.image(), &MemoryRegistry::default().image("image"));
}

#[tokio::test]
async fn a_verdict_serializes_to_json() {
    let key = SigningKey::new();
    let verified = bundle_verdict(&by_key(&key), &signed(&key, &our_statement()))
        .await
        .unwrap();
    let outcome = serde_json::to_value(&verified).unwrap();
    assert_eq!(outcome["image"], verified.image().to_string());
    assert_eq!(outcome["signer"]["kind"], "key");
    assert_eq!(outcome["rule"], "keys[0]");
    assert_eq!(outcome["signature"]["source"], "referrer");
    assert_eq!(outcome["evidence"]["format"], "bundle");
    assert_eq!(outcome["policy"], verified.policy().to_string());
}

#[tokio::test]
async fn another_key_or_other_content_is_refused() {
    let (key, stranger) = (SigningKey::new(), SigningKey::new());
    let policy = by_key(&key);
    let other = bundle_verdict(&policy, &signed(&stranger, &our_statement())).await;
    assert_eq!(reason(other), Refusal::WrongKey);
    let payload = our_payload();
    let other = layer_verdict(&policy, &payload, &annotations(&stranger, &payload)).await;
    assert_eq!(reason(other), Refusal::WrongKey);
    let elsewhere = statement(MemoryRegistry::default().image("other").digest());
    let mut tampered = signed(&key, &elsewhere);
    tampered["dsseEnvelope"]["payload"] = encode(our_statement()).into();
    assert_eq!(
        reason(bundle_verdict(&policy, &tampered).await),
        Refusal::WrongKey
    );
    // The signature is over this type: only the type is wrong.
    let signature = key.sign(&enclose_as("text/plain", &our_statement()));
    let mut retyped = bundle(&our_statement(), &signature, &json!({"publicKey": {}}));
    retyped["dsseEnvelope"]["payloadType"] = "text/plain".into();
    assert_eq!(
        reason(bundle_verdict(&policy, &retyped).await),
        Refusal::OtherPayload("text/plain".to_owned())
    );
}

#[tokio::test]
async fn a_signature_of_something_else_is_refused() {
    let key = SigningKey::new();
    let policy = by_key(&key);
    let other = MemoryRegistry::default().image("other");
    let moved = bundle_verdict(&policy, &signed(&key, &statement(other.digest()))).await;
    assert_eq!(
        reason(moved),
        Refusal::OtherDigest(other.digest().to_string())
    );
    let payload = crate::sigstore::simple_payload(other.digest());
    let moved = layer_verdict(&policy, &payload, &annotations(&key, &payload)).await;
    assert_eq!(
        reason(moved),
        Refusal::OtherDigest(other.digest().to_string())
    );
    let provenance = our_statement().replace("cosign/sign/v1", "slsa/provenance/v1");
    assert!(matches!(
        reason(bundle_verdict(&policy, &signed(&key, &provenance)).await),
        Refusal::OtherPredicate(_)
    ));
    let older = our_statement().replace("Statement/v1", "Statement/v0.1");
    assert!(matches!(
        reason(bundle_verdict(&policy, &signed(&key, &older)).await),
        Refusal::OtherStatement(_)
    ));
}

#[tokio::test]
async fn keys_and_certificates_do_not_replace_each_other() {
    let key = SigningKey::new();
    let sigstore = Sigstore::new();
    let by_identity = by_identity(&sigstore);
    let keyed = bundle_verdict(&by_identity, &signed(&key, &our_statement())).await;
    assert_eq!(reason(keyed), Refusal::NoKeyTrusted);
    let keyless = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    assert_eq!(
        reason(bundle_verdict(&by_key(&key), &keyless).await),
        Refusal::NoIdentityTrusted
    );
    // A good signature of a trusted key, beside a certificate of whatever kind.
    let payload = our_payload();
    let mut both = annotations(&key, &payload);
    both["dev.sigstore.cosign/certificate"] = pem(
        "CERTIFICATE",
        &sigstore.certificate(&CertificateSpec::default(), &key),
    )
    .into();
    let verdict = layer_verdict(&by_key(&key), &payload, &both).await;
    assert_eq!(reason(verdict), Refusal::NoIdentityTrusted);
}

#[tokio::test]
async fn the_log_entry_is_verified_when_the_policy_requires_it() {
    let key = SigningKey::new();
    let sigstore = Sigstore::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let strict = policy(&text, &key, &sigstore.root());
    let unlogged = bundle_verdict(&strict, &signed(&key, &our_statement())).await;
    assert_eq!(reason(unlogged), Refusal::NoLogEntry);
    let good = sigstore.key_bundle(&our_statement(), &key);
    let verified = bundle_verdict(&strict, &good).await.unwrap();
    assert_eq!(
        verified.evidence().log.as_ref().unwrap().log,
        "https://rekor.test"
    );
    assert!(verified.evidence().integrated_time.is_some());
    let second = sigstore.key_bundle_in_rekor_v2(&our_statement(), &key);
    let verified = bundle_verdict(&strict, &second).await.unwrap();
    assert_eq!(
        verified.evidence().log.as_ref().unwrap().log,
        "https://log2.test"
    );

    let mut borrowed = good.clone();
    let other = sigstore.key_bundle(&our_statement(), &key);
    borrowed["verificationMaterial"]["tlogEntries"] =
        other["verificationMaterial"]["tlogEntries"].clone();
    assert!(matches!(
        reason(bundle_verdict(&strict, &borrowed).await),
        Refusal::OtherLogEntry(_)
    ));
    let mut borrowed = second.clone();
    let other = sigstore.key_bundle_in_rekor_v2(&our_statement(), &key);
    borrowed["verificationMaterial"]["tlogEntries"] =
        other["verificationMaterial"]["tlogEntries"].clone();
    assert!(matches!(
        reason(bundle_verdict(&strict, &borrowed).await),
        Refusal::OtherLogEntry(_)
    ));
    let misdescribed =
        sigstore.described_key_bundle(&our_statement(), &key, "PKIX_ECDSA_P384_SHA_384");
    assert_eq!(
        reason(bundle_verdict(&strict, &misdescribed).await),
        Refusal::RekorV2Key
    );
    let foreign = Sigstore::new().key_bundle(&our_statement(), &key);
    assert_eq!(
        reason(bundle_verdict(&strict, &foreign).await),
        Refusal::UnknownLog
    );
    // When no log entry is required, it is ignored.
    assert!(bundle_verdict(&by_key(&key), &foreign).await.is_ok());
}

#[tokio::test]
async fn signatures_from_the_future_are_refused() {
    let key = SigningKey::new();
    let sigstore = Sigstore::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let strict = policy(&text, &key, &sigstore.root());
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    registry.attach(&image, &sigstore.key_bundle(&our_statement(), &key));
    let earlier = Timestamp::now() - SignedDuration::from_secs(3600);
    let outcome = verify(&registry, &strict, &image, earlier).await;
    assert!(matches!(reason(outcome), Refusal::Future { now, .. } if now == earlier));
}

#[tokio::test]
async fn the_log_entry_of_a_sig_layer() {
    let key = SigningKey::new();
    let sigstore = Sigstore::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let strict = policy(&text, &key, &sigstore.root());
    let payload = our_payload();
    let unlogged = layer_verdict(&strict, &payload, &annotations(&key, &payload)).await;
    assert_eq!(reason(unlogged), Refusal::NoLogEntry);
    let signer = pem("PUBLIC KEY", &key.spki());
    let logged = sigstore.logged_annotations(&payload, &key.sign(&payload), &signer, -10);
    let verified = layer_verdict(&strict, &payload, &logged).await.unwrap();
    assert_eq!(verified.evidence().log.as_ref().unwrap().index, 7);
    let signature = key.sign(&payload);
    let mut body = hashed_body(&payload, &signature, &signer);
    body["spec"]["data"]["hash"]["algorithm"] = "sha512".into();
    let misnamed = sigstore.annotations_with(&body, &signature, -10);
    let verdict = layer_verdict(&strict, &payload, &misnamed).await;
    assert!(matches!(reason(verdict), Refusal::OtherLogEntry(_)));
    let stranger = pem("PUBLIC KEY", &SigningKey::new().spki());
    let other = sigstore.logged_annotations(&payload, &key.sign(&payload), &stranger, -10);
    let verdict = layer_verdict(&strict, &payload, &other).await;
    assert!(matches!(reason(verdict), Refusal::OtherLogEntry(_)));
}

#[tokio::test]
async fn refusals_of_keys_do_not_mention_certificates() {
    let sigstore = Sigstore::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let (key, payload) = (SigningKey::new(), our_payload());
    let strict = policy(&text, &key, &sigstore.root());
    let signer = pem("PUBLIC KEY", &key.spki());
    let early = sigstore.logged_annotations(&payload, &key.sign(&payload), &signer, 3600);
    let outcome = reason(layer_verdict(&strict, &payload, &early).await);
    assert!(matches!(outcome, Refusal::Future { .. }), "{outcome:?}");

    let large = SigningKey::p521();
    let strict = policy(&text, &large, &sigstore.root());
    let older = sigstore.key_bundle(&our_statement(), &large);
    let outcome = reason(bundle_verdict(&strict, &older).await);
    assert!(matches!(outcome, Refusal::LogKey(_)), "{outcome:?}");
    let newer = sigstore.key_bundle_in_rekor_v2(&our_statement(), &large);
    let outcome = reason(bundle_verdict(&strict, &newer).await);
    assert_eq!(outcome, Refusal::RekorV2Key);
}

#[tokio::test]
async fn annotations_are_required_and_readable() {
    let key = SigningKey::new();
    let payload = our_payload();
    let missing = layer_verdict(&by_key(&key), &payload, &json!({})).await;
    assert!(matches!(reason(missing), Refusal::Annotation { fault, .. } if fault == "is missing"));
    let garbled = json!({"dev.cosignproject.cosign/signature": "***"});
    let garbled = layer_verdict(&by_key(&key), &payload, &garbled).await;
    assert!(
        matches!(reason(garbled), Refusal::Annotation { fault, .. } if fault == "cannot be read")
    );
}

#[tokio::test]
async fn an_envelope_names_its_key_or_none() {
    let key = SigningKey::new();
    let policy = by_key(&key);
    let verdict = async |named: Value| {
        let mut bundle = signed(&key, &our_statement());
        bundle["dsseEnvelope"]["signatures"][0]["keyid"] = named;
        bundle_verdict(&policy, &bundle).await
    };
    for named in [json!(""), json!(key.ssh_fingerprint())] {
        assert!(verdict(named.clone()).await.is_ok(), "{named}");
    }
    for named in [
        SigningKey::new().ssh_fingerprint(),
        format!("{}=", key.ssh_fingerprint()),
        policy.keys()[0].key.fingerprint().to_string(),
        "x".to_owned(),
    ] {
        let refusal = reason(verdict(json!(named)).await);
        assert_eq!(refusal, Refusal::OtherKeyId(named));
    }
}

#[tokio::test]
async fn ambiguous_bundles_are_refused() {
    let key = SigningKey::new();
    let policy = by_key(&key);
    let good = signed(&key, &our_statement());
    let verdict = async |edit: fn(&mut Value)| {
        let mut bundle = good.clone();
        edit(&mut bundle);
        reason(bundle_verdict(&policy, &bundle).await)
    };
    let edits: [fn(&mut Value); 7] = [
        |bundle| bundle["extra"] = 1.into(),
        |bundle| bundle["verificationMaterial"]["extra"] = 1.into(),
        |bundle| bundle["verificationMaterial"]["publicKey"] = Value::Null,
        |bundle| bundle["verificationMaterial"]["certificate"] = json!({"rawBytes": ""}),
        |bundle| bundle["messageSignature"] = json!({}),
        |bundle| bundle["dsseEnvelope"]["signatures"] = json!([]),
        |bundle| {
            let one = bundle["dsseEnvelope"]["signatures"][0].clone();
            bundle["dsseEnvelope"]["signatures"] = json!([one, one]);
        },
    ];
    for (position, edit) in edits.into_iter().enumerate() {
        let outcome = verdict(edit).await;
        assert!(
            matches!(outcome, Refusal::Bundle(_)),
            "{position}: {outcome:?}"
        );
    }
    let older: fn(&mut Value) = |bundle| {
        bundle["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.2".into();
    };
    assert!(matches!(verdict(older).await, Refusal::BundleVersion(_)));
    let bare: fn(&mut Value) = |bundle| {
        bundle["messageSignature"] = json!({});
        bundle["dsseEnvelope"] = Value::Null;
    };
    assert_eq!(verdict(bare).await, Refusal::NoStatement);
    let chain: fn(&mut Value) = |bundle| {
        bundle["verificationMaterial"] = json!({"x509CertificateChain": {"certificates": []}});
    };
    assert_eq!(verdict(chain).await, Refusal::CertificateChain);
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    let twice = good
        .to_string()
        .replacen("\"mediaType\"", "\"mediaType\":\"x\",\"mediaType\"", 1);
    let media_type = "application/vnd.dev.sigstore.bundle.v0.3+json";
    registry.refer(&image, image.digest(), &[(media_type, twice)]);
    assert!(matches!(
        reason(crate::fixture::verify_now(&registry, &policy, &image).await),
        Refusal::Bundle(_)
    ));
}
