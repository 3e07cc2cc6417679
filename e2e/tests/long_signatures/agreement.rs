//! schedctl beside cosign: keys, identities, indexes. Keyless material is in `cosign_verdicts.rs`.

use lab::oci::{Image, Index, Subject};
use lab::signing::{
    Algorithm, Edition, Form, Hash, Scheme, Signer, simple_payload, statement, verdict_of,
};
use testkit::registries::{reference, registries_with_cosign};
use testkit::signature_cases::{attach, good_bundle, identities, keys, policy_lines};

const EDITIONS: [Edition; 2] = [Edition::V2, Edition::V3];

#[test]
fn what_cosign_signs_is_accepted_by_its_key_and_no_other() {
    let registries = registries_with_cosign();
    let cosign = registries.cosign();
    let [key, other] = ["key", "other"].map(|name| {
        let key = registries.sigstore.key_pair(name, Algorithm::EcdsaP256);
        key.unwrap()
    });
    let policy = registries.key_policy("key", &key.public_key);
    let wrong = registries.key_policy("other", &other.public_key);
    for registry in registries.both() {
        for edition in EDITIONS {
            for form in [Form::SigTag, Form::Bundle] {
                let image = Image::marked(&format!("{form:?} by {edition:?}")).unwrap();
                registry.push_image("cosign", "latest", &image).unwrap();
                let image = reference(&registry, "cosign", &Subject::from(&image));
                cosign.sign(edition, form, &key, &image, &[]).unwrap();
                let good = registries.verify(&policy, &image);
                assert!(good.accepts(), "{edition:?} {form:?}: {good:?}");
                let bad = registries.verify(&wrong, &image);
                assert!(!bad.accepts(), "{edition:?} {form:?}: {bad:?}");
            }
        }
    }
}

/// cosign verifies by key with SHA-256, whatever the key, unless told otherwise; we take the hash
/// that belongs to the key as well.
#[test]
fn every_kind_of_key_is_judged_as_cosign_judges_it() {
    let registries = registries_with_cosign();
    let cosign = registries.cosign();
    for case in keys(registries, &registries.with_referrers()) {
        let policy = registries.key_policy("kind", &case.key.public_key);
        let ours = registries.verify(&policy, &case.reference).accepts();
        for edition in EDITIONS {
            let mut verify = cosign.verify_command(edition, &case.key.public_key, &case.reference);
            if let Some(hash) = case.larger_hash {
                let without = verdict_of(&mut verify).unwrap();
                assert!(!without.is_accepted(), "{}: {without:?}", case.name);
                verify.args(["--signature-digest-algorithm", hash]);
            }
            let verdict = verdict_of(&mut verify).unwrap();
            assert_eq!(ours, verdict.is_accepted(), "{}: {verdict:?}", case.name);
        }
    }
}

#[test]
fn identities_match_as_they_do_for_cosign() {
    let registries = registries_with_cosign();
    let cosign = registries.cosign();
    let image = good_bundle(registries, &registries.with_referrers(), "identities");
    for (identity, issuer, _) in identities() {
        let lines = policy_lines(&identity, &issuer);
        let policy = registries.identity_policy("identity", &lines);
        let ours = registries.verify(&policy, &image).accepts();
        let signer = Signer { identity, issuer };
        let verdict = cosign.verify_keyless(Edition::V3, &registries.authority, &signer, &image);
        let verdict = verdict.unwrap();
        assert_eq!(ours, verdict.is_accepted(), "{signer:?}: {verdict:?}");
    }
}

#[test]
fn an_index_and_its_images_are_signed_apart_as_for_cosign() {
    let registries = registries_with_cosign();
    let cosign = registries.cosign();
    let key = registries.sigstore.key_pair("apart", Algorithm::EcdsaP256);
    let key = key.unwrap();
    let policy = registries.key_policy("apart", &key.public_key);
    for registry in registries.both() {
        for signs_index in [true, false] {
            let tag = if signs_index { "whole" } else { "part" };
            let index = Index::marked(tag).unwrap();
            registry.push_index("apart", tag, &index).unwrap();
            let [whole, part] = [Subject::from(&index), Subject::from(&index.images[0])]
                .map(|subject| reference(&registry, "apart", &subject));
            let signed = if signs_index { &whole } else { &part };
            let signed = cosign.sign(Edition::V3, Form::Bundle, &key, signed, &[]);
            signed.unwrap();
            let by_tag = format!("{}/apart:{tag}", registry.address());
            for (image, accepted) in [
                (&whole, signs_index),
                (&part, !signs_index),
                (&by_tag, signs_index),
            ] {
                let ours = registries.verify(&policy, image).accepts();
                let verdict = cosign.verify(Edition::V3, &key.public_key, image).unwrap();
                assert_eq!(
                    (ours, verdict.is_accepted()),
                    (accepted, accepted),
                    "{image}"
                );
            }
        }
    }
}

#[test]
fn a_signature_moved_from_another_image_is_refused_as_by_cosign() {
    let registries = registries_with_cosign();
    let cosign = registries.cosign();
    let key = registries.sigstore.key_pair("moved", Algorithm::EcdsaP256);
    let key = key.unwrap();
    let policy = registries.key_policy("moved", &key.public_key);
    for registry in registries.both() {
        let [from, to] = ["from", "to"].map(|mark| {
            let image = Image::marked(mark).unwrap();
            registry.push_image("moved", mark, &image).unwrap();
            Subject::from(&image)
        });
        let payload = simple_payload("moved", &from.digest);
        let how = (Hash::Sha256, Scheme::Default);
        let signed = registries
            .sigstore
            .sign_bytes(&key, how, &payload, &statement(&from.digest))
            .unwrap();
        for (subject, accepted) in [(&from, true), (&to, false)] {
            for form in [Form::SigTag, Form::Bundle] {
                attach(&registry, "moved", subject, form, &payload, &signed);
            }
            let image = reference(&registry, "moved", subject);
            let ours = registries.verify(&policy, &image).accepts();
            assert_eq!(ours, accepted, "{image}");
            for edition in EDITIONS {
                let verdict = cosign.verify(edition, &key.public_key, &image).unwrap();
                assert_eq!(verdict.is_accepted(), accepted, "{edition:?}: {verdict:?}");
            }
        }
    }
}
