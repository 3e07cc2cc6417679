//! Policies with rules: who must have signed, what else must be there, and that the image is what was
//! asked for.

use std::fs;

use jiff::Timestamp;
use proptest::prelude::*;
use schedkit_core::{Digest, PinnedRef};
use schedkit_image::registry::Platform;
use schedkit_image::signature::{
    AskedImage, Denial, Nonconformity, Refusal, TitleCheck, Unmet, Verified, VerifyError, verify,
};
use schedkit_image::trust::{Policy, SignerMismatch};
use schedkit_image::untrusted::Reader;
use serde_json::{Value, json};
use x509_cert::der::Encode;
use x509_cert::der::asn1::Utf8StringRef;
use x509_cert::ext::Extension;

use crate::certificate::extension;
use crate::fixture::verify_now;
use crate::memory_registry::{FailingRequest, MemoryRegistry, repository};
use crate::sigstore::{CertificateSpec, SigningKey, Sigstore, bundle, enclose, pem, statement};

const SLSA: &str = "https://slsa.dev/provenance/v1";

/// Two keys `a` and `b`, and a Sigstore.
struct World {
    a: SigningKey,
    b: SigningKey,
    sigstore: Sigstore,
    registry: MemoryRegistry,
}

impl World {
    fn new() -> Self {
        Self {
            a: SigningKey::new(),
            b: SigningKey::new(),
            sigstore: Sigstore::new(),
            registry: MemoryRegistry::default(),
        }
    }

    /// With the signers `a`, `b` and `ci`, and these rules.
    fn policy(&self, rules: &str) -> Policy {
        self.policy_with("{ref: refs/heads/main}", rules)
    }

    fn policy_with(&self, claims: &str, rules: &str) -> Policy {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.pem", &pem("PUBLIC KEY", &self.a.spki()));
        write("b.pem", &pem("PUBLIC KEY", &self.b.spki()));
        write("root.json", &self.sigstore.root().to_string());
        let text = format!(
            "version: 2
trustedRoot: root.json
signers:
  a: {{key: a.pem}}
  b: {{key: b.pem}}
  ci:
    issuer: https://token.actions.githubusercontent.com
    subjectPrefix: https://github.com/schedkit/plumbing/
    claims: {claims}
rules:
{rules}"
        );
        write("policy.yaml", &text);
        let policy = Policy::read(&folder.path().join("policy.yaml"), Reader::User);
        policy.unwrap_or_else(|error| panic!("{text}{error:?}"))
    }

    /// Signs with a key, without a log.
    fn sign(&self, image: &PinnedRef, key: &SigningKey) {
        self.attach(image, key, &statement(image.digest()));
    }

    fn attach(&self, image: &PinnedRef, key: &SigningKey, payload: &str) {
        let signature = key.sign(&enclose(payload));
        let material = json!({"publicKey": {"hint": "x"}});
        self.registry
            .attach(image, &bundle(payload, &signature, &material));
    }

    /// Signs with a certificate that has this claim.
    fn sign_as_ci(&self, image: &PinnedRef, extensions: Vec<Extension>) {
        let spec = CertificateSpec {
            extensions,
            ..CertificateSpec::default()
        };
        let bundle = self.sigstore.bundle(&statement(image.digest()), &spec);
        self.registry.attach(image, &bundle);
    }

    /// An image for one platform with these labels.
    fn image(&self, labels: &Value) -> PinnedRef {
        let manifest = self.manifest(labels, &json!({}));
        PinnedRef::new(repository(), digest(&manifest))
    }

    fn manifest(&self, labels: &Value, annotations: &Value) -> Value {
        let config = json!({"os": "linux", "architecture": "amd64", "config": {"Labels": labels}});
        let manifest = json!({
            "schemaVersion": 2, "layers": [], "annotations": annotations,
            "config": self.registry.put(config.to_string().as_bytes()),
        });
        self.registry.put(manifest.to_string().as_bytes())
    }

