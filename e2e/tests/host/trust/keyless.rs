//! Every flaw that a keyless signature can have, one at a time.

use std::collections::BTreeMap;

use lab::signing::Form;
use testkit::registries::{Verification, registries};
use testkit::signature_cases::keyless;
use testkit::signature_cases::table::{Row, table};

fn breach(table: &BTreeMap<String, Row>, case: &str, ours: &Verification) -> Option<String> {
    let reasons = ours.reasons();
    let Some(row) = table.get(case) else {
        return Some(format!("{case} has no row in signature_cases.json"));
    };
    match (ours.accepts(), row.accepted()) {
        (true, true) => None,
        (true, false) => Some(format!("{case} is accepted")),
        (false, true) => Some(format!("{case} is refused: {reasons}")),
        (false, false) => {
            let same = row.reason.as_ref().is_some_and(|it| reasons.contains(it));
            (!same).then(|| format!("{case} is refused for another reason: {reasons}"))
        }
    }
}

fn every_case(form: Form, at_least: usize) {
    let (registries, table) = (registries(), table());
    let policy = registries.default_identity_policy("keyless");
    for registry in registries.both() {
        let cases = keyless(registries, &registry, form);
        assert!(cases.len() > at_least, "the Sigstore makes them all");
        let breaches = cases
            .iter()
            .filter_map(|(case, image)| breach(&table, case, &registries.verify(&policy, image)));
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
fn every_row_of_the_table_is_about_a_case_that_exists() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let material = registries().authority.issue("names", &digest).unwrap();
    for name in table().keys() {
        let exists = match name.split_once('/') {
            Some(("bundle", name)) => material.bundles.contains_key(name),
            Some(("sig", name)) => material.signatures.contains_key(name),
            _ => false,
        };
        assert!(exists, "{name}");
    }
}
