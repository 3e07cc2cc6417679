//! Whether the ground for tests of signatures holds: both editions of cosign sign and verify in
//! both registries, and our own Sigstore's material is good or bad in cosign's eyes exactly as
//! `verdicts.md` says.

#![cfg(test)]

mod support;
#[path = "signatures/verdicts.rs"]
mod verdicts;

use std::sync::LazyLock;

use lab::oci::{Image, Index, Registry, Subject};
use lab::signing::{
    Algorithm, Authority, Cosign, Edition, Form, Hash, KeyPair, Match, RegexpResult, Scheme,
    Signer, Verdict, simple_payload, statement, verdict_of,
};
use lab::{Lab, LabSpec, Topology};
use support::{order, up};

const EDITIONS: [Edition; 2] = [Edition::V2, Edition::V3];

/// One for all tests: they use repositories of their own. It ends with this process.
static OFFICE: LazyLock<Office> = LazyLock::new(|| Office::open("test-signatures"));

/// A lab with registries, and a desk in it.
struct Office {
    lab: Lab,
    desk: Cosign,
}

impl Office {
    fn open(name: &str) -> Self {
        let lab = up(&LabSpec {
            signing: true,
            ..order(name, Topology::Registry, 0)
        });
        let desk = lab.cosign().unwrap();
        Self { lab, desk }
    }

    /// Debian's registry, then the one with the referrers API.
    fn registries(&self) -> [Registry; 2] {
        let running = self.lab.running();
        let referrers = running.referrers_registry.as_ref();
        [
            Registry::new(&running.registry),
            Registry::new(referrers.expect("the ground has it")),
        ]
    }
}

fn reference(registry: &Registry, repository: &str, subject: &Subject) -> String {
    format!("{}/{repository}@{}", registry.address(), subject.digest)
}

/// A refusal is about signatures; anything else is trouble that must not pass for one.
fn is_refusal(verdict: &Verdict) -> bool {
    let about_signatures = ["no matching ", "no signatures found"];
    !verdict.is_accepted()
        && about_signatures
            .iter()
            .any(|words| verdict.text().contains(words))
}