    /// An image for these platforms, each with its labels.
    fn index(&self, images: &[(&str, Value)], annotations: &Value) -> PinnedRef {
        let entry = |(architecture, labels): &(&str, Value)| {
            let mut entry = self.manifest(labels, &json!({}));
            entry["platform"] = json!({"os": "linux", "architecture": architecture});
            entry
        };
        let manifests: Vec<Value> = images.iter().map(entry).collect();
        let index = json!({"schemaVersion": 2, "manifests": manifests, "annotations": annotations});
        let index = self.registry.put(index.to_string().as_bytes());
        PinnedRef::new(repository(), digest(&index))
    }

    async fn verify(&self, rules: &str, image: &PinnedRef) -> Result<Verified, VerifyError> {
        verify_now(&self.registry, &self.policy(rules), image).await
    }
}

fn digest(descriptor: &Value) -> Digest {
    descriptor["digest"].as_str().unwrap().parse().unwrap()
}

fn attestation(image: &PinnedRef, predicate_type: &str) -> String {
    statement(image.digest()).replace("https://sigstore.dev/cosign/sign/v1", predicate_type)
}

fn claim(number: u32, value: &str) -> Extension {
    let value = Utf8StringRef::new(value).unwrap().to_der().unwrap();
    extension(&format!("1.3.6.1.4.1.57264.1.{number}"), false, &value)
}

fn title(title: &str) -> Value {
    json!({"org.opencontainers.image.title": title})
}

fn version(version: &str) -> Value {
    json!({"org.opencontainers.image.version": version})
}

#[track_caller]
fn refusals(result: Result<Verified, VerifyError>) -> Vec<Refusal> {
    match result {
        Err(VerifyError::Refused { signatures, .. }) => {
            signatures.into_iter().map(|one| one.refusal).collect()
        }
        other => panic!("refused signatures expected: {other:?}"),
    }
}

#[track_caller]
fn unmet(result: Result<Verified, VerifyError>) -> Vec<Unmet> {
    match result {
        Err(error @ VerifyError::NotEnough { .. }) => {
            assert!(error.is_refusal());
            match error {
                VerifyError::NotEnough { unmet, .. } => unmet,
                _ => Vec::new(),
            }
        }
        other => panic!("not enough expected: {other:?}"),
    }
}

#[track_caller]
fn nonconformity(result: Result<Verified, VerifyError>) -> Nonconformity {
    match result {
        Err(VerifyError::Nonconforming { why, .. }) => why,
        other => panic!("another image expected: {other:?}"),
    }
}

#[tokio::test]
async fn only_a_signer_of_the_most_specific_rule_counts() {
    let world = World::new();
    let image = world.registry.image("image");
    world.sign(&image, &world.a);
    let wide = "- {scope: '*', signers: [a], title: any}\n";
    let narrow = "- {scope: registry.example/team, signers: [b], title: any}\n";
    let accepted = world.verify(wide, &image).await.unwrap();
    assert_eq!(accepted.rule().to_string(), "signers.a");
    assert_eq!(accepted.policy_rule(), Some("rules[0] (*)"));
    for rules in [format!("{wide}{narrow}"), format!("{narrow}{wide}")] {
        let refused = refusals(world.verify(&rules, &image).await);
        let [Refusal::Signer(SignerMismatch::NotInRule { rule })] = refused.as_slice() else {
            panic!("{refused:?}");
        };
        assert!(rule.ends_with("(registry.example/team)"), "{rule}");
    }
    let elsewhere = "- {scope: registry.example/te, signers: [a]}\n";
    let uncovered = world.verify(elsewhere, &image).await.unwrap_err();
    let VerifyError::Denied { why, .. } = &uncovered else {
        panic!("{uncovered:?}");
    };
    assert_eq!(why, &Denial::NoRule);
    assert!(uncovered.is_refusal());
}

