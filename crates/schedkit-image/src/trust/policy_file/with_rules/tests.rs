//! Tests of policies with rules: what they mean, what is an error, and what changes nothing.

mod faults;

use std::error::Error;
use std::fs;

use jiff::Timestamp;
use proptest::prelude::*;
use schedkit_core::Repository;

use super::rules::MAX_RULES;
use super::signers::MAX_REGEXPS;
use super::*;
use crate::trust::policy_file::fault::MAX_ENTRIES;
use crate::trust::{
    CertificateClaims, Claim, Policy, PolicyError, ProvenIdentity, ProvenSigner, Relevance,
};
use crate::untrusted::{ReadError, Reader};

const KEYS: [&str; 2] = [
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYI4heOTrNrZO27elFE8ynfrdPMik
ttRkbe+vJKQ50G6bfwQ3WyhLpRwwwohelDAm8xRzJ56nYsIa3VHivVvpmA==",
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
];

const SIGNERS: &str = "version: 2
signers:
  ci:
    issuer: https://ci.example
    subjectPrefix: https://ci.example/team/
    claims: {ref: refs/heads/main, runner: github-hosted}
  release: {key: a.pem, notBefore: 2026-01-01T00:00:00Z, notAfter: 2026-12-31T00:00:00Z}
";

fn read(policy: &str) -> Result<Policy, PolicyError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, key) in ["a.pem", "b.pem"].into_iter().zip(KEYS) {
        let key = format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n");
        fs::write(folder.path().join(name), key).unwrap();
    }
    let path = folder.path().join("policy.yaml");
    fs::write(&path, policy).unwrap();
    Policy::read(&path, Reader::User)
}

fn with_rules(rules: &str) -> Policy {
    let policy = format!("{SIGNERS}rules:\n{rules}");
    read(&policy).unwrap_or_else(|error| panic!("{policy}{error:?}"))
}

fn repository(text: &str) -> Repository {
    text.parse().unwrap()
}

fn scope_for(policy: &Policy, text: &str) -> Option<String> {
    let rule = policy.rule_for(&repository(text));
    rule.map(|rule| rule.scope.to_string())
}

/// Position and cause of the fault, as one line.
fn fault(policy: &str) -> String {
    let error = read(policy).expect_err(policy);
    let PolicyError::Invalid { source, .. } = error else {
        panic!("{error}");
    };
    let mut text = format!("{}:{}", source.line, source.column);
    let mut cause: Option<&dyn Error> = Some(&source.fault);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[test]
fn a_rule_says_what_its_images_need() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let policy = with_rules(&format!(
        "- scope: ghcr.io/team
  signers: [release, ci]
  require: all
  attestations:
  - predicateType: https://slsa.dev/provenance/v1
    signers: [ci]
  - predicateType: https://spdx.dev/Document
  minimumVersion: 1.2.0
  deniedDigests: ['{digest}']
  title: any
- scope: '*'
  refuse: true
"
    ));
    assert_eq!(policy.warnings(), []);
    let rule = policy.rule_for(&repository("ghcr.io/team/one")).unwrap();
    assert_eq!(rule.to_string(), "rules[0] (ghcr.io/team)");
    assert_eq!(rule.denied.len(), 1);
    let asked = rule.requirements().unwrap();
    // Signers are listed by their names.
    assert_eq!(
        (asked.signers.as_slice(), asked.needed),
        ([0, 1].as_slice(), 2)
    );
    let attestations = asked.attestations.iter();
    let attestations: Vec<_> = attestations.map(|one| one.signers.clone()).collect();
    assert_eq!(attestations, [vec![0], vec![0, 1]]);
    assert_eq!(asked.minimum_version.as_ref().unwrap().to_string(), "1.2.0");
    let other = policy.rule_for(&repository("evil.example/one")).unwrap();
    assert!(other.requirements().is_none());
}

#[test]
fn the_name_to_check_is_the_one_that_was_asked_for() {
    let policy = with_rules(
        "- {scope: a.example, signers: [ci]}\n- {scope: b.example, signers: [ci], title: any}\n",
    );
    let [a, b, c] = ["a.example/team/one", "b.example/one", "c.example/one"].map(repository);
    assert_eq!(policy.name_to_check(&a, None), Some("one"));
    assert_eq!(policy.name_to_check(&a, Some("scx_one")), Some("scx_one"));
    assert_eq!(policy.name_to_check(&b, Some("scx_one")), None);
    assert_eq!(policy.name_to_check(&c, Some("scx_one")), None);
}

