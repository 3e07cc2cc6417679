//! Where signatures are attached: one counts for the digest that was asked about and for nothing
//! else.

use lab::oci::{Image, Index, SignatureLayer, Subject};
use lab::signing::{Algorithm, Form, Hash, KeyPair, Scheme, simple_payload, statement};
use testkit::registries::{reference, registries};
use testkit::signature_cases::attach;

fn key(name: &str) -> KeyPair {
    let sigstore = &registries().sigstore;
    sigstore.key_pair(name, Algorithm::EcdsaP256).unwrap()
}

#[test]
fn an_index_and_its_images_are_signed_apart() {
    let registries = registries();
    let key = key("apart");
    let policy = registries.key_policy("apart", &key.public_key);
    for (round, registry) in registries.both().into_iter().enumerate() {
        let [whole, part] = ["whole", "part"].map(|mark| {
            let index = Index::marked(&format!("{mark} {round}")).unwrap();
            registry.push_index("apart", mark, &index).unwrap();
            index
        });
        let sign = |subject: &Subject| {
            let signed = registries.sigstore.sign(&key, &registry, "apart", subject);
            signed.unwrap();
        };
        let accepts = |subject: &Subject| {
            let image = reference(&registry, "apart", subject);
            registries.verify(&policy, &image).accepts()
        };
        let (index, child) = (Subject::from(&whole), Subject::from(&whole.images[0]));
        sign(&index);
        assert!(accepts(&index));
        assert!(!accepts(&child), "signing an index signs no image of it");
        let tag = format!("{}/apart:whole", registry.address());
        assert!(registries.verify(&policy, &tag).accepts(), "by tag");
        let (index, child) = (Subject::from(&part), Subject::from(&part.images[0]));
        sign(&child);
        assert!(!accepts(&index), "signing an image does not sign its index");
        assert!(accepts(&child));
    }
}

#[test]
fn a_signature_moved_from_another_image_does_not_count() {
    let registries = registries();
    let key = key("moved");
    let policy = registries.key_policy("moved", &key.public_key);
    for (round, registry) in registries.both().into_iter().enumerate() {
        let [from, to] = ["from", "to"].map(|mark| {
            let image = Image::marked(&format!("{mark} {round}")).unwrap();
            registry.push_image("moved", mark, &image).unwrap();
            Subject::from(&image)
        });
        let payload = simple_payload("moved", &from.digest);
        let how = (Hash::Sha256, Scheme::Default);
        let signed = registries
            .sigstore
            .sign_bytes(&key, how, &payload, &statement(&from.digest))
            .unwrap();
        attach(&registry, "moved", &from, Form::SigTag, &payload, &signed);
        let image = reference(&registry, "moved", &from);
        assert!(registries.verify(&policy, &image).accepts());
        for form in [Form::SigTag, Form::Bundle] {
            attach(&registry, "moved", &to, form, &payload, &signed);
        }
        let moved = registries.verify(&policy, &reference(&registry, "moved", &to));
        assert!(!moved.accepts());
        assert_eq!(moved.reasons().matches("digest").count(), 2, "{moved:?}");
    }
}

#[test]
fn one_good_signature_among_bad_ones_suffices() {
    let registries = registries();
    let policy = registries.default_identity_policy("among");
    for (round, registry) in registries.both().into_iter().enumerate() {
        let image = Image::marked(&format!("among {round}")).unwrap();
        let subject = Subject::from(&image);
        let material = registries.authority.issue("among", &subject.digest);
        let material = material.unwrap();
        registry.push_image("among", "latest", &image).unwrap();
        let image = reference(&registry, "among", &subject);
        for bad in [
            "other-identity",
            "tampered-signature",
            "corrupt",
            "attestation",
        ] {
            registry
                .attach_bundle("among", &subject, &material.bundles[bad])
                .unwrap();
        }
        let bad: SignatureLayer = material.signatures["foreign-ca"].clone();
        registry.push_signatures("among", &subject, &[bad]).unwrap();
        let refused = registries.verify(&policy, &image);
        assert!(!refused.accepts());
        assert_eq!(
            refused.reasons().lines().count(),
            5,
            "{}",
            refused.reasons()
        );
        registry
            .attach_bundle("among", &subject, &material.bundles["good"])
            .unwrap();
        assert!(registries.verify(&policy, &image).accepts());
    }
}

#[test]
fn what_does_not_exist_is_an_error_and_not_a_refusal() {
    let registries = registries();
    let registry = registries.plain();
    let key = key("absent");
    let policy = registries.key_policy("absent", &key.public_key);
    let ours = registries.verify(&policy, &format!("{}/nowhere:1", registry.address()));
    assert_eq!(ours.code, 1, "{ours:?}");
    assert!(ours.stderr.contains("nowhere:1"), "{ours:?}");
}