#[tokio::test]
async fn what_is_denied_needs_no_registry() {
    let world = World::new();
    let image = world.registry.image("image");
    world.sign(&image, &world.a);
    world.registry.fail(FailingRequest::NoResponse);
    let digest = image.digest();
    for (rules, expected) in [
        (
            "- {scope: '*', refuse: true}\n".to_owned(),
            "rules[0] (*) of the policy refuses every image",
        ),
        (
            format!("- {{scope: '*', signers: [a], deniedDigests: ['{digest}']}}\n"),
            "the policy denies its digest",
        ),
        // No rule overrides it.
        (
            format!(
                "- {{scope: registry.example/team, signers: [a]}}\ndeniedDigests: ['{digest}']\n"
            ),
            "the policy denies its digest",
        ),
    ] {
        let error = world.verify(&rules, &image).await.unwrap_err();
        assert!(error.is_refusal());
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_threshold_counts_different_signers() {
    let world = World::new();
    let image = world.registry.image("image");
    world.sign(&image, &world.a);
    let two = "- {scope: '*', signers: [a, b, ci], require: '2', title: any}\n";
    let all = "- {scope: '*', signers: [a, b], require: all, title: any}\n";
    let missing = [Unmet::Signatures {
        needed: 2,
        found: 1,
    }];
    assert_eq!(unmet(world.verify(two, &image).await), missing);
    // Another signature of the same key, and another form of the same signature.
    world.registry.attach(
        &image,
        &world
            .sigstore
            .key_bundle(&statement(image.digest()), &world.a),
    );
    assert_eq!(unmet(world.verify(all, &image).await), missing);
    world.sign(&image, &SigningKey::new());
    assert_eq!(unmet(world.verify(two, &image).await), missing);
    world.sign(&image, &world.b);
    for rules in [two, all] {
        let verified = world.verify(rules, &image).await.unwrap();
        let further = verified.further_signatures();
        let mut rules = vec![verified.rule().to_string()];
        rules.extend(further.iter().map(|one| one.rule.to_string()));
        rules.sort();
        assert_eq!(rules, ["signers.a", "signers.b"]);
    }
}

#[tokio::test]
async fn the_claims_of_a_certificate_are_checked() {
    let rules = "- {scope: '*', signers: [ci], title: any}\n";
    let all = "{ref: refs/heads/main, runner: github-hosted, ownerId: '7', repositoryPrefix: https://github.com/schedkit/, workflowRegExp: ^https}";
    let good = || {
        vec![
            claim(11, "github-hosted"),
            claim(12, "https://github.com/schedkit/plumbing"),
            claim(14, "refs/heads/main"),
            claim(17, "7"),
            claim(18, "https://github.com/schedkit/plumbing/x.yml"),
        ]
    };
    let verdict = async |extensions: Vec<Extension>| {
        let world = World::new();
        let image = world.registry.image("image");
        world.sign_as_ci(&image, extensions);
        verify_now(&world.registry, &world.policy_with(all, rules), &image).await
    };
    let accepted = verdict(good()).await.unwrap();
    assert_eq!(accepted.rule().to_string(), "signers.ci");
    for position in 0..good().len() {
        let mut missing = good();
        missing.remove(position);
        let mut other = good();
        other[position].extn_value = claim(1, "other").extn_value;
        let mut twice = good();
        twice.push(good()[position].clone());
        for extensions in [missing, other, twice] {
            let refused = refusals(verdict(extensions).await);
            let is_claim = |refusal: &Refusal| {
                matches!(refusal, Refusal::Signer(SignerMismatch::Claim { .. }))
            };
            assert!(refused.iter().all(is_claim), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn a_required_attestation_is_about_this_image_and_by_a_signer() {
    let rules = format!(
        "- {{scope: '*', signers: [a], title: any, attestations: [{{predicateType: '{SLSA}', signers: [b]}}]}}\n"
    );
    let verdict = async |attach: &dyn Fn(&World, &PinnedRef)| {
        let world = World::new();
        let image = world.registry.image("image");
        world.sign(&image, &world.a);
        attach(&world, &image);
        world.verify(&rules, &image).await
    };
    let accepted = verdict(&|world, image| {
        world.attach(image, &world.b, &attestation(image, SLSA));
    });
    let accepted = accepted.await.unwrap();
    let [provenance] = accepted.attestations() else {
        panic!("{accepted:?}");
    };
    assert_eq!(provenance.predicate_type, SLSA);
    assert_eq!(provenance.rule.to_string(), "signers.b");
    assert_eq!(accepted.rule().to_string(), "signers.a");
    let missing = [Unmet::Attestation {
        predicate_type: SLSA.to_owned(),
    }];
    type Attach<'a> = &'a dyn Fn(&World, &PinnedRef);
    let nothing: Attach<'_> = &|_, _| {};
    assert_eq!(unmet(verdict(nothing).await), missing);
    let others: [Attach<'_>; 4] = [
        &|world, image| world.attach(image, &world.a, &attestation(image, SLSA)),
        &|world, image| {
            world.attach(
                image,
                &world.b,
                &attestation(image, "https://other.example"),
            );
        },
        &|world, image| {
            let other = world.registry.image("other");
            world.attach(image, &world.b, &attestation(&other, SLSA));
        },
        &|world, image| world.attach(image, &SigningKey::new(), &attestation(image, SLSA)),
    ];
    for other in others {
        assert_eq!(unmet(verdict(other).await), missing);
    }
}

#[tokio::test]
async fn an_attestation_is_never_a_signature() {
    let world = World::new();
    let image = world.registry.image("image");
    world.attach(&image, &world.a, &attestation(&image, SLSA));
    let plain = "- {scope: '*', signers: [a], title: any}\n";
    let refused = refusals(world.verify(plain, &image).await);
    assert_eq!(refused, [Refusal::OtherPredicate(SLSA.to_owned())]);
    let required = format!(
        "- {{scope: '*', signers: [a], title: any, attestations: [{{predicateType: '{SLSA}'}}]}}\n"
    );
    let missing = [Unmet::Signatures {
        needed: 1,
        found: 0,
    }];
    assert_eq!(unmet(world.verify(&required, &image).await), missing);
}

#[tokio::test]
async fn the_title_is_the_name_that_was_asked_for() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a]}\n";
    let policy = world.policy(rules);
    let asked = async |image: &PinnedRef, name: Option<&str>| {
        world.sign(image, &world.a);
        let asked = AskedImage::new(image).named(name);
        verify(&world.registry, &policy, asked, Timestamp::now()).await
    };
    let ours = world.image(&title("scx_test"));
    let name = "scx_test".to_owned();
    let matches = TitleCheck::Matches { name: name.clone() };
    assert_eq!(*asked(&ours, None).await.unwrap().title(), matches);
    assert_eq!(
        *asked(&ours, Some("scx_test")).await.unwrap().title(),
        matches
    );
    let other = nonconformity(asked(&ours, Some("scx_lavd")).await);
    assert!(matches!(other, Nonconformity::OtherTitle { .. }), "{other}");
    let other = nonconformity(asked(&world.image(&title("scx_lavd")), None).await);
    assert!(matches!(other, Nonconformity::OtherTitle { .. }), "{other}");
    let untitled = asked(&world.image(&json!({})), None).await.unwrap();
    assert_eq!(*untitled.title(), TitleCheck::NoTitle { name });
}

#[tokio::test]
async fn no_place_has_another_title() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a]}\n";
    let policy = world.policy(rules);
    let (ours, other) = (title("scx_test"), title("scx_lavd"));
    let verdict = async |image: &PinnedRef, machine: Option<&Platform>| {
        world.sign(image, &world.a);
        let asked = AskedImage::new(image);
        let asked = machine.map_or(asked, |machine| asked.on(machine));
        verify(&world.registry, &policy, asked, Timestamp::now()).await
    };
    let of_index = world.index(&[("amd64", ours.clone())], &other);
    nonconformity(verdict(&of_index, None).await);
    let manifest = world.manifest(&ours, &other);
    let of_manifest = PinnedRef::new(repository(), digest(&manifest));
    nonconformity(verdict(&of_manifest, None).await);
    // The image for the other platform.
    let mixed = world.index(&[("amd64", ours.clone()), ("arm64", other)], &json!({}));
    let platform = |architecture: &str| Platform {
        os: "linux".to_owned(),
        architecture: architecture.to_owned(),
        variant: None,
    };
    nonconformity(verdict(&mixed, None).await);
    nonconformity(verdict(&mixed, Some(&platform("arm64"))).await);
    nonconformity(verdict(&mixed, Some(&platform("riscv64"))).await);
    assert!(verdict(&mixed, Some(&platform("amd64"))).await.is_ok());
}

