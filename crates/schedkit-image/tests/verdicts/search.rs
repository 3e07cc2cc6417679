//! The search for signatures, and registries that fail or mislead.

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use schedkit_image::signature::{Refusal, SignatureSource, Trusted, VerifyError, verify, waive};
use schedkit_image::trust::Policy;
use serde_json::{Value, json};

use crate::fixture::{by_key, reason, verify_now};
use crate::memory_registry::{FailingRequest, MemoryRegistry};
use crate::sigstore::{SigningKey, bundle, enclose, encode, simple_payload, statement};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

pub(crate) fn signed(key: &SigningKey, image: &PinnedRef) -> Value {
    let payload = statement(image.digest());
    bundle(
        &payload,
        &key.sign(&enclose(&payload)),
        &json!({"publicKey": {}}),
    )
}

pub(crate) fn layer(key: &SigningKey, image: &PinnedRef) -> (Vec<u8>, Value) {
    let payload = simple_payload(image.digest());
    let signature = encode(key.sign(&payload));
    (
        payload,
        json!({"dev.cosignproject.cosign/signature": signature}),
    )
}

/// A key, a policy that trusts it, a registry and an image in it.
fn fixture() -> (SigningKey, Policy, MemoryRegistry, PinnedRef) {
    let key = SigningKey::new();
    let policy = by_key(&key);
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    (key, policy, registry, image)
}

#[tokio::test]
async fn an_unsigned_image_is_not_signed() {
    let (_, policy, registry, image) = fixture();
    let sbom = ("application/spdx+json", "{}".to_owned());
    registry.refer(&image, image.digest(), &[sbom]);
    let outcome = verify_now(&registry, &policy, &image).await.unwrap_err();
    assert!(
        matches!(outcome, VerifyError::NoSignature { .. }),
        "{outcome:?}"
    );
    assert!(outcome.is_refusal());
}

#[tokio::test]
async fn one_good_signature_among_bad_ones_suffices() {
    let (key, policy, registry, image) = fixture();
    registry.attach(&image, &signed(&SigningKey::new(), &image));
    registry.list(&image, b"not a manifest");
    let good = registry.attach(&image, &signed(&key, &image));
    registry.tag_signatures(&image, &[layer(&SigningKey::new(), &image)]);
    let verified = verify_now(&registry, &policy, &image).await.unwrap();
    assert_eq!(verified.signature().digest, good);

    let (key, policy, registry, image) = fixture();
    registry.attach(&image, &signed(&SigningKey::new(), &image));
    let (payload, annotations) = layer(&key, &image);
    let (_, strangers) = layer(&SigningKey::new(), &image);
    registry.tag_signatures(
        &image,
        &[(payload.clone(), strangers), (payload, annotations)],
    );
    assert!(verify_now(&registry, &policy, &image).await.is_ok());
}

#[tokio::test]
async fn every_signature_is_listed_with_its_reason() {
    let (key, policy, registry, image) = fixture();
    let first = registry.attach(&image, &signed(&SigningKey::new(), &image));
    let second = registry.attach(&image, &signed(&key, &registry.image("other")));
    let outcome = verify_now(&registry, &policy, &image).await.unwrap_err();
    assert!(outcome.is_refusal());
    let text = outcome.to_string();
    for part in [
        format!("referrer {first}: none of the policy's keys"),
        format!(
            "referrer {second}: it signs another digest, {}",
            registry.image("other").digest()
        ),
    ] {
        assert!(text.contains(&part), "{text}");
    }
}

#[tokio::test]
async fn signatures_are_listed_in_a_stable_order() {
    let (_, policy, registry, image) = fixture();
    let layers: Vec<_> = (0..4)
        .map(|number| (format!("payload {number}").into_bytes(), json!({})))
        .collect();
    registry.tag_signatures(&image, &layers);
    for _ in 0..4 {
        registry.attach(&image, &signed(&SigningKey::new(), &image));
    }
    let outcome = verify_now(&registry, &policy, &image).await.unwrap_err();
    let VerifyError::Refused { signatures, .. } = outcome else {
        panic!("{outcome:?}");
    };
    let names: Vec<_> = signatures.into_iter().map(|one| one.id).collect();
    let (referrers, layers) = names.split_at(4);
    for (source, part) in [
        (SignatureSource::Referrer, referrers),
        (SignatureSource::SignatureTag, layers),
    ] {
        assert_eq!(part.len(), 4);
        assert!(part.iter().all(|name| name.source == source), "{names:?}");
        assert!(part.is_sorted_by_key(|name| &name.digest), "{names:?}");
    }
}

#[tokio::test]
async fn an_index_and_its_images_are_signed_each_by_itself() {
    let (key, policy, registry, index) = fixture();
    let child = registry.image("child");
    registry.attach(&index, &signed(&key, &index));
    assert!(verify_now(&registry, &policy, &index).await.is_ok());
    let outcome = verify_now(&registry, &policy, &child).await.unwrap_err();
    assert!(matches!(outcome, VerifyError::NoSignature { .. }));
}

