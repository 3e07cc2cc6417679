//! Policies: no text panics, every valid policy names a key or an identity, and the rule that decides
//! about an image is the most specific one that covers it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use schedkit_core::ImageRef;
use schedkit_image::trust::{Policy, PolicyFile, ScopedRule};
use schedkit_image::untrusted::Reader;

/// The registries and paths of the corpus, inside and outside of its scopes. The first two are one
/// repository.
const IMAGES: [&str; 6] = [
    "a.example/team/one:1.0",
    "A.example:443/team/one",
    "a.example/team-evil/one",
    "a.example/two",
    "docker.io/one",
    "[::1]:5000/team/one",
];

fuzz_target!(|text: &str| {
    // The folder does not exist, so no relative path leads to a file of this machine; an absolute
    // one would be read as a key or root file, which have their own limits.
    let folder = Path::new("/nonexistent");
    let loaded = PolicyFile::parse(text).and_then(|file| file.load(folder, Reader::User));
    match loaded {
        Ok(policy) => {
            assert!(!policy.keys().is_empty() || !policy.identities().is_empty());
            let rules = IMAGES.map(|image| decide(&policy, image).map(|rule| rule.position));
            assert_eq!(rules[0], rules[1]);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

/// What verification asks of a policy before it asks a registry.
fn decide<'a>(policy: &'a Policy, image: &str) -> Option<&'a ScopedRule> {
    let image: ImageRef = image.parse().expect("a valid reference");
    let repository = image.repository();
    let rule = policy.rule_for(repository);
    let all = policy.rules().iter();
    for covering in all.filter(|rule| rule.scope.covers(repository)) {
        let rule = rule.expect("a rule covers the repository");
        assert!(covering.scope.includes(&rule.scope));
    }
    let requirements = rule.and_then(ScopedRule::requirements);
    let name = policy.name_to_check(repository, Some("one"));
    assert!(name.is_none() || requirements.is_some());
    if let Some(requirements) = requirements {
        assert!((1..=requirements.signers.len()).contains(&requirements.needed));
        let attested = requirements.attestations.iter();
        let attested = attested.flat_map(|attestation| &attestation.signers);
        let mut signers = requirements.signers.iter().chain(attested);
        assert!(signers.all(|&signer| signer < policy.signers().len()));
    }
    rule
}