#[tokio::test]
async fn the_version_is_the_minimum_at_least() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a], title: any, minimumVersion: 1.2.0}\n";
    let verdict = async |image: &PinnedRef| {
        world.sign(image, &world.a);
        world.verify(rules, image).await
    };
    let accepted = verdict(&world.image(&version("v1.10.0"))).await.unwrap();
    assert_eq!(accepted.version(), Some("1.10.0"));
    let old = world.index(
        &[("amd64", version("1.2.0")), ("arm64", version("1.1.0"))],
        &json!({}),
    );
    let none = world.index(
        &[("amd64", version("1.2.0")), ("arm64", json!({}))],
        &json!({}),
    );
    for image in [
        world.image(&version("1.1.9")),
        world.image(&version("1.2.0-rc.1")),
        old,
        none,
    ] {
        let why = nonconformity(verdict(&image).await);
        assert!(matches!(why, Nonconformity::TooOld { .. }), "{why}");
    }
}

#[tokio::test]
async fn an_image_of_a_platform_can_be_denied() {
    let world = World::new();
    let image = world.index(&[("amd64", json!({}))], &json!({}));
    world.sign(&image, &world.a);
    let manifest = world.manifest(&json!({}), &json!({}));
    let denied = digest(&manifest);
    let rules =
        format!("- {{scope: '*', signers: [a], title: any, deniedDigests: ['{denied}']}}\n");
    let why = nonconformity(world.verify(&rules, &image).await);
    assert_eq!(why, Nonconformity::Denied(denied));
}