#[test]
fn without_a_rule_nothing_is_accepted() {
    let policy = with_rules("- {scope: ghcr.io/team, signers: [ci]}\n");
    assert_eq!(scope_for(&policy, "ghcr.io/team-evil/one"), None);
    let considered = policy.consider(&repository("ghcr.io/other/one"));
    assert_eq!(considered[0].relevance, Relevance::OtherScope);
}

#[test]
fn a_signer_counts_only_with_its_claims_and_in_its_time() {
    let policy = with_rules("- {scope: '*', signers: [ci, release]}\n");
    let claims = |reference: &str, runner: Option<&str>| {
        let mut claims = CertificateClaims::default();
        claims.0.insert(Claim::Ref, reference.to_owned());
        claims
            .0
            .extend(runner.map(|runner| (Claim::Runner, runner.to_owned())));
        claims
    };
    let verdict = |subject: &str, claims: &CertificateClaims| {
        let who = ProvenIdentity::Certificate {
            issuer: "https://ci.example",
            subject,
            claims,
        };
        let time = Timestamp::UNIX_EPOCH;
        let result = policy.counts_for(&[0, 1], &ProvenSigner { who, time });
        result.map_err(|mismatch| mismatch.map(|one| one.to_string()))
    };
    let good = claims("refs/heads/main", Some("github-hosted"));
    assert_eq!(verdict("https://ci.example/team/a", &good), Ok(vec![0]));
    assert_eq!(verdict("https://ci.example/teams/a", &good), Err(None));
    for (bad, found) in [
        (
            claims("refs/heads/fix", Some("github-hosted")),
            "refs/heads/fix",
        ),
        (
            claims("refs/heads/main", Some("self-hosted")),
            "self-hosted",
        ),
        (claims("refs/heads/main", None), "has none"),
    ] {
        let mismatch = verdict("https://ci.example/team/a", &bad)
            .unwrap_err()
            .unwrap();
        assert!(
            mismatch.contains("signers.ci needs the claim"),
            "{mismatch}"
        );
        assert!(mismatch.contains(found), "{mismatch}");
    }
    let by_key = |time: &str| {
        let who = ProvenIdentity::Key(0);
        let time = time.parse().unwrap();
        policy.counts_for(&[0, 1], &ProvenSigner { who, time })
    };
    assert_eq!(by_key("2026-06-01T00:00:00Z"), Ok(vec![1]));
    assert_eq!(by_key("2026-12-31T00:00:00Z"), Ok(vec![1]));
    for outside in ["2025-12-31T23:59:59Z", "2026-12-31T00:00:01Z"] {
        let mismatch = by_key(outside).unwrap_err().unwrap().to_string();
        assert!(
            mismatch.contains("signers.release is accepted from"),
            "{mismatch}"
        );
    }
}

#[test]
fn whatever_contradicts_itself_is_an_error() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let rules = faults::RULES.map(|(rule, expected)| {
        let rule = rule.replace("DIGEST", &digest);
        (format!("{SIGNERS}rules:\n- {rule}\n"), expected)
    });
    let of_a = "rules: [{scope: '*', signers: [a]}]\n";
    let signers = faults::SIGNERS.map(|(signer, expected)| {
        let policy = format!("version: 2\nsigners:\n  a: {signer}\n{of_a}");
        (policy, expected)
    });
    let policies = faults::POLICIES;
    let policies = policies.map(|(policy, expected)| (policy.replace("RULES", of_a), expected));
    for (policy, expected) in rules.into_iter().chain(signers).chain(policies) {
        let found = fault(&policy);
        assert!(found.contains(expected), "{policy}\n{found}\n{expected}");
    }
}

/// However many signers they are in the file.
#[test]
fn one_identity_is_not_asked_for_twice() {
    let signer = |name: &str, subject: &str| {
        format!("  {name}: {{issuer: i, subject{subject}, claims: {{ref: {name}}}}}\n")
    };
    let policy = |subjects: [&str; 3], require: &str| {
        let signers = ["a", "b", "c"].into_iter().zip(subjects);
        let signers: String = signers
            .map(|(name, subject)| signer(name, subject))
            .collect();
        format!(
            "version: 2\nsigners:\n{signers}rules: [{{scope: '*', signers: [a, b, c], require: {require}}}]\n"
        )
    };
    for (subjects, most) in [
        ([": s", ": s", ": t"], 2),
        ([": s", ": s", ": s"], 1),
        ([": s", ": s", "Prefix: s"], 2),
        (["Prefix: s", "Prefix: s", "RegExp: ^s"], 3),
    ] {
        assert!(read(&policy(subjects, &most.to_string())).is_ok());
        if most < 3 {
            for require in ["all".to_owned(), (most + 1).to_string()] {
                let found = fault(&policy(subjects, &require));
                assert!(found.contains("counts once"), "{subjects:?} {found}");
            }
        }
    }
}

