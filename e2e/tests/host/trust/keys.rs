//! Signatures by key, in both forms and by every kind of key.

use lab::oci::{Image, Subject};
use lab::signing::Algorithm;
use testkit::registries::{reference, registries};
use testkit::signature_cases;

#[test]
fn a_signed_image_is_accepted_by_its_key_and_no_other() {
    let registries = registries();
    let [key, other] = ["key", "other"].map(|name| {
        let key = registries.sigstore.key_pair(name, Algorithm::EcdsaP256);
        key.unwrap()
    });
    let policy = registries.key_policy("key", &key.public_key);
    let wrong = registries.key_policy("other", &other.public_key);
    for registry in registries.both() {
        let image = Image::marked("signed by key").unwrap();
        registry.push_image("signed", "latest", &image).unwrap();
        let subject = Subject::from(&image);
        let image = reference(&registry, "signed", &subject);
        assert!(!registries.verify(&policy, &image).accepts(), "not signed");
        let signed = registries
            .sigstore
            .sign(&key, &registry, "signed", &subject);
        signed.unwrap();
        let good = registries.verify(&policy, &image);
        assert!(good.accepts(), "{good:?}");
        assert_eq!(good.document["image_ref"], image.as_str());
        let bad = registries.verify(&wrong, &image);
        assert!(!bad.accepts());
        assert!(bad.reasons().contains("key"), "{bad:?}");
    }
}

#[test]
fn every_kind_of_key_is_accepted_with_its_own_hash_and_scheme() {
    let registries = registries();
    for case in signature_cases::keys(registries, &registries.with_referrers()) {
        let policy = registries.key_policy("kind", &case.key.public_key);
        let ours = registries.verify(&policy, &case.reference);
        assert_eq!(ours.accepts(), case.accepted, "{}: {ours:?}", case.name);
    }
}