#[test]
fn both_cosigns_sign_and_verify_in_both_registries() {
    let office = &*OFFICE;
    let desk = &office.desk;
    let key = desk.key_pair("one", Algorithm::EcdsaP256).unwrap();
    let other = desk.key_pair("other", Algorithm::EcdsaP256).unwrap();
    for registry in office.registries() {
        for (form, by) in [Form::SigTag, Form::Bundle]
            .into_iter()
            .flat_map(|form| EDITIONS.map(|edition| (form, edition)))
        {
            let image = Image::marked(&format!("{form:?} by {by:?}")).unwrap();
            registry.push_image("signed", "latest", &image).unwrap();
            let subject = Subject::from(&image);
            let image = reference(&registry, "signed", &subject);
            let unsigned = desk.verify(Edition::V3, &key.public_key, &image).unwrap();
            assert!(is_refusal(&unsigned), "{unsigned:?}");
            desk.sign(by, form, &key, &image, &[]).unwrap();
            for judge in EDITIONS {
                let good = desk.verify(judge, &key.public_key, &image).unwrap();
                assert!(good.is_accepted(), "{form:?} by {by:?}: {good:?}");
                let bad = desk.verify(judge, &other.public_key, &image).unwrap();
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

#[test]
fn an_index_and_its_images_are_signed_apart() {
    let office = &*OFFICE;
    let (desk, [_, registry]) = (&office.desk, office.registries());
    let key = desk.key_pair("index", Algorithm::EcdsaP256).unwrap();
    let accepts = |subject: &Subject| {
        let image = reference(&registry, "index", subject);
        let verdict = desk.verify(Edition::V3, &key.public_key, &image).unwrap();
        assert!(verdict.is_accepted() || is_refusal(&verdict), "{verdict:?}");
        verdict.is_accepted()
    };
    for (more, children_too) in [(&[][..], false), (&["--recursive"][..], true)] {
        let index = Index::marked(&format!("recursive: {children_too}")).unwrap();
        registry.push_index("index", "latest", &index).unwrap();
        let (whole, child) = (Subject::from(&index), Subject::from(&index.images[0]));
        let signed = reference(&registry, "index", &whole);
        desk.sign(Edition::V3, Form::Bundle, &key, &signed, more)
            .unwrap();
        assert!(accepts(&whole));
        assert_eq!(accepts(&child), children_too);
    }
}

/// cosign hashes with SHA-256 when it verifies by key, whatever the key, unless told otherwise.
#[test]
fn every_kind_of_key_is_verified() {
    let office = &*OFFICE;
    let (desk, [_, registry]) = (&office.desk, office.registries());
    for algorithm in Algorithm::ALL {
        let key = desk.key_pair(algorithm.name(), algorithm).unwrap();
        let good = with_key(desk, &registry, &key, (Hash::Sha256, Scheme::Default));
        for (form, image) in &good {
            for edition in EDITIONS {
                let verdict = desk.verify(edition, &key.public_key, image).unwrap();
                assert!(verdict.is_accepted(), "{algorithm:?} {form:?}: {verdict:?}");
            }
        }
    }
    let padded = desk.key_pair("padded", Algorithm::Rsa2048).unwrap();
    for (form, image) in with_key(desk, &registry, &padded, (Hash::Sha256, Scheme::Pss)) {
        for edition in EDITIONS {
            let verdict = desk.verify(edition, &padded.public_key, &image).unwrap();
            assert!(is_refusal(&verdict), "{form:?}: {verdict:?}");
        }
    }
}

/// With such a key cosign signs over a hash that it does not expect when it verifies.
#[test]
fn a_larger_hash_must_be_asked_for() {
    let office = &*OFFICE;
    let (desk, [_, registry]) = (&office.desk, office.registries());
    for (algorithm, hash, name) in [
        (Algorithm::EcdsaP384, Hash::Sha384, "sha384"),
        (Algorithm::EcdsaP521, Hash::Sha512, "sha512"),
    ] {
        let key = desk.key_pair(name, algorithm).unwrap();
        let ours = with_key(desk, &registry, &key, (hash, Scheme::Default));
        let theirs = [Form::SigTag, Form::Bundle].map(|form| {
            let image = Image::marked(&format!("{name} by cosign {form:?}")).unwrap();
            registry.push_image("keys", "latest", &image).unwrap();
            let image = reference(&registry, "keys", &Subject::from(&image));
            desk.sign(Edition::V3, form, &key, &image, &[]).unwrap();
            (form, image)
        });
        for (form, image) in ours.iter().chain(&theirs) {
            for edition in EDITIONS {
                let mut cosign = desk.verify_command(edition, &key.public_key, image);
                let verdict = verdict_of(&mut cosign).unwrap();
                assert!(is_refusal(&verdict), "{name} {form:?}: {verdict:?}");
                let verdict =
                    verdict_of(cosign.args(["--signature-digest-algorithm", name])).unwrap();
                assert!(verdict.is_accepted(), "{name} {form:?}: {verdict:?}");
            }
        }
    }
}

/// cosign signs a hash with an Ed25519 key, and verifies the whole message: it cannot read its
/// own hand, and in a bundle it notices.
#[test]
fn cosign_refuses_its_own_ed25519_signatures() {
    let office = &*OFFICE;
    let (desk, [_, registry]) = (&office.desk, office.registries());
    let key = desk.key_pair("edwards", Algorithm::Ed25519).unwrap();
    let image = Image::marked("Ed25519 by cosign").unwrap();
    registry.push_image("keys", "latest", &image).unwrap();
    let image = reference(&registry, "keys", &Subject::from(&image));
    for by in EDITIONS {
        desk.sign(by, Form::SigTag, &key, &image, &[]).unwrap();
        desk.sign(by, Form::Bundle, &key, &image, &[]).unwrap_err();
    }
    for edition in EDITIONS {
        let verdict = desk.verify(edition, &key.public_key, &image).unwrap();
        assert!(is_refusal(&verdict), "{edition:?}: {verdict:?}");
    }
}

/// A log's word is of use to whoever asks for it, and only if the log is trusted.
#[test]
fn a_signature_by_key_can_be_logged() {
    let office = &*OFFICE;
    let (desk, [_, registry]) = (&office.desk, office.registries());
    let key = desk.key_pair("logged", Algorithm::EcdsaP256).unwrap();
    let (ours, theirs) = (
        desk.create_authority("log").unwrap(),
        desk.create_authority("other-log").unwrap(),
    );
    for form in [Form::SigTag, Form::Bundle] {
        let image = Image::marked(&format!("logged {form:?}")).unwrap();
        registry.push_image("logged", "latest", &image).unwrap();
        let subject = Subject::from(&image);
        let payload = simple_payload("logged", &subject.digest);
        let signed = ours
            .sign_bytes(&key, &payload, &statement(&subject.digest))
            .unwrap();
        match form {
            Form::SigTag => registry.push_signatures("logged", &subject, &[signed.layer(&payload)]),
            Form::Bundle => registry.attach_bundle("logged", &subject, &signed.bundle),
        }
        .unwrap();
        let image = reference(&registry, "logged", &subject);
        for edition in EDITIONS {
            let ask = |authority: &Authority| {
                let mut cosign = desk.command(edition);
                cosign.args(["verify", "--offline=true", "--key"]);
                cosign.arg(&key.public_key).arg("--trusted-root");
                verdict_of(cosign.arg(authority.trusted_root()).arg(&image)).unwrap()
            };
            let verdict = ask(&ours);
            assert!(verdict.is_accepted(), "{edition:?} {form:?}: {verdict:?}");
            let verdict = ask(&theirs);
            assert!(is_refusal(&verdict), "{edition:?} {form:?}: {verdict:?}");
        }
    }
}

/// An image of its own in each form, signed by our own program.
fn with_key(
    desk: &Cosign,
    registry: &Registry,
    key: &KeyPair,
    how: (Hash, Scheme),
) -> [(Form, String); 2] {
    [Form::SigTag, Form::Bundle].map(|form| {
        let image = Image::marked(&format!("{:?} {how:?} {form:?}", key.algorithm)).unwrap();
        registry.push_image("keys", "latest", &image).unwrap();
        let subject = Subject::from(&image);
        let payload = simple_payload("keys", &subject.digest);
        let signed = desk
            .sign_bytes(key, how, &payload, &statement(&subject.digest))
            .unwrap();
        match form {
            Form::SigTag => {
                let layer = signed.layer(&payload);
                registry
                    .push_signatures("keys", &subject, &[layer])
                    .unwrap()
            }
            Form::Bundle => registry
                .attach_bundle("keys", &subject, &signed.bundle)
                .unwrap(),
        };
        (form, reference(registry, "keys", &subject))
    })
}

#[test]
fn a_keyless_signature_is_found_in_both_registries_and_matched_as_asked() {
    let office = &*OFFICE;
    let desk = &office.desk;
    let ours = desk.create_authority("ours").unwrap();
    let theirs = desk.create_authority("theirs").unwrap();
    let anywhere = |pattern: &str| Signer {
        identity: Match::Regexp(pattern.to_owned()),
        ..Signer::default()
    };
    for registry in office.registries() {
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
                desk.verify_keyless(edition, authority, signer, &image)
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
    let office = &*OFFICE;
    let judged = office
        .desk
        .regexps(&[("b+", "abbc"), ("^b+$", "abbc"), ("(?<=a)b", "ab")])
        .unwrap();
    let says = |judgement: &RegexpResult| (judgement.valid, judgement.matches);
    let says: Vec<_> = judged.iter().map(says).collect();
    assert_eq!(says, [(true, true), (true, false), (false, false)]);
    assert!(judged[2].error.contains("invalid"), "{}", judged[2].error);
}