#[test]
fn size_and_number_are_limited() {
    let many = |count: usize| {
        let rules = (0..count).map(|number| format!("- {{scope: a.b/c{number}, signers: [ci]}}\n"));
        format!("{SIGNERS}rules:\n{}", rules.collect::<String>())
    };
    assert!(read(&many(MAX_RULES)).is_ok());
    assert!(fault(&many(MAX_RULES + 1)).contains("rules: at most 512"));
    for huge in [many(10_000), "#".repeat(10 << 20)] {
        let PolicyError::Unreadable { source, .. } = read(&huge).unwrap_err() else {
            panic!("it is read");
        };
        assert!(matches!(source, ReadError::TooBig(_)));
    }
    let signers = (0..=MAX_ENTRIES).map(|number| format!("  a{number}: {{key: a.pem}}\n"));
    let signers = signers.collect::<String>();
    assert!(fault(&format!("version: 2\nsigners:\n{signers}")).contains("more than 64 signers"));
    let regexps = (0..=MAX_REGEXPS)
        .map(|number| format!("  a{number:02}: {{issuer: a, subjectRegExp: '^a{number}'}}\n"));
    let regexps: String = regexps.take(MAX_ENTRIES).collect();
    let regexps = regexps.replacen("issuer: a", "issuerRegExp: ^a", 1);
    let fault_ = fault(&format!("version: 2\nsigners:\n{regexps}"));
    assert!(
        fault_.contains("regular expressions: at most 64"),
        "{fault_}"
    );
    let absurd = "version: 2\nsigners:\n  a: {issuer: a, subjectRegExp: '((a{900}){900}){900}'}\n";
    assert!(fault(absurd).contains("`subject` is invalid"));
}

#[test]
fn the_fingerprint_is_of_what_decides() {
    let print = |rules: &str| with_rules(rules).fingerprint().clone();
    let base = "- {scope: a.b, signers: [ci, release]}\n- {scope: '*', refuse: true}\n";
    let same = "- {scope: '*', refuse: true}\n- {scope: 'A.B:443', signers: [release, ci], require: any}\n";
    assert_eq!(print(base), print(same));
    let digest = format!("sha256:{}", "a".repeat(64));
    let others = [
        base.replace("a.b", "a.c"),
        base.replace("[ci, release]", "[ci]"),
        base.replace("release]", "release], require: all"),
        base.replace("release]", "release], title: any"),
        base.replace("release]", "release], minimumVersion: 1.0.0"),
        base.replace("release]", "release], attestations: [{predicateType: p}]"),
        base.replace(
            "release]",
            "release], attestations: [{predicateType: p, signers: [ci]}]",
        ),
        base.replace(
            "release]",
            &format!("release], deniedDigests: ['{digest}']"),
        ),
        "- {scope: a.b, signers: [ci, release]}\n".to_owned(),
        format!("{base}deniedDigests: ['{digest}']\n"),
    ];
    let mut prints: Vec<_> = others.iter().map(|rules| print(rules)).collect();
    prints.push(print(base));
    let of_signers = |from: &str, to: &str| {
        let policy = format!("{}rules:\n{base}", SIGNERS.replace(from, to));
        read(&policy).unwrap().fingerprint().clone()
    };
    assert_eq!(of_signers("  ci:", "  ci:  # a comment"), print(base));
    prints.push(of_signers("refs/heads/main", "refs/heads/next"));
    prints.push(of_signers("subjectPrefix", "subjectRegExp"));
    prints.push(of_signers("2026-12-31", "2027-12-31"));
    prints.push(of_signers("a.pem", "b.pem"));
    let count = prints.len();
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), count);
}

#[test]
fn the_names_of_signers_decide_nothing() {
    let rules = "rules:\n- {scope: a.b, signers: [ci, release]}\n";
    let renamed = format!("{SIGNERS}{rules}")
        .replace("ci:", "zz:")
        .replace("[ci", "[zz");
    let renamed = read(&renamed).unwrap();
    assert_eq!(renamed.fingerprint(), with_rules(&rules[7..]).fingerprint());
}

