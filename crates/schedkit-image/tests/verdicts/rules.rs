//! Policies with rules: who must have signed, and what else must be there.

use proptest::prelude::*;
use schedkit_core::PinnedRef;
use schedkit_image::signature::{Denial, Refusal, Unmet, Verified, VerifyError};
use schedkit_image::trust::SignerMismatch;
use x509_cert::der::Encode;
use x509_cert::der::asn1::Utf8StringRef;
use x509_cert::ext::Extension;

use crate::certificate::extension;
use crate::fixture::verify_now;
use crate::memory_registry::FailingRequest;
use crate::sigstore::{SigningKey, statement};
use crate::world::World;

const SLSA: &str = "https://slsa.dev/provenance/v1";

fn attestation(image: &PinnedRef, predicate_type: &str) -> String {
    statement(image.digest()).replace("https://sigstore.dev/cosign/sign/v1", predicate_type)
}

fn claim(number: u32, value: &str) -> Extension {
    let value = Utf8StringRef::new(value).unwrap().to_der().unwrap();
    extension(&format!("1.3.6.1.4.1.57264.1.{number}"), false, &value)
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
    let outcome = world.verify(&required, &image).await;
    let text = outcome.as_ref().unwrap_err().to_string();
    assert!(
        text.ends_with("lacks what rules[0] (*) of the policy needs: an accepted signature"),
        "{text}"
    );
    assert_eq!(unmet(outcome), missing);
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
