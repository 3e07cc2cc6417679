//! Every flaw that a keyless signature can have, one at a time.

use lab::signing::Form;
use testkit::registries::{Verification, registries};
use testkit::signature_cases::expected::{ACCEPTED, ONLY_COSIGN_3, REASONS, STRICTER};
use testkit::signature_cases::keyless;

fn breach(case: &str, ours: &Verification) -> Option<String> {
    let reasons = ours.reasons();
    let flaw = REASONS.iter().find(|(name, _)| *name == case);
    match (ours.accepts(), ACCEPTED.contains(&case), flaw) {
        (true, true, _) => None,
        (true, false, _) => Some(format!("{case} is accepted")),
        (false, true, _) => Some(format!("{case} is refused: {reasons}")),
        (false, false, Some((_, reason))) if reasons.contains(reason) => None,
        (false, false, _) => Some(format!("{case} is refused for another reason: {reasons}")),
    }
}

fn every_case(form: Form, at_least: usize) {
    let registries = registries();
    let policy = registries.default_identity_policy("keyless");
    for registry in registries.both() {
        let cases = keyless(registries, &registry, form);
        assert!(cases.len() > at_least, "the Sigstore makes them all");
        let breaches = cases
            .iter()
            .filter_map(|(case, image)| breach(case, &registries.verify(&policy, image)));
        let breaches: Vec<_> = breaches.collect();
        assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
    }
}

#[test]
fn every_bundle_is_accepted_or_refused_for_its_flaw() {
    every_case(Form::Bundle, 50);
}

#[test]
fn every_signature_under_a_tag_is_accepted_or_refused_for_its_flaw() {
    every_case(Form::SigTag, 25);
}

#[test]
fn every_line_of_the_tables_is_about_a_case_that_exists() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let material = registries().authority.issue("names", &digest).unwrap();
    let reasoned = STRICTER.iter().chain(REASONS).chain(ONLY_COSIGN_3);
    let names = reasoned.map(|(name, _)| name).chain(ACCEPTED);
    for name in names {
        let exists = match name.split_once('/') {
            Some(("bundle", name)) => material.bundles.contains_key(name),
            Some(("sig", name)) => material.signatures.contains_key(name),
            _ => false,
        };
        assert!(exists, "{name}");
    }
}