#[tokio::test]
async fn a_signature_moved_from_another_image_is_refused() {
    let (key, policy, registry, image) = fixture();
    let other = registry.image("other");
    registry.refer(
        &image,
        other.digest(),
        &[(BUNDLE, signed(&key, &image).to_string())],
    );
    let outcome = reason(verify_now(&registry, &policy, &image).await);
    assert_eq!(outcome, Refusal::OtherSubject(other.digest().to_string()));
}

#[tokio::test]
async fn a_referrer_without_a_subject_is_refused() {
    let (key, policy, registry, image) = fixture();
    let mut layer = registry.put(signed(&key, &image).to_string().as_bytes());
    layer["mediaType"] = BUNDLE.into();
    let manifest = json!({"config": registry.put(b"{}"), "layers": [layer]});
    registry.list(&image, manifest.to_string().as_bytes());
    let outcome = reason(verify_now(&registry, &policy, &image).await);
    assert!(matches!(outcome, Refusal::OtherSubject(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_layer_of_another_type_is_no_signature() {
    let (key, policy, registry, image) = fixture();
    let (payload, annotations) = layer(&key, &image);
    let mut layer = registry.put(&payload);
    layer["mediaType"] = "application/json".into();
    layer["annotations"] = annotations;
    let manifest = json!({"config": registry.put(b"{}"), "layers": [layer]});
    registry.tag(&image, manifest.to_string().as_bytes());
    let outcome = verify_now(&registry, &policy, &image).await.unwrap_err();
    assert!(
        matches!(outcome, VerifyError::NoSignature { .. }),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn invalid_manifests_are_refused() {
    let (key, policy, registry, image) = fixture();
    let good = signed(&key, &image).to_string();
    registry.refer(
        &image,
        image.digest(),
        &[(BUNDLE, good.clone()), (BUNDLE, good)],
    );
    assert_eq!(
        reason(verify_now(&registry, &policy, &image).await),
        Refusal::Layers(2)
    );

    let (_, policy, registry, image) = fixture();
    registry.refer(
        &image,
        image.digest(),
        &[(BUNDLE, " ".repeat((1 << 20) + 1))],
    );
    let outcome = reason(verify_now(&registry, &policy, &image).await);
    assert!(matches!(outcome, Refusal::TooBig { .. }), "{outcome:?}");

    let (_, policy, registry, image) = fixture();
    registry.list(&image, br#"{"manifests": []}"#);
    assert!(matches!(
        reason(verify_now(&registry, &policy, &image).await),
        Refusal::Manifest(_)
    ));

    let (_, policy, registry, image) = fixture();
    registry.tag(&image, b"{");
    assert!(matches!(
        reason(verify_now(&registry, &policy, &image).await),
        Refusal::Manifest(_)
    ));

    let (key, policy, registry, image) = fixture();
    let gone = registry.attach(&image, &signed(&key, &image));
    registry.remove(&gone);
    assert_eq!(
        reason(verify_now(&registry, &policy, &image).await),
        Refusal::Missing
    );
}

#[tokio::test]
async fn a_failed_request_is_no_verdict() {
    for failure in [
        FailingRequest::Head,
        FailingRequest::Referrers,
        FailingRequest::Manifest,
        FailingRequest::Blob,
    ] {
        let (_, policy, registry, image) = fixture();
        registry.attach(&image, &signed(&SigningKey::new(), &image));
        registry.fail(failure);
        let outcome = verify_now(&registry, &policy, &image).await.unwrap_err();
        assert!(
            matches!(outcome, VerifyError::RegistryFailed { .. }),
            "{failure:?}: {outcome:?}"
        );
        assert!(!outcome.is_refusal());
    }
    // An accepted signature needs no further request.
    let (key, policy, registry, image) = fixture();
    registry.attach(&image, &signed(&key, &image));
    registry.fail(FailingRequest::Head);
    assert!(verify_now(&registry, &policy, &image).await.is_ok());
}

/// Attestations as a build adds them daily.
fn attest_daily(registry: &MemoryRegistry, image: &PinnedRef, days: usize) {
    for day in 0..days {
        let attestation = json!({"day": day}).to_string();
        registry.refer(image, image.digest(), &[(BUNDLE, attestation)]);
    }
}

#[tokio::test]
async fn a_thousand_attestations_hide_no_signature() {
    const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
    let (key, policy, registry, image) = fixture();
    attest_daily(&registry, &image, 1000);
    registry.annotate_all(&image, PROVENANCE);
    let good = registry.attach(&image, &signed(&key, &image));
    registry.annotate_last(&image, "https://sigstore.dev/cosign/sign/v1");
    let verified = verify_now(&registry, &policy, &image).await.unwrap();
    assert_eq!(verified.signature().digest, good);
    assert!(registry.requests() < 40, "{}", registry.requests());

    // Registries may leave annotations out, and they may be wrong.
    for annotations in [None, Some(PROVENANCE)] {
        let (key, policy, registry, image) = fixture();
        attest_daily(&registry, &image, 1000);
        registry.attach(&image, &signed(&key, &image));
        if let Some(all) = annotations {
            registry.annotate_all(&image, all);
        }
        assert!(verify_now(&registry, &policy, &image).await.is_ok());
    }
}

#[tokio::test]
async fn an_error_lists_the_first_signatures_and_no_attestations_before_them() {
    let (key, policy, registry, image) = fixture();
    for number in 0..20 {
        let payload = format!("attestation {number}");
        let other = statement(image.digest()).replace("cosign/sign/v1", &payload);
        let signature = key.sign(&enclose(&other));
        registry.attach(
            &image,
            &bundle(&other, &signature, &json!({"publicKey": {}})),
        );
    }
    let stranger = registry.attach(&image, &signed(&SigningKey::new(), &image));
    let outcome = verify_now(&registry, &policy, &image).await.unwrap_err();
    let text = outcome.to_string();
    assert!(text.contains(&format!("referrer {stranger}")), "{text}");
    assert!(text.ends_with("; and 13 more"), "{text}");
    assert!(text.len() < 4000, "{text}");
}

#[tokio::test]
async fn too_many_referrers_are_no_verdict() {
    let (key, policy, registry, image) = fixture();
    for number in 0..2048 {
        let text = ("text/plain", number.to_string());
        registry.refer(&image, image.digest(), &[text]);
    }
    let none = verify_now(&registry, &policy, &image).await.unwrap_err();
    assert!(matches!(none, VerifyError::NoSignature { .. }), "{none:?}");
    registry.attach(&image, &signed(&key, &image));
    let outcome = verify_now(&registry, &policy, &image).await.unwrap_err();
    assert!(
        matches!(outcome, VerifyError::TooMany { found: 2049, .. }),
        "{outcome:?}"
    );
    assert!(!outcome.is_refusal());
    assert!(outcome.to_string().contains("remove old attestations"));

    let (key, policy, registry, image) = fixture();
    let mut layers = vec![layer(&SigningKey::new(), &image); 70];
    layers.push(layer(&key, &image));
    registry.tag_signatures(&image, &layers);
    assert!(verify_now(&registry, &policy, &image).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_search_times_out() {
    let (_, policy, registry, image) = fixture();
    registry.fail(FailingRequest::NoResponse);
    let outcome = verify(&registry, &policy, &image, Timestamp::now())
        .await
        .unwrap_err();
    assert!(matches!(outcome, VerifyError::Timeout { .. }));
}

#[test]
fn a_waiver_is_shown_as_a_waiver() {
    let image = MemoryRegistry::default().image("image");
    let trusted = Trusted::Waived(waive(image.clone(), "--allow-unsigned\u{1b}[2J"));
    assert_eq!(trusted.image(), &image);
    let outcome = serde_json::to_value(&trusted).unwrap();
    assert_eq!(outcome["trust"], "waived");
    assert_eq!(outcome["reason"], "--allow-unsigned�[2J");
}

/// A verifier inside a Kubernetes controller runs on several threads.
#[test]
fn verifying_can_move_between_threads() {
    fn movable<T: Send>(_: T) {}
    let (_, policy, _, image) = fixture();
    movable(verify(
        &stateless::Stateless,
        &policy,
        &image,
        Timestamp::now(),
    ));
}

mod stateless {
    use bytes::Bytes;
    use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};
    use schedkit_image::registry::{Descriptor, Document, Registry, RegistryError};

    /// A registry without state, so that only the verifier's own state counts.
    pub(crate) struct Stateless;

    impl Registry for Stateless {
        async fn head(&self, _: &ImageRef) -> Result<Digest, RegistryError> {
            unreachable!()
        }
        async fn manifest(&self, _: &PinnedRef) -> Result<Document, RegistryError> {
            unreachable!()
        }
        async fn blob(
            &self,
            _: &Repository,
            _: &Descriptor,
            _: usize,
        ) -> Result<Bytes, RegistryError> {
            unreachable!()
        }
        async fn tags(&self, _: &Repository) -> Result<Vec<Tag>, RegistryError> {
            unreachable!()
        }
        async fn referrers(&self, _: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
            unreachable!()
        }
        fn places(&self, _: &Repository) -> usize {
            unreachable!()
        }
        async fn referrers_at(
            &self,
            _: &PinnedRef,
            _: usize,
        ) -> Result<Vec<Descriptor>, RegistryError> {
            unreachable!()
        }
        async fn document_at(&self, _: &ImageRef, _: usize) -> Result<Document, RegistryError> {
            unreachable!()
        }
    }
}
