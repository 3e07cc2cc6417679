//! Signatures by key, made by both editions of cosign in both forms, and by every kind of key.

use lab::oci::{Image, SignatureLayer, Subject};
use lab::signing::{Algorithm, Edition, Form, Hash, Scheme, simple_payload, statement, verdict_of};

use crate::ground::{ground, reference};

#[test]
fn what_cosign_signed_is_accepted_by_its_key_and_no_other() {
    let ground = ground();
    let key = ground.desk.key_pair("key", Algorithm::EcdsaP256).unwrap();
    let other = ground.desk.key_pair("other", Algorithm::EcdsaP256).unwrap();
    let policy = ground.key_policy("key", &key.public_key);
    let wrong = ground.key_policy("other", &other.public_key);
    for registry in ground.registries() {
        for edition in [Edition::V2, Edition::V3] {
            for form in [Form::SigTag, Form::Bundle] {
                let image = Image::marked(&format!("{form:?} by {edition:?}")).unwrap();
                registry.push_image("signed", "latest", &image).unwrap();
                let image = reference(&registry, "signed", &Subject::from(&image));
                assert!(!ground.ours(&policy, &image).accepts(), "not signed yet");
                ground.desk.sign(edition, form, &key, &image, &[]).unwrap();
                let good = ground.ours(&policy, &image);
                assert!(good.accepts(), "{edition:?} {form:?}");
                assert_eq!(good.said["image_ref"], image.as_str());
                let bad = ground.ours(&wrong, &image);
                assert!(!bad.accepts(), "{edition:?} {form:?}");
                assert!(bad.reasons().contains("key"), "{bad:?}");
            }
        }
    }
}

#[test]
fn every_kind_of_key_is_judged_as_cosign_judges_it() {
    let ground = ground();
    let [_, registry] = ground.registries();
    let usual = (Hash::Sha256, Scheme::Default);
    let mut wanted: Vec<_> = Algorithm::ALL.map(|kind| (kind, usual)).into();
    wanted.extend([
        (Algorithm::Rsa2048, (Hash::Sha256, Scheme::Pss)),
        (Algorithm::Rsa2048, (Hash::Sha512, Scheme::Default)),
        (Algorithm::EcdsaP256, (Hash::Sha384, Scheme::Default)),
        (Algorithm::EcdsaP384, (Hash::Sha384, Scheme::Default)),
        (Algorithm::EcdsaP521, (Hash::Sha512, Scheme::Default)),
    ]);
    for (number, (algorithm, how)) in wanted.into_iter().enumerate() {
        let name = format!("kind-{number}");
        let key = ground.desk.key_pair(&name, algorithm).unwrap();
        let policy = ground.key_policy(&name, &key.public_key);
        let image = Image::marked(&name).unwrap();
        let subject = Subject::from(&image);
        let payload = simple_payload("kinds", &subject.digest);
        let signed = ground
            .desk
            .sign_bytes(&key, how, &payload, &statement(&subject.digest))
            .unwrap();
        for form in [Form::SigTag, Form::Bundle] {
            let repository = format!("kinds/{name}-{}", form as u8);
            registry.push_image(&repository, "latest", &image).unwrap();
            match form {
                Form::SigTag => {
                    let layer = SignatureLayer::by_key(&payload, &signed.signature);
                    registry
                        .push_signatures(&repository, &subject, &[layer])
                        .unwrap();
                }
                Form::Bundle => {
                    registry
                        .attach_bundle(&repository, &subject, &signed.bundle)
                        .unwrap();
                }
            }
            let image = reference(&registry, &repository, &subject);
            let ours = ground.ours(&policy, &image).accepts();
            // What cosign signs with a larger curve it verifies only when told the hash.
            let mut cosign = ground
                .desk
                .verify_command(Edition::V3, &key.public_key, &image);
            if let Some(hash) = own_hash(algorithm, how) {
                cosign.args(["--signature-digest-algorithm", hash]);
            }
            let cosign = verdict_of(&mut cosign).unwrap();
            let what = format!("{algorithm:?} {how:?} {form:?}");
            assert_eq!(ours, cosign.is_accepted(), "{what}: {cosign:?}");
            let expected = how == usual || own_hash(algorithm, how).is_some();
            assert_eq!(ours, expected, "{what}");
        }
    }
}

/// The hash that belongs to a larger curve, when it was used.
fn own_hash(algorithm: Algorithm, (hash, _): (Hash, Scheme)) -> Option<&'static str> {
    match (algorithm, hash) {
        (Algorithm::EcdsaP384, Hash::Sha384) => Some("sha384"),
        (Algorithm::EcdsaP521, Hash::Sha512) => Some("sha512"),
        _ => None,
    }
}
