//! Where signatures are looked for, and what a registry can do about it.

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use schedkit_image::signature::{Refusal, Source, Trusted, VerifyError, verify, waive};
use schedkit_image::trust::Policy;
use serde_json::{Value, json};

use crate::instance::{Pair, bundle, enclose, encode, simple_payload, statement};
use crate::shelf::{Shelf, Trouble};
use crate::{ask, by_key, reason};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

fn signed(key: &Pair, image: &PinnedRef) -> Value {
    let payload = statement(image.digest());
    bundle(
        &payload,
        &key.sign(&enclose(&payload)),
        &json!({"publicKey": {}}),
    )
}

fn layer(key: &Pair, image: &PinnedRef) -> (Vec<u8>, Value) {
    let payload = simple_payload(image.digest());
    let signature = encode(key.sign(&payload));
    (
        payload,
        json!({"dev.cosignproject.cosign/signature": signature}),
    )
}

/// A key, a policy that trusts it, a registry and an image in it.
fn scene() -> (Pair, Policy, Shelf, PinnedRef) {
    let key = Pair::new();
    let policy = by_key(&key);
    let shelf = Shelf::default();
    let image = shelf.image("image");
    (key, policy, shelf, image)
}

#[tokio::test]
async fn an_unsigned_image_is_not_signed() {
    let (_, policy, shelf, image) = scene();
    let sbom = ("application/spdx+json", "{}".to_owned());
    shelf.refer(&image, image.digest(), &[sbom]);
    let told = ask(&shelf, &policy, &image).await.unwrap_err();
    assert!(matches!(told, VerifyError::NoSignature { .. }), "{told:?}");
    assert!(told.is_refusal());
}

#[tokio::test]
async fn one_good_signature_among_bad_ones_suffices() {
    let (key, policy, shelf, image) = scene();
    shelf.attach(&image, &signed(&Pair::new(), &image));
    shelf.list(&image, b"not a manifest");
    let good = shelf.attach(&image, &signed(&key, &image));
    shelf.tag_signatures(&image, &[layer(&Pair::new(), &image)]);
    let verified = ask(&shelf, &policy, &image).await.unwrap();
    assert_eq!(verified.signature().digest, good);

    let (key, policy, shelf, image) = scene();
    shelf.attach(&image, &signed(&Pair::new(), &image));
    let (payload, annotations) = layer(&key, &image);
    let (_, strangers) = layer(&Pair::new(), &image);
    shelf.tag_signatures(
        &image,
        &[(payload.clone(), strangers), (payload, annotations)],
    );
    assert!(ask(&shelf, &policy, &image).await.is_ok());
}

#[tokio::test]
async fn every_candidate_is_listed_with_its_reason() {
    let (key, policy, shelf, image) = scene();
    let first = shelf.attach(&image, &signed(&Pair::new(), &image));
    let second = shelf.attach(&image, &signed(&key, &shelf.image("other")));
    let told = ask(&shelf, &policy, &image).await.unwrap_err();
    assert!(told.is_refusal());
    let text = told.to_string();
    for part in [
        format!("referrer {first}: none of the policy's keys"),
        format!(
            "referrer {second}: it signs another digest, {}",
            shelf.image("other").digest()
        ),
    ] {
        assert!(text.contains(&part), "{text}");
    }
}

#[tokio::test]
async fn candidates_are_listed_in_one_order() {
    let (_, policy, shelf, image) = scene();
    let layers: Vec<_> = (0..4)
        .map(|number| (format!("payload {number}").into_bytes(), json!({})))
        .collect();
    shelf.tag_signatures(&image, &layers);
    for _ in 0..4 {
        shelf.attach(&image, &signed(&Pair::new(), &image));
    }
    let told = ask(&shelf, &policy, &image).await.unwrap_err();
    let VerifyError::Refused { candidates, .. } = told else {
        panic!("{told:?}");
    };
    let names: Vec<_> = candidates.into_iter().map(|one| one.name).collect();
    let (referrers, layers) = names.split_at(4);
    for (source, part) in [
        (Source::Referrer, referrers),
        (Source::SignatureTag, layers),
    ] {
        assert_eq!(part.len(), 4);
        assert!(part.iter().all(|name| name.source == source), "{names:?}");
        assert!(part.is_sorted_by_key(|name| &name.digest), "{names:?}");
    }
}

#[tokio::test]
async fn an_index_and_its_images_are_signed_each_by_itself() {
    let (key, policy, shelf, index) = scene();
    let child = shelf.image("child");
    shelf.attach(&index, &signed(&key, &index));
    assert!(ask(&shelf, &policy, &index).await.is_ok());
    let told = ask(&shelf, &policy, &child).await.unwrap_err();
    assert!(matches!(told, VerifyError::NoSignature { .. }));
}

#[tokio::test]
async fn a_signature_moved_from_another_image_is_refused() {
    let (key, policy, shelf, image) = scene();
    let other = shelf.image("other");
    shelf.refer(
        &image,
        other.digest(),
        &[(BUNDLE, signed(&key, &image).to_string())],
    );
    let told = reason(ask(&shelf, &policy, &image).await);
    assert_eq!(told, Refusal::OtherSubject(other.digest().to_string()));
}

#[tokio::test]
async fn a_referrer_that_belongs_to_nobody_is_refused() {
    let (key, policy, shelf, image) = scene();
    let mut layer = shelf.put(signed(&key, &image).to_string().as_bytes());
    layer["mediaType"] = BUNDLE.into();
    let manifest = json!({"config": shelf.put(b"{}"), "layers": [layer]});
    shelf.list(&image, manifest.to_string().as_bytes());
    let told = reason(ask(&shelf, &policy, &image).await);
    assert!(matches!(told, Refusal::OtherSubject(_)), "{told:?}");
}

