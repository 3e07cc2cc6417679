//! Whether both editions of cosign sign and verify in both registries as the tests of schedctl
//! assume, and accept what the lab's Sigstore signs.

use lab::oci::{Image, Index, Registry, Subject};
use lab::signing::{
    Algorithm, Authority, Edition, Form, Match, RegexpResult, Signer, Verdict, simple_payload,
    statement, verdict_of,
};
use serde_json::Value;
use testkit::registries::{reference, registries_with_cosign};
use testkit::signature_cases::attach;

const EDITIONS: [Edition; 2] = [Edition::V2, Edition::V3];

/// A refusal is about signatures; anything else is trouble that must not pass for one.
pub(crate) fn is_refusal(verdict: &Verdict) -> bool {
    let about_signatures = ["no matching ", "no signatures found"];
    !verdict.is_accepted()
        && about_signatures
            .iter()
            .any(|words| verdict.text().contains(words))
}

#[test]
fn both_cosigns_sign_and_verify_in_both_registries() {
    let registries = registries_with_cosign();
    let (cosign, sigstore) = (registries.cosign(), &registries.sigstore);
    let key = sigstore.key_pair("one", Algorithm::EcdsaP256).unwrap();
    let other = sigstore.key_pair("other", Algorithm::EcdsaP256).unwrap();
    for registry in registries.both() {
        for (form, by) in [Form::SigTag, Form::Bundle]
            .into_iter()
            .flat_map(|form| EDITIONS.map(|edition| (form, edition)))
        {
            let image = Image::marked(&format!("{form:?} by {by:?}")).unwrap();
            registry.push_image("signed", "latest", &image).unwrap();
            let subject = Subject::from(&image);
            let image = reference(&registry, "signed", &subject);
            let unsigned = cosign.verify(Edition::V3, &key.public_key, &image).unwrap();
            assert!(is_refusal(&unsigned), "{unsigned:?}");
            cosign.sign(by, form, &key, &image, &[]).unwrap();
            for judge in EDITIONS {
                let good = cosign.verify(judge, &key.public_key, &image).unwrap();
                assert!(good.is_accepted(), "{form:?} by {by:?}: {good:?}");
                let bad = cosign.verify(judge, &other.public_key, &image).unwrap();
                assert!(is_refusal(&bad), "{form:?} by {by:?}: {bad:?}");
            }
            let tagged = registry
                .manifest("signed", &subject.signature_tag())
                .unwrap();
            assert_eq!(tagged.is_some(), form == Form::SigTag);
            let listed = registry
                .manifest("signed", &subject.fallback_tag())
                .unwrap();
            let has_api = registry.has_referrers("signed", &subject).unwrap();
            assert_eq!(listed.is_some(), form == Form::Bundle && !has_api);
        }
    }
}

/// Machines of the lab have images that the lab's Sigstore signed: cosign must accept them, and the
/// attached manifest must be the one that cosign 3 writes.
#[test]
fn what_the_labs_sigstore_signs_is_what_cosign_signs() {
    let registries = registries_with_cosign();
    let (cosign, sigstore) = (registries.cosign(), &registries.sigstore);
    let key = sigstore.key_pair("own", Algorithm::EcdsaP256).unwrap();
    for registry in registries.both() {
        let [own, theirs] = ["sigstore", "cosign"].map(|by| {
            let image = Image::marked(&format!("signed by {by}")).unwrap();
            registry.push_image("own", by, &image).unwrap();
            Subject::from(&image)
        });
        sigstore.sign(&key, &registry, "own", &own).unwrap();
        let image = reference(&registry, "own", &own);
        for edition in EDITIONS {
            let verdict = cosign.verify(edition, &key.public_key, &image).unwrap();
            assert!(verdict.is_accepted(), "{edition:?}: {verdict:?}");
        }
        let image = reference(&registry, "own", &theirs);
        let signed = cosign.sign(Edition::V3, Form::Bundle, &key, &image, &[]);
        signed.unwrap();
        if !registry.has_referrers("own", &own).unwrap() {
            let [own, theirs] = [own, theirs].map(|subject| attached(&registry, &subject));
            assert_eq!(own, theirs);
        }
    }
}

