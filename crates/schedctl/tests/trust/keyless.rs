//! Every flaw that a keyless signature can have, one at a time, before both judges.

use lab::oci::{Image, Registry, Subject};
use lab::signing::{Edition, IDENTITY, ISSUER, Signer, Verdict};

use crate::ground::{Ours, ground, reference};
use crate::table::{ACCEPTED, ONLY_COSIGN_3, REASONS, STRICTER};

/// What the three judges say of one case.
struct Judged {
    case: String,
    ours: Ours,
    second: Verdict,
    third: Verdict,
}

/// Judges one image three times.
fn judge(case: String, image: &str) -> Judged {
    let ground = ground();
    let policy = ground.identity_policy("keyless", &[("issuer", ISSUER), ("subject", IDENTITY)]);
    let cosign = |edition| {
        let signer = Signer::default();
        let verdict = ground
            .desk
            .verify_keyless(edition, &ground.authority, &signer, image);
        verdict.unwrap()
    };
    Judged {
        case,
        ours: ground.ours(&policy, image),
        second: cosign(Edition::V2),
        third: cosign(Edition::V3),
    }
}

/// Holds us to the rule, and tells every breach of it at once.
fn hold_to_the_rule(judged: &[Judged]) {
    let mut breaches = Vec::new();
    for Judged {
        case,
        ours,
        second,
        third,
    } in judged
    {
        let reasons = ours.reasons();
        let listed = |list: &[(&str, &str)]| list.iter().any(|(name, _)| name == case);
        let found = match (ours.accepts(), third.is_accepted(), second.is_accepted()) {
            (true, false, _) => Some("we accept what cosign 3 refuses"),
            (true, true, false) if !listed(ONLY_COSIGN_3) => Some("cosign 2 refuses it"),
            (false, true, _) if !listed(STRICTER) => Some("we refuse what cosign 3 accepts"),
            (true, _, _) if !ACCEPTED.contains(&case.as_str()) => Some("we accept it"),
            (false, _, _) if ACCEPTED.contains(&case.as_str()) => Some("we refuse it"),
            (true, _, true) if listed(ONLY_COSIGN_3) => Some("cosign 2 accepts it, too"),
            (_, true, _) if listed(STRICTER) && ours.accepts() => Some("we are not stricter"),
            (_, false, _) if listed(STRICTER) => Some("cosign 3 refuses it, too"),
            (false, ..) if !is_refused_for_its_flaw(case, &reasons) => Some("another reason"),
            _ => None,
        };
        if let Some(found) = found {
            let words = third.text().lines().last().unwrap_or_default();
            breaches.push(format!(
                "{case}: {found}; ours: {reasons}; cosign 3: {words}"
            ));
        }
    }
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

fn is_refused_for_its_flaw(case: &str, reasons: &str) -> bool {
    let named = REASONS.iter().find(|(name, _)| *name == case);
    named.is_some_and(|(_, words)| reasons.contains(words))
}

/// The same image in a repository of its own for each case: the same digest, another signature.
fn each_case(
    registry: &Registry,
    image: &Image,
    kind: &str,
    names: impl Iterator<Item = String>,
    attach: impl Fn(&str, &Subject, &str),
) -> Vec<Judged> {
    let subject = Subject::from(image);
    names
        .map(|name| {
            let repository = format!("{kind}/{name}");
            registry.push_image(&repository, "latest", image).unwrap();
            attach(&repository, &subject, &name);
            let image = reference(registry, &repository, &subject);
            judge(repository, &image)
        })
        .collect()
}

#[test]
fn bundles_are_judged_no_milder_than_by_cosign() {
    let ground = ground();
    let [_, registry] = ground.registries();
    let image = Image::marked("bundles").unwrap();
    let digest = Subject::from(&image).digest;
    let material = ground.authority.issue("bundles", &digest).unwrap();
    let names = material.bundles.keys().cloned();
    let judged = each_case(
        &registry,
        &image,
        "bundle",
        names,
        |repository, subject, name| {
            registry
                .attach_bundle(repository, subject, &material.bundles[name])
                .unwrap();
        },
    );
    assert!(judged.len() > 50, "the Sigstore makes them all");
    hold_to_the_rule(&judged);
}

#[test]
fn signatures_under_a_tag_are_judged_no_milder_than_by_cosign() {
    let ground = ground();
    let [registry, _] = ground.registries();
    let image = Image::marked("signatures").unwrap();
    let digest = Subject::from(&image).digest;
    let material = ground.authority.issue("signatures", &digest).unwrap();
    let names = material.signatures.keys().cloned();
    let judged = each_case(
        &registry,
        &image,
        "sig",
        names,
        |repository, subject, name| {
            let layer = material.signatures[name].clone();
            registry
                .push_signatures(repository, subject, &[layer])
                .unwrap();
        },
    );
    assert!(judged.len() > 25, "the Sigstore makes them all");
    hold_to_the_rule(&judged);
}

#[test]
fn every_line_of_the_tables_is_about_a_case_that_there_is() {
    let ground = ground();
    let digest = format!("sha256:{}", "0".repeat(64));
    let material = ground.authority.issue("names", &digest).unwrap();
    let reasoned = STRICTER.iter().chain(REASONS).chain(ONLY_COSIGN_3);
    let names = reasoned.map(|(name, _)| name).chain(ACCEPTED);
    for name in names {
        let there = match name.split_once('/') {
            Some(("bundle", name)) => material.bundles.contains_key(name),
            Some(("sig", name)) => material.signatures.contains_key(name),
            _ => false,
        };
        assert!(there, "{name}");
    }
}
