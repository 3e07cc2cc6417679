//! What hangs where: a signature counts for the digest that was asked about and for nothing else.

use lab::oci::{Image, Index, SignatureLayer, Subject};
use lab::signing::{Algorithm, Edition, Form, IDENTITY, ISSUER, KeyPair};

use crate::ground::{ground, reference};

fn key(name: &str) -> KeyPair {
    ground().desk.key_pair(name, Algorithm::EcdsaP256).unwrap()
}

#[test]
fn an_index_and_its_images_are_signed_apart() {
    let ground = ground();
    let key = key("apart");
    let policy = ground.key_policy("apart", &key.public_key);
    for (round, registry) in ground.registries().into_iter().enumerate() {
        let [whole, part] = ["whole", "part"].map(|mark| {
            let index = Index::marked(&format!("{mark} {round}")).unwrap();
            registry.push_index("apart", mark, &index).unwrap();
            index
        });
        let image = |subject: Subject| reference(&registry, "apart", &subject);
        let sign = |image: &str| {
            ground
                .desk
                .sign(Edition::V3, Form::Bundle, &key, image, &[])
                .unwrap();
        };
        let accepts = |image: &str| {
            let cosign = ground
                .desk
                .verify(Edition::V3, &key.public_key, image)
                .unwrap();
            let ours = ground.ours(&policy, image).accepts();
            assert_eq!(ours, cosign.is_accepted(), "{cosign:?}");
            ours
        };
        let (index, child) = (image((&whole).into()), image((&whole.images[0]).into()));
        sign(&index);
        assert!(accepts(&index));
        assert!(
            !accepts(&child),
            "signing an index does not sign its images"
        );
        assert!(
            accepts(&format!("{}/apart:whole", registry.address())),
            "by tag"
        );
        let (index, child) = (image((&part).into()), image((&part.images[0]).into()));
        sign(&child);
        assert!(!accepts(&index), "signing an image does not sign its index");
        assert!(accepts(&child));
    }
}

#[test]
fn a_signature_moved_from_another_image_does_not_count() {
    let ground = ground();
    let key = key("moved");
    let policy = ground.key_policy("moved", &key.public_key);
    for (round, registry) in ground.registries().into_iter().enumerate() {
        let [from, to] = ["from", "to"].map(|mark| {
            let image = Image::marked(&format!("{mark} {round}")).unwrap();
            registry.push_image("moved", mark, &image).unwrap();
            Subject::from(&image)
        });
        for form in [Form::SigTag, Form::Bundle] {
            let signed = reference(&registry, "moved", &from);
            ground
                .desk
                .sign(Edition::V3, form, &key, &signed, &[])
                .unwrap();
            assert!(ground.ours(&policy, &signed).accepts());
        }
        let tag = from.signature_tag();
        let stolen = registry.manifest("moved", &tag).unwrap().unwrap();
        let (tag, kind) = (to.signature_tag(), &stolen.media_type);
        registry
            .push_manifest("moved", &tag, kind, &stolen.manifest)
            .unwrap();
        let image = reference(&registry, "moved", &to);
        let moved = ground.ours(&policy, &image);
        assert!(!moved.accepts());
        assert!(moved.reasons().contains("digest"), "{moved:?}");
        let cosign = ground
            .desk
            .verify(Edition::V3, &key.public_key, &image)
            .unwrap();
        assert!(!cosign.is_accepted());
    }
}

#[test]
fn one_good_signature_among_bad_ones_suffices() {
    let ground = ground();
    let policy = ground.identity_policy("among", &[("issuer", ISSUER), ("subject", IDENTITY)]);
    for (round, registry) in ground.registries().into_iter().enumerate() {
        let image = Image::marked(&format!("among {round}")).unwrap();
        let subject = Subject::from(&image);
        let material = ground.authority.issue("among", &subject.digest).unwrap();
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
        let refused = ground.ours(&policy, &image);
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
        assert!(ground.ours(&policy, &image).accepts());
    }
}

#[test]
fn what_is_not_there_is_trouble_and_not_a_refusal() {
    let ground = ground();
    let [registry, _] = ground.registries();
    let key = key("absent");
    let policy = ground.key_policy("absent", &key.public_key);
    let ours = ground.ours(&policy, &format!("{}/nowhere:1", registry.address()));
    assert_eq!(ours.code, 1, "{ours:?}");
    assert!(ours.complaint.contains("nowhere:1"), "{ours:?}");
}
