//! Signatures made with keys.

use jiff::{SignedDuration, Timestamp};
use schedkit_image::signature::{Format, Refusal, Signer, Source, verify};
use schedkit_image::trust::Rule;
use serde_json::{Value, json};

use crate::instance::{Instance, Pair, Wish, bundle, enclose, encode, hashed_body, pem, statement};
use crate::payload::enclose_as;
use crate::shelf::Shelf;
use crate::{
    BY_KEY, bundle_verdict, by_identity, by_key, layer_verdict, our_payload, our_statement, policy,
    reason,
};

fn signed(key: &Pair, payload: &str) -> Value {
    let signature = key.sign(&enclose(payload));
    bundle(
        payload,
        &signature,
        &json!({"publicKey": {"hint": "anything"}}),
    )
}

fn annotations(key: &Pair, payload: &[u8]) -> Value {
    json!({"dev.cosignproject.cosign/signature": encode(key.sign(payload))})
}

#[tokio::test]
async fn both_formats_are_accepted_and_say_who_signed() {
    let key = Pair::new();
    let policy = by_key(&key);
    let verified = bundle_verdict(&policy, &signed(&key, &our_statement()))
        .await
        .unwrap();
    assert_eq!(verified.rule(), &Rule::Key(0));
    assert_eq!(verified.source(), Source::Referrer);
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
    assert_eq!(verified.source(), Source::SignatureTag);
    assert_eq!(verified.evidence().format, Format::SimpleSigning);
    assert_eq!(verified.image(), &Shelf::default().image("image"));
}

#[tokio::test]
async fn what_is_verified_can_be_told_as_json() {
    let key = Pair::new();
    let verified = bundle_verdict(&by_key(&key), &signed(&key, &our_statement()))
        .await
        .unwrap();
    let told = serde_json::to_value(&verified).unwrap();
    assert_eq!(told["image"], verified.image().to_string());
    assert_eq!(told["signer"]["kind"], "key");
    assert_eq!(told["rule"], "keys[0]");
    assert_eq!(told["signature"]["source"], "referrer");
    assert_eq!(told["evidence"]["format"], "bundle");
    assert_eq!(told["policy"], verified.policy().to_string());
}