#[test]
fn what_a_narrower_rule_loses_is_told() {
    let wide = "- {scope: a.b, signers: [ci, release], require: all, minimumVersion: 1.0.0, attestations: [{predicateType: p}]}\n";
    let advice = with_rules(&format!("{wide}- {{scope: a.b/c, signers: [ci]}}\n")).advice();
    assert_eq!(advice.len(), 1, "{advice:?}");
    for part in [
        "rules[1] (a.b/c) replaces rules[0] (a.b)",
        "attestation p",
        "version 1.0.0",
        "2 signers",
    ] {
        assert!(advice[0].contains(part), "{advice:?}");
    }
    // The rule between them refuses everything, and so asks for nothing that could be lost.
    let between = "- {scope: a.b/c, refuse: true}\n- {scope: a.b/c/d, signers: [ci]}\n";
    let advice = with_rules(&format!("{wide}{between}")).advice();
    assert_eq!(advice.len(), 1, "{advice:?}");
    assert!(
        advice[0].contains("rules[2] (a.b/c/d) replaces rules[0] (a.b)"),
        "{advice:?}"
    );
    let kept = wide.replace("a.b,", "a.b/c,");
    assert_eq!(with_rules(&format!("{wide}{kept}")).advice(), [""; 0]);
    assert_eq!(
        with_rules("- {scope: a.b, signers: [ci]}\n- {scope: '*', refuse: true}\n").advice(),
        ["no rule names signers.release"]
    );
}

#[test]
fn a_scope_that_may_be_meant_for_an_official_image_is_told() {
    let advice = |scope: &str| {
        let rule = format!("- {{scope: {scope}, signers: [ci, release]}}\n");
        with_rules(&rule).advice()
    };
    let told = advice("index.docker.io/nginx");
    assert_eq!(
        told,
        [
            "docker.io/nginx covers docker.io/nginx/…, and not the official image nginx of Docker Hub, whose \
             scope is docker.io/library/nginx"
        ]
    );
    for scope in [
        "docker.io",
        "docker.io/library",
        "docker.io/library/nginx",
        "a.b/nginx",
    ] {
        assert_eq!(advice(scope), [""; 0], "{scope}");
    }
}

#[test]
fn loose_patterns_cause_warnings() {
    let policy = read(
        "version: 2\nsigners:\n  a: {issuer: i, subjectPrefix: https://a/b, claims: {refRegExp: main}}\nrules: [{scope: '*', signers: [a]}]\n",
    );
    let warnings = policy.unwrap().warnings();
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("subjectPrefix of signers.a ends in the middle"));
    assert!(warnings[1].starts_with("refRegExp of signers.a has no `^`"));
}

proptest! {
    /// Whatever the order of the rules, the rule with the longest scope that covers it applies.
    #[test]
    fn the_most_specific_rule_applies(
        scopes in prop::collection::btree_set("(\\*|a\\.b(/[ab]){0,3})", 1..6),
        seed: u64,
        path in "[ab](/[ab]){0,3}",
    ) {
        let mut order: Vec<_> = scopes.iter().collect();
        let turns = usize::try_from(seed % 6).unwrap();
        let length = order.len();
        order.rotate_left(turns % length);
        if seed % 2 == 0 {
            order.reverse();
        }
        let rule = |scope: &&String| format!("- {{scope: '{scope}', signers: [ci]}}\n");
        let text = format!("{SIGNERS}rules:\n{}", order.iter().map(rule).collect::<String>());
        let contents = parse(&text).unwrap().contents.unwrap();
        let asked = format!("a.b/{path}");
        let below = |scope: &&&String| {
            let scope = scope.as_str();
            scope == "*" || asked == scope || asked.starts_with(&format!("{scope}/"))
        };
        let length = |scope: &str| scope.replace('*', "").len();
        let expected = order.iter().filter(below).max_by_key(|scope| length(scope));
        let repository = repository(&asked);
        let covering = contents.rules.iter();
        let covering = covering.filter(|rule| rule.scope.covers(&repository));
        let applies = covering.max_by_key(|rule| length(&rule.scope.to_string()));
        let applies = applies.map(|rule| rule.scope.to_string());
        prop_assert_eq!(applies.as_ref(), expected.copied());
        let policy = with_rules(&order.iter().map(rule).collect::<String>());
        let applies = scope_for(&policy, &asked);
        prop_assert_eq!(applies.as_ref(), expected.copied());
    }

    #[test]
    fn no_text_makes_it_panic(text: String) {
        let _ = parse(&text);
        let _ = parse(&format!("{SIGNERS}rules:\n- {text}"));
        let _ = parse(&format!("version: 2\nsigners:\n  a: {text}"));
    }

    #[test]
    fn nearly_valid_policies_do_not_make_it_panic(
        lines in prop::collection::vec(
            "(signers|rules|  a|- scope|  signers|    key|    claims|  require|deniedDigests): ?[a-z0-9.*\\[\\]{}]{0,6}",
            0..10,
        ),
    ) {
        let file = PolicyFile::parse(&format!("version: 2\n{}", lines.join("\n")));
        if let Ok(file) = file {
            prop_assert!(!file.keys.is_empty() || !file.identities.is_empty());
            prop_assert!(file.contents.is_some_and(|contents| !contents.rules.is_empty()));
        }
    }
}