#[tokio::test]
async fn labels_that_cannot_be_fetched_are_no_verdict() {
    let world = World::new();
    let image = world.registry.image("no such content");
    world.sign(&image, &world.a);
    let rules = "- {scope: '*', signers: [a]}\n";
    let error = world.verify(rules, &image).await.unwrap_err();
    assert!(!error.is_refusal(), "{error:?}");
    assert!(matches!(error, VerifyError::NotCompared { .. }));
    // Nothing of the image is read if nothing about it is asked.
    let any = "- {scope: '*', signers: [a], title: any}\n";
    assert!(world.verify(any, &image).await.is_ok());
}

#[tokio::test]
async fn content_that_cannot_be_read_is_refused() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a]}\n";
    let nested = {
        let inner = world
            .registry
            .put(br#"{"schemaVersion": 2, "manifests": []}"#);
        json!({"schemaVersion": 2, "manifests": [inner]}).to_string()
    };
    let empty = json!({"schemaVersion": 2, "manifests": []}).to_string();
    for content in ["[]", "{}", &nested, &empty] {
        let content = world.registry.put(content.as_bytes());
        let image = PinnedRef::new(repository(), digest(&content));
        world.sign(&image, &world.a);
        let why = nonconformity(world.verify(rules, &image).await);
        assert!(matches!(why, Nonconformity::Unreadable(_)), "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// However many others sign, and in whatever order: what was accepted stays accepted.
    #[test]
    fn a_further_signature_never_makes_an_image_refused(
        order in Just(vec![0_usize, 1, 2, 3]).prop_shuffle(),
        count in 1_usize..5,
        needed in 1_usize..3,
    ) {
        let world = World::new();
        let image = world.registry.image("image");
        let stranger = SigningKey::new();
        let keys = [&world.a, &world.b, &stranger, &world.a];
        let rules = format!("- {{scope: '*', signers: [a, b], require: '{needed}', title: any}}\n");
        let policy = world.policy(&rules);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut was_accepted = false;
        for position in order.into_iter().take(count) {
            world.sign(&image, keys[position]);
            let verified = runtime.block_on(verify_now(&world.registry, &policy, &image));
            prop_assert!(!was_accepted || verified.is_ok());
            was_accepted = verified.is_ok();
        }
    }
}