#[tokio::test]
async fn a_layer_of_another_type_is_no_signature() {
    let (key, policy, shelf, image) = scene();
    let (payload, annotations) = layer(&key, &image);
    let mut layer = shelf.put(&payload);
    layer["mediaType"] = "application/json".into();
    layer["annotations"] = annotations;
    let manifest = json!({"config": shelf.put(b"{}"), "layers": [layer]});
    shelf.tag(&image, manifest.to_string().as_bytes());
    let told = ask(&shelf, &policy, &image).await.unwrap_err();
    assert!(matches!(told, VerifyError::NoSignature { .. }), "{told:?}");
}

#[tokio::test]
async fn odd_shapes_are_refused() {
    let (key, policy, shelf, image) = scene();
    let good = signed(&key, &image).to_string();
    shelf.refer(
        &image,
        image.digest(),
        &[(BUNDLE, good.clone()), (BUNDLE, good)],
    );
    assert_eq!(
        reason(ask(&shelf, &policy, &image).await),
        Refusal::Layers(2)
    );

    let (_, policy, shelf, image) = scene();
    shelf.refer(
        &image,
        image.digest(),
        &[(BUNDLE, " ".repeat((1 << 20) + 1))],
    );
    let told = reason(ask(&shelf, &policy, &image).await);
    assert!(matches!(told, Refusal::TooBig { .. }), "{told:?}");

    let (_, policy, shelf, image) = scene();
    shelf.list(&image, br#"{"manifests": []}"#);
    assert!(matches!(
        reason(ask(&shelf, &policy, &image).await),
        Refusal::Manifest(_)
    ));

    let (_, policy, shelf, image) = scene();
    shelf.tag(&image, b"{");
    assert!(matches!(
        reason(ask(&shelf, &policy, &image).await),
        Refusal::Manifest(_)
    ));

    let (key, policy, shelf, image) = scene();
    let gone = shelf.attach(&image, &signed(&key, &image));
    shelf.remove(&gone);
    assert_eq!(reason(ask(&shelf, &policy, &image).await), Refusal::Gone);
}

#[tokio::test]
async fn trouble_is_never_an_answer() {
    for trouble in [
        Trouble::Head,
        Trouble::Referrers,
        Trouble::Manifest,
        Trouble::Blob,
    ] {
        let (_, policy, shelf, image) = scene();
        shelf.attach(&image, &signed(&Pair::new(), &image));
        shelf.fail(trouble);
        let told = ask(&shelf, &policy, &image).await.unwrap_err();
        assert!(
            matches!(told, VerifyError::Trouble { .. }),
            "{trouble:?}: {told:?}"
        );
        assert!(!told.is_refusal());
    }
    // A signature that was found and is good needs nothing else.
    let (key, policy, shelf, image) = scene();
    shelf.attach(&image, &signed(&key, &image));
    shelf.fail(Trouble::Head);
    assert!(ask(&shelf, &policy, &image).await.is_ok());
}

#[tokio::test]
async fn too_many_referrers_are_not_an_answer_either() {
    let (key, policy, shelf, image) = scene();
    for number in 0..70 {
        shelf.refer(
            &image,
            image.digest(),
            &[("text/plain", number.to_string())],
        );
    }
    shelf.attach(&image, &signed(&key, &image));
    let told = ask(&shelf, &policy, &image).await.unwrap_err();
    assert!(
        matches!(told, VerifyError::TooMany { found: 71, .. }),
        "{told:?}"
    );
    assert!(!told.is_refusal());

    let (key, policy, shelf, image) = scene();
    let mut layers = vec![layer(&Pair::new(), &image); 70];
    layers.push(layer(&key, &image));
    shelf.tag_signatures(&image, &layers);
    let told = ask(&shelf, &policy, &image).await.unwrap_err();
    assert!(
        matches!(told, VerifyError::TooMany { found: 71, .. }),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_endless_wait_ends() {
    let (_, policy, shelf, image) = scene();
    shelf.fail(Trouble::Silence);
    let told = verify(&shelf, &policy, &image, Timestamp::now())
        .await
        .unwrap_err();
    assert!(matches!(told, VerifyError::TooSlow { .. }));
}

#[test]
fn a_waiver_is_no_verdict() {
    let image = Shelf::default().image("image");
    let trusted = Trusted::Waived(waive(image.clone(), "--allow-unsigned\u{1b}[2J"));
    assert_eq!(trusted.image(), &image);
    let told = serde_json::to_value(&trusted).unwrap();
    assert_eq!(told["trust"], "waived");
    assert_eq!(told["reason"], "--allow-unsigned�[2J");
}

/// A verifier inside a Kubernetes controller runs on several threads.
#[test]
fn verifying_can_move_between_threads() {
    fn movable<T: Send>(_: T) {}
    let (_, policy, _, image) = scene();
    movable(verify(&silent::Silent, &policy, &image, Timestamp::now()));
}

mod silent {
    use bytes::Bytes;
    use schedkit_core::{Digest, ImageRef, PinnedRef, Repository, Tag};
    use schedkit_image::registry::{Descriptor, Document, Registry, RegistryError};

    /// A registry without state, so that only the verifier's own state counts.
    pub(crate) struct Silent;

    impl Registry for Silent {
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
    }
}