/// What is listed under the fallback tag and the manifest that it names, without what differs for
/// every image: digests, sizes and times.
fn attached(registry: &Registry, subject: &Subject) -> [Value; 2] {
    let read = |reference: &str| {
        let found = registry.manifest("own", reference).unwrap().unwrap();
        serde_json::from_slice::<Value>(&found.manifest.bytes).unwrap()
    };
    let list = read(&subject.fallback_tag());
    let manifest = read(list["manifests"][0]["digest"].as_str().unwrap());
    [list, manifest].map(without_differences)
}

fn without_differences(value: Value) -> Value {
    let differs = ["digest", "size", "org.opencontainers.image.created"];
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.filter(|(name, _)| !differs.contains(&name.as_str()));
            fields
                .map(|(name, value)| (name, without_differences(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(without_differences).collect(),
        plain => plain,
    }
}

#[test]
fn an_index_and_its_images_are_signed_apart() {
    let registries = registries_with_cosign();
    let (cosign, sigstore) = (registries.cosign(), &registries.sigstore);
    let registry = registries.with_referrers();
    let key = sigstore.key_pair("index", Algorithm::EcdsaP256).unwrap();
    let accepts = |subject: &Subject| {
        let image = reference(&registry, "index", subject);
        let verdict = cosign.verify(Edition::V3, &key.public_key, &image).unwrap();
        assert!(verdict.is_accepted() || is_refusal(&verdict), "{verdict:?}");
        verdict.is_accepted()
    };
    for (more, children_too) in [(&[][..], false), (&["--recursive"][..], true)] {
        let index = Index::marked(&format!("recursive: {children_too}")).unwrap();
        registry.push_index("index", "latest", &index).unwrap();
        let (whole, child) = (Subject::from(&index), Subject::from(&index.images[0]));
        let signed = reference(&registry, "index", &whole);
        cosign
            .sign(Edition::V3, Form::Bundle, &key, &signed, more)
            .unwrap();
        assert!(accepts(&whole));
        assert_eq!(accepts(&child), children_too);
    }
}

/// With such a key cosign signs over a hash that it does not expect when it verifies.
#[test]
fn a_larger_hash_must_be_asked_for() {
    let registries = registries_with_cosign();
    let (cosign, sigstore) = (registries.cosign(), &registries.sigstore);
    let registry = registries.with_referrers();
    for (algorithm, name) in [
        (Algorithm::EcdsaP384, "sha384"),
        (Algorithm::EcdsaP521, "sha512"),
    ] {
        let key = sigstore.key_pair(name, algorithm).unwrap();
        let signed = [Form::SigTag, Form::Bundle].map(|form| {
            let image = Image::marked(&format!("{name} by cosign {form:?}")).unwrap();
            registry.push_image("keys", "latest", &image).unwrap();
            let image = reference(&registry, "keys", &Subject::from(&image));
            cosign.sign(Edition::V3, form, &key, &image, &[]).unwrap();
            (form, image)
        });
        for (form, image) in &signed {
            for edition in EDITIONS {
                let mut verify = cosign.verify_command(edition, &key.public_key, image);
                let verdict = verdict_of(&mut verify).unwrap();
                assert!(is_refusal(&verdict), "{name} {form:?}: {verdict:?}");
                let verdict =
                    verdict_of(verify.args(["--signature-digest-algorithm", name])).unwrap();
                assert!(verdict.is_accepted(), "{name} {form:?}: {verdict:?}");
            }
        }
    }
}

/// cosign signs a hash with an Ed25519 key and verifies the whole message, so it refuses its own
/// signatures, in a bundle already when it signs.
#[test]
fn cosign_refuses_its_own_ed25519_signatures() {
    let registries = registries_with_cosign();
    let (cosign, sigstore) = (registries.cosign(), &registries.sigstore);
    let registry = registries.with_referrers();
    let key = sigstore.key_pair("edwards", Algorithm::Ed25519).unwrap();
    let image = Image::marked("Ed25519 by cosign").unwrap();
    registry.push_image("keys", "latest", &image).unwrap();
    let image = reference(&registry, "keys", &Subject::from(&image));
    for by in EDITIONS {
        cosign.sign(by, Form::SigTag, &key, &image, &[]).unwrap();
        cosign
            .sign(by, Form::Bundle, &key, &image, &[])
            .unwrap_err();
    }
    for edition in EDITIONS {
        let verdict = cosign.verify(edition, &key.public_key, &image).unwrap();
        assert!(is_refusal(&verdict), "{edition:?}: {verdict:?}");
    }
}

/// A log entry counts for whoever asks for one, and only if the log is trusted.
#[test]
fn a_signature_by_key_can_be_logged() {
    let registries = registries_with_cosign();
    let (cosign, sigstore) = (registries.cosign(), &registries.sigstore);
    let registry = registries.with_referrers();
    let key = sigstore.key_pair("logged", Algorithm::EcdsaP256).unwrap();
    let (ours, theirs) = (
        sigstore.create_authority("log").unwrap(),
        sigstore.create_authority("other-log").unwrap(),
    );
    for form in [Form::SigTag, Form::Bundle] {
        let image = Image::marked(&format!("logged {form:?}")).unwrap();
        registry.push_image("logged", "latest", &image).unwrap();
        let subject = Subject::from(&image);
        let payload = simple_payload("logged", &subject.digest);
        let signed = ours
            .sign_bytes(&key, &payload, &statement(&subject.digest))
            .unwrap();
        attach(&registry, "logged", &subject, form, &payload, &signed);
        let image = reference(&registry, "logged", &subject);
        for edition in EDITIONS {
            let ask = |authority: &Authority| {
                let mut verify = cosign.command(edition);
                verify.args(["verify", "--offline=true", "--key"]);
                verify.arg(&key.public_key).arg("--trusted-root");
                verdict_of(verify.arg(authority.trusted_root()).arg(&image)).unwrap()
            };
            let verdict = ask(&ours);
            assert!(verdict.is_accepted(), "{edition:?} {form:?}: {verdict:?}");
            let verdict = ask(&theirs);
            assert!(is_refusal(&verdict), "{edition:?} {form:?}: {verdict:?}");
        }
    }
}

#[test]
fn a_keyless_signature_is_found_in_both_registries_and_matched_as_asked() {
    let registries = registries_with_cosign();
    let (cosign, sigstore) = (registries.cosign(), &registries.sigstore);
    let ours = sigstore.create_authority("ours").unwrap();
    let theirs = sigstore.create_authority("theirs").unwrap();
    let anywhere = |pattern: &str| Signer {
        identity: Match::Regexp(pattern.to_owned()),
        ..Signer::default()
    };
    for registry in registries.both() {
        let image = Image::marked("keyless").unwrap();
        registry.push_image("keyless", "latest", &image).unwrap();
        let subject = Subject::from(&image);
        let material = ours.issue("keyless", &subject.digest).unwrap();
        registry
            .attach_bundle("keyless", &subject, &material.bundles["good"])
            .unwrap();
        let image = reference(&registry, "keyless", &subject);
        for edition in EDITIONS {
            let ask = |authority, signer: &Signer| {
                cosign
                    .verify_keyless(edition, authority, signer, &image)
                    .unwrap()
            };
            for signer in [Signer::default(), anywhere("schedkit/plumbing")] {
                let verdict = ask(&ours, &signer);
                assert!(verdict.is_accepted(), "{edition:?}: {verdict:?}");
            }
            assert!(is_refusal(&ask(&ours, &anywhere("^schedkit/plumbing"))));
            assert!(is_refusal(&ask(&theirs, &Signer::default())));
        }
    }
}

#[test]
fn go_judges_regexps() {
    let registries = registries_with_cosign();
    let judged = registries
        .sigstore
        .regexps(&[("b+", "abbc"), ("^b+$", "abbc"), ("(?<=a)b", "ab")])
        .unwrap();
    let says = |judgement: &RegexpResult| (judgement.valid, judgement.matches);
    let says: Vec<_> = judged.iter().map(says).collect();
    assert_eq!(says, [(true, true), (true, false), (false, false)]);
    assert!(judged[2].error.contains("invalid"), "{}", judged[2].error);
}