#[tokio::test]
async fn another_key_or_other_content_is_refused() {
    let (key, stranger) = (Pair::new(), Pair::new());
    let policy = by_key(&key);
    let other = bundle_verdict(&policy, &signed(&stranger, &our_statement())).await;
    assert_eq!(reason(other), Refusal::WrongKey);
    let payload = our_payload();
    let other = layer_verdict(&policy, &payload, &annotations(&stranger, &payload)).await;
    assert_eq!(reason(other), Refusal::WrongKey);
    let elsewhere = statement(Shelf::default().image("other").digest());
    let mut tampered = signed(&key, &elsewhere);
    tampered["dsseEnvelope"]["payload"] = encode(our_statement()).into();
    assert_eq!(
        reason(bundle_verdict(&policy, &tampered).await),
        Refusal::WrongKey
    );
    // Signed as what it says it is: only that it says so is wrong.
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
    let key = Pair::new();
    let policy = by_key(&key);
    let other = Shelf::default().image("other");
    let moved = bundle_verdict(&policy, &signed(&key, &statement(other.digest()))).await;
    assert_eq!(
        reason(moved),
        Refusal::OtherDigest(other.digest().to_string())
    );
    let payload = crate::instance::simple_payload(other.digest());
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
async fn keys_and_certificates_do_not_stand_in_for_each_other() {
    let key = Pair::new();
    let instance = Instance::new();
    let by_identity = by_identity(&instance);
    let keyed = bundle_verdict(&by_identity, &signed(&key, &our_statement())).await;
    assert_eq!(reason(keyed), Refusal::NoKeyTrusted);
    let keyless = instance.bundle(&our_statement(), &Wish::default());
    assert_eq!(
        reason(bundle_verdict(&by_key(&key), &keyless).await),
        Refusal::NoIdentityTrusted
    );
    // A good signature of a trusted key, beside a certificate of whatever kind.
    let payload = our_payload();
    let mut both = annotations(&key, &payload);
    both["dev.sigstore.cosign/certificate"] =
        pem("CERTIFICATE", &instance.certificate(&Wish::default(), &key)).into();
    let verdict = layer_verdict(&by_key(&key), &payload, &both).await;
    assert_eq!(reason(verdict), Refusal::NoIdentityTrusted);
}

#[tokio::test]
async fn the_log_is_verified_when_the_policy_asks_for_it() {
    let key = Pair::new();
    let instance = Instance::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let strict = policy(&text, &key, &instance.root());
    let unlogged = bundle_verdict(&strict, &signed(&key, &our_statement())).await;
    assert_eq!(reason(unlogged), Refusal::NoLogEntry);
    let good = instance.key_bundle(&our_statement(), &key);
    let verified = bundle_verdict(&strict, &good).await.unwrap();
    assert_eq!(
        verified.evidence().log.as_ref().unwrap().log,
        "https://rekor.test"
    );
    assert!(verified.evidence().integrated_time.is_some());
    let second = instance.key_bundle_in_second_log(&our_statement(), &key);
    let verified = bundle_verdict(&strict, &second).await.unwrap();
    assert_eq!(
        verified.evidence().log.as_ref().unwrap().log,
        "https://log2.test"
    );

    let mut borrowed = good.clone();
    let other = instance.key_bundle(&our_statement(), &key);
    borrowed["verificationMaterial"]["tlogEntries"] =
        other["verificationMaterial"]["tlogEntries"].clone();
    assert!(matches!(
        reason(bundle_verdict(&strict, &borrowed).await),
        Refusal::OtherLogEntry(_)
    ));
    let mut borrowed = second.clone();
    let other = instance.key_bundle_in_second_log(&our_statement(), &key);
    borrowed["verificationMaterial"]["tlogEntries"] =
        other["verificationMaterial"]["tlogEntries"].clone();
    assert!(matches!(
        reason(bundle_verdict(&strict, &borrowed).await),
        Refusal::OtherLogEntry(_)
    ));
    let misdescribed =
        instance.described_key_bundle(&our_statement(), &key, "PKIX_ECDSA_P384_SHA_384");
    assert_eq!(
        reason(bundle_verdict(&strict, &misdescribed).await),
        Refusal::SecondLogKey
    );
    let foreign = Instance::new().key_bundle(&our_statement(), &key);
    assert_eq!(
        reason(bundle_verdict(&strict, &foreign).await),
        Refusal::UnknownLog
    );
    // Without the wish for a log, nobody looks at it.
    assert!(bundle_verdict(&by_key(&key), &foreign).await.is_ok());
}

#[tokio::test]
async fn nothing_is_accepted_from_the_future() {
    let key = Pair::new();
    let instance = Instance::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let strict = policy(&text, &key, &instance.root());
    let shelf = Shelf::default();
    let image = shelf.image("image");
    shelf.attach(&image, &instance.key_bundle(&our_statement(), &key));
    let earlier = Timestamp::now() - SignedDuration::from_secs(3600);
    let told = verify(&shelf, &strict, &image, earlier).await;
    assert!(matches!(reason(told), Refusal::Future { now, .. } if now == earlier));
}

#[tokio::test]
async fn the_older_format_has_its_log_too() {
    let key = Pair::new();
    let instance = Instance::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let strict = policy(&text, &key, &instance.root());
    let payload = our_payload();
    let unlogged = layer_verdict(&strict, &payload, &annotations(&key, &payload)).await;
    assert_eq!(reason(unlogged), Refusal::NoLogEntry);
    let signer = pem("PUBLIC KEY", &key.spki());
    let logged = instance.logged_annotations(&payload, &key.sign(&payload), &signer, -10);
    let verified = layer_verdict(&strict, &payload, &logged).await.unwrap();
    assert_eq!(verified.evidence().log.as_ref().unwrap().index, 7);
    let signature = key.sign(&payload);
    let mut body = hashed_body(&payload, &signature, &signer);
    body["spec"]["data"]["hash"]["algorithm"] = "sha512".into();
    let misnamed = instance.annotations_with(&body, &signature, -10);
    let verdict = layer_verdict(&strict, &payload, &misnamed).await;
    assert!(matches!(reason(verdict), Refusal::OtherLogEntry(_)));
    let stranger = pem("PUBLIC KEY", &Pair::new().spki());
    let other = instance.logged_annotations(&payload, &key.sign(&payload), &stranger, -10);
    let verdict = layer_verdict(&strict, &payload, &other).await;
    assert!(matches!(reason(verdict), Refusal::OtherLogEntry(_)));
}

#[tokio::test]
async fn a_key_is_refused_in_words_for_keys() {
    let instance = Instance::new();
    let text = format!("{BY_KEY}requireTransparencyLog: true\ntrustedRoot: ROOT\n");
    let (key, payload) = (Pair::new(), our_payload());
    let strict = policy(&text, &key, &instance.root());
    let signer = pem("PUBLIC KEY", &key.spki());
    let early = instance.logged_annotations(&payload, &key.sign(&payload), &signer, 3600);
    let told = reason(layer_verdict(&strict, &payload, &early).await);
    assert!(matches!(told, Refusal::Future { .. }), "{told:?}");

    let large = Pair::p521();
    let strict = policy(&text, &large, &instance.root());
    let older = instance.key_bundle(&our_statement(), &large);
    let told = reason(bundle_verdict(&strict, &older).await);
    assert!(matches!(told, Refusal::LogKey(_)), "{told:?}");
    let newer = instance.key_bundle_in_second_log(&our_statement(), &large);
    let told = reason(bundle_verdict(&strict, &newer).await);
    assert_eq!(told, Refusal::SecondLogKey);
}

#[tokio::test]
async fn annotations_are_needed_and_readable() {
    let key = Pair::new();
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
async fn a_bundle_that_could_be_read_in_two_ways_is_refused() {
    let key = Pair::new();
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
        let told = verdict(edit).await;
        assert!(matches!(told, Refusal::Bundle(_)), "{position}: {told:?}");
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
    let shelf = Shelf::default();
    let image = shelf.image("image");
    let twice = good
        .to_string()
        .replacen("\"mediaType\"", "\"mediaType\":\"x\",\"mediaType\"", 1);
    let media_type = "application/vnd.dev.sigstore.bundle.v0.3+json";
    shelf.refer(&image, image.digest(), &[(media_type, twice)]);
    assert!(matches!(
        reason(crate::ask(&shelf, &policy, &image).await),
        Refusal::Bundle(_)
    ));
}
