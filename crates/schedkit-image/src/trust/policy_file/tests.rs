//! Tests of policy files, valid and invalid.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::process::Command;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::trust::{PolicyWarning, Rule};
use crate::untrusted::ReadError;

const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYI4heOTrNrZO27elFE8ynfrdPMik
ttRkbe+vJKQ50G6bfwQ3WyhLpRwwwohelDAm8xRzJ56nYsIa3VHivVvpmA==
-----END PUBLIC KEY-----
";
const EMPTY_ROOT: &str =
    r#"{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;

/// A folder with a policy, a key `a.pem` and the roots `empty.json` and `full.json`.
fn read(policy: &str) -> Result<Policy, PolicyError> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.pem", KEY);
    write("empty.json", EMPTY_ROOT);
    let full = include_str!("../public_good_root.json");
    write(
        "full.json",
        &full.replace("rekor.sigstore.dev", "rekor.example"),
    );
    write("policy.yaml", policy);
    Policy::read(&folder.path().join("policy.yaml"), Reader::User)
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
fn the_documented_example_is_valid() {
    let policy = read(
        r"
keys:
  - path: a.pem
identities:
  - issuer: https://token.actions.githubusercontent.com
    subjectRegExp: '^https://github\.com/my-org/my-repo/.*'
rekorURL: https://rekor.sigstore.dev
",
    )
    .unwrap();
    assert_eq!(policy.keys().len(), 1);
    assert!(policy.keys()[0].path().ends_with("a.pem"));
    assert_eq!(policy.log_for_keys(), LogForKeys::Optional);
    assert!(matches!(
        policy.root().origin(),
        RootOrigin::PublicGood { .. }
    ));
    assert_eq!(policy.warnings(), [PolicyWarning::LogNotRequired]);
    let signers = policy.signer_policy();
    let issuer = "https://token.actions.githubusercontent.com";
    let ours = "https://github.com/my-org/my-repo/.github/workflows/a.yml@refs/heads/main";
    assert_eq!(signers.identity_of(issuer, ours), Some(Rule::Identity(0)));
    assert_eq!(
        signers.identity_of("https://accounts.google.com", ours),
        None
    );
    assert_eq!(
        signers.identity_of(issuer, "https://github.com/my-org/other/"),
        None
    );
}

#[test]
fn faults_are_reported_with_their_position() {
    let identity = "identities:\n- issuer: a\n  subject: b\n";
    for (policy, expected) in [
        ("", "1:1: the policy names neither"),
        ("# nothing\n", "1:1: the policy names neither"),
        (
            "keys: []\nidentities: []\n",
            "1:1: the policy names neither",
        ),
        (
            "keys:\n- path: a.pem\nkeyz: []\n",
            "3:1: unknown field `keyz`",
        ),
        (
            "keys:\n- path: a.pem\n  name: x\n",
            "3:3: unknown field `name`",
        ),
        ("keys:\n- {}\n", "2:3: missing field `path`"),
        ("keys:\n- path: a.pem\nkeys: []\n", "3:1: duplicate"),
        ("keys: [\n", "1:7: unclosed bracket"),
        ("keys: 3\n", "1:7: "),
        (
            "identities:\n- issuer: a\n",
            "2:3: an identity needs `subject`",
        ),
        (
            "identities:\n- subject: a\n",
            "2:3: an identity needs `issuer`",
        ),
        (
            "identities:\n- issuer: a\n  subject: b\n  subjectRegExp: c\n",
            "4:18: an identity has either `subject` or `subjectRegExp`, not both",
        ),
        (
            "identities:\n- issuer: a\n  issuerRegExp: b\n  subject: b\n",
            "3:17: an identity has either `issuer`",
        ),
        (
            "identities:\n- issuer: ''\n  subject: b\n",
            "2:11: `issuer` is invalid: is empty",
        ),
        (
            "identities:\n- issuer: a\n  subjectRegExp: '('\n",
            "3:18: `subjectRegExp` is invalid: is not a regular expression: unclosed group",
        ),
        (
            "identities:\n- issuer: a\n  subjectRegExp: 'a**'\n",
            "3:18: `subjectRegExp` is invalid: uses a repetition of a repetition",
        ),
        ("keys:\n- path: b.pem\n", "2:9: the key "),
        ("keys:\n- path: policy.yaml\n", "2:9: the key "),
        (
            "keys:\n- path: a.pem\nrekorURL: rekor.example\n",
            "3:11: `rekorURL` is not a URL",
        ),
        (
            "keys:\n- path: a.pem\nrekorURL: https://rekor.example\n",
            "3:11: a `rekorURL` other than",
        ),
        (
            "keys:\n- path: a.pem\nrekorURL: https://other.example\ntrustedRoot: full.json\nrequireTransparencyLog: true\n",
            "3:11: the `trustedRoot` has no log",
        ),
        (
            "keys:\n- path: a.pem\nrekorURL: https://rekor.sigstore.dev\n",
            "3:11: `rekorURL` would restrict nothing",
        ),
        (
            "keys:\n- path: a.pem\nrekorURL: https://rekor.sigstore.dev\nrequireTransparencyLog: false\n",
            "3:11: `rekorURL` would restrict nothing",
        ),
        (
            "keys:\n- path: a.pem\ntrustedRoot: none.json\n",
            "3:14: the trusted root ",
        ),
        (
            "keys:\n- path: a.pem\ntrustedRoot: a.pem\n",
            "3:14: the trusted root ",
        ),
        (
            "keys:\n- path: a.pem\nrequireTransparencyLog: true\ntrustedRoot: empty.json\n",
            "4:14: the `trustedRoot` lacks transparency logs",
        ),
        (
            &format!("{identity}trustedRoot: empty.json\n"),
            "4:14: the `trustedRoot` lacks certificate",
        ),
        (
            &format!("{identity}requireTransparencyLog: false\n"),
            "4:25: signatures by identity always",
        ),
        (
            &format!("{identity}requireTransparencyLog: yes\n"),
            "4:25: ",
        ),
    ] {
        let found = fault(policy);
        assert!(found.starts_with(expected), "{policy}\n{found}\n{expected}");
    }
    let many = format!("keys:\n{}", "- path: a.pem\n".repeat(MAX_ENTRIES + 1));
    assert!(fault(&many).contains("more than 64 keys"));
}

#[test]
fn an_unreadable_policy_is_an_error() {
    let error = Policy::read(Path::new("/nonexistent/policy.yaml"), Reader::Root).unwrap_err();
    assert!(matches!(error, PolicyError::Unreadable { .. }));
    let error = read(&"#".repeat(MAX_POLICY_BYTES + 1)).unwrap_err();
    let PolicyError::Unreadable { source, .. } = error else {
        panic!("{error}");
    };
    assert!(matches!(source, ReadError::TooBig(MAX_POLICY_BYTES)));
}

/// What is read is the first half of one key and the second half of another.
#[test]
fn a_key_file_that_changes_while_it_is_read_is_an_error() {
    const OTHER: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEMMvL/ZzwvtJiykJZ+5NzEVzjOiyX
s8p3qGUM9ZWYxhY+AcXqD1rUEOTyLaMGqU0SLl9XBIVESws8BTU8PhoGFg==
-----END PUBLIC KEY-----
";
    let folder = tempfile::tempdir().unwrap();
    let (policy, key) = (folder.path().join("policy.yaml"), folder.path().join("key"));
    fs::write(&policy, "keys:\n- path: key\n").unwrap();
    for whole in [KEY, OTHER] {
        fs::write(&key, whole).unwrap();
        assert!(Policy::read(&policy, Reader::User).is_ok());
    }
    fs::remove_file(&key).unwrap();
    // The reader waits for what is written into a pipe.
    let pipe = Command::new("mkfifo").arg(&key).status();
    assert!(pipe.unwrap().success());
    let writer = thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(key).unwrap();
        let half = KEY.len() / 2;
        pipe.write_all(&KEY.as_bytes()[..half]).unwrap();
        pipe.write_all(&OTHER.as_bytes()[half..]).unwrap();
    });
    let error = Policy::read(&policy, Reader::User).unwrap_err();
    writer.join().unwrap();
    let PolicyError::Invalid { source, .. } = error else {
        panic!("{error}");
    };
    assert!(
        matches!(source.fault, PolicyFault::Key { .. }),
        "{:?}",
        source.fault
    );
}

#[test]
fn other_instances_and_the_log_can_be_configured() {
    let policy = read(
        "keys:\n- path: a.pem\nrekorURL: https://rekor.example/\ntrustedRoot: full.json\nrequireTransparencyLog: true\n",
    )
    .unwrap();
    assert_eq!(policy.log_for_keys(), LogForKeys::Required);
    let RootOrigin::File(path) = policy.root().origin() else {
        panic!("a file");
    };
    assert!(path.ends_with("full.json"));
    let offline = read("keys:\n- path: a.pem\ntrustedRoot: empty.json\n").unwrap();
    assert!(!offline.root().serves_logs());
}

#[test]
fn a_regexp_without_an_anchor_causes_a_warning() {
    let policy = read(
        "identities:\n- issuer: a\n  subjectRegExp: b\n- issuerRegExp: c\n  subjectRegExp: ^d\n",
    );
    let warnings = policy.unwrap().warnings();
    let expected = [(0, "subjectRegExp"), (1, "issuerRegExp")].map(|(position, field)| {
        let (rule, field) = (Rule::Identity(position), field.to_owned());
        PolicyWarning::Unanchored { rule, field }
    });
    assert_eq!(warnings, expected);
    assert!(
        warnings[1]
            .to_string()
            .starts_with("issuerRegExp of identities[1] has no `^`")
    );
}

#[test]
fn a_log_that_is_not_required_causes_a_warning() {
    let keys = "keys:\n- path: a.pem\n";
    let url = "rekorURL: https://rekor.sigstore.dev\n";
    let warnings = |policy: String| read(&policy).unwrap().warnings();
    let both = format!("{keys}identities:\n- issuer: a\n  subject: b\n");
    let found = warnings(format!("{both}{url}"));
    assert_eq!(found, [PolicyWarning::LogNotRequired]);
    assert!(
        found[0]
            .to_string()
            .contains("set `requireTransparencyLog`")
    );
    for value in ["true", "false"] {
        let policy = format!("{both}{url}requireTransparencyLog: {value}\n");
        assert_eq!(warnings(policy), []);
    }
    assert_eq!(warnings(keys.to_owned()), []);
    let identity = "identities:\n- issuer: a\n  subject: b\n";
    assert_eq!(warnings(format!("{identity}{url}")), []);
}

#[test]
fn an_unused_root_does_not_change_the_fingerprint() {
    let print = |policy: String| read(&policy).unwrap().fingerprint().clone();
    let keys = "keys:\n- path: a.pem\n";
    let root = "trustedRoot: full.json\n";
    let alone = print(keys.to_owned());
    assert_eq!(alone, print(format!("{keys}{root}")));
    let logged = format!("{keys}requireTransparencyLog: true\n");
    assert_ne!(print(logged.clone()), print(format!("{logged}{root}")));
    assert_ne!(alone, print(logged));
}

#[test]
fn the_fingerprint_changes_with_what_decides_and_only_with_that() {
    let print = |policy: &str| read(policy).unwrap().fingerprint().clone();
    let base =
        "keys:\n- path: a.pem\nidentities:\n- issuer: a\n  subject: b\n- issuer: c\n  subject: d\n";
    let same = "# a comment\nidentities:\n- subject: d\n  issuer: c\n- {issuer: a, subject: b}\nkeys:\n- path: ./a.pem\n- path: a.pem\nrequireTransparencyLog: false\n";
    assert_eq!(print(base), print(same));
    let others = [
        base.replace("- path: a.pem", "[]")
            .replace("keys:\n", "keys: "),
        base.replace("subject: d", "subject: e"),
        base.replace("subject: d", "subjectRegExp: d"),
        base.replace("issuer: a\n  subject: b", "issuer: b\n  subject: a"),
        format!("{base}requireTransparencyLog: true\n"),
        format!("{base}trustedRoot: full.json\n"),
    ];
    let mut prints: Vec<_> = others.iter().map(|policy| print(policy)).collect();
    prints.push(print(base));
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), others.len() + 1);
}

/// Kept verdicts hold them, so that they are the same in every version of the program.
#[test]
fn fingerprints_of_policies_without_rules_never_change() {
    let organisation = BuiltIn::SchedkitOrganisation.policy().unwrap();
    let key = read("keys:\n- path: a.pem\n").unwrap();
    let fingerprint_of_key = hash_of("key", &key.keys()[0].key.fingerprint().to_string(), None);
    assert_eq!(*key.fingerprint(), fingerprint_of_key);
    let identity = r"identity exact 43:https://token.actions.githubusercontent.com regexp 30:^https://github\.com/schedkit/";
    let (name, rest) = identity.split_once(' ').unwrap();
    let root = organisation.root().digest().to_string();
    let expected = hash_of(name, rest, Some(&root));
    assert_eq!(*organisation.fingerprint(), expected);
}

fn hash_of(kind: &str, who: &str, root: Option<&str>) -> schedkit_core::Digest {
    let root = root.map(|root| format!("root {root}"));
    let lines = [
        Some(format!("{kind} {who}")),
        root,
        Some("keys without log".to_owned()),
    ];
    let lines = lines
        .into_iter()
        .flatten()
        .map(|line| format!("{}:{line}\n", line.len()));
    let text = format!("schedkit trust policy 1\n{}", lines.collect::<String>());
    crate::hash::sha256(text.as_bytes())
}

#[test]
fn a_policy_without_rules_is_one_rule_for_every_image() {
    let policy = read("keys:\n- path: a.pem\nidentities:\n- issuer: a\n  subject: b\n").unwrap();
    assert_eq!(policy.format(), PolicyFormat::Signers);
    let repository = "a.example/one".parse().unwrap();
    let rule = policy.rule_for(&repository).unwrap();
    let asked = rule.requirements().unwrap();
    assert_eq!(
        (asked.signers.as_slice(), asked.needed),
        ([0, 1].as_slice(), 1)
    );
    assert!(asked.attestations.is_empty() && asked.minimum_version.is_none());
    // Titles were not read: only a name in the catalog says what the image is.
    assert_eq!(policy.name_to_check(&repository, None), None);
    assert_eq!(
        policy.name_to_check(&repository, Some("scx_one")),
        Some("scx_one")
    );
    let names = policy
        .signers()
        .iter()
        .map(|signer| signer.name.to_string());
    assert_eq!(names.collect::<Vec<_>>(), ["keys[0]", "identities[0]"]);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text: String) {
        let _ = PolicyFile::parse(&text);
    }

    #[test]
    fn every_valid_policy_names_a_key_or_an_identity(
        lines in prop::collection::vec("(keys|identities|rekorURL|- path|  issuer|  subject): ?[a-z.\\[\\]{}]{0,6}", 0..8),
    ) {
        if let Ok(file) = PolicyFile::parse(&lines.join("\n")) {
            prop_assert!(!file.keys.is_empty() || !file.identities.is_empty());
        }
    }
}

#[test]
fn the_url_of_a_log_restricts_the_root_to_it() {
    let identity = "identities:\n- issuer: a\n  subject: b\n";
    let policy = |more: &str| read(&format!("{identity}{more}")).unwrap();
    let all = policy("");
    assert!(all.root().log_urls().count() > 1);
    let one = policy("rekorURL: https://rekor.sigstore.dev/\n");
    let urls: Vec<&str> = one.root().log_urls().collect();
    assert_eq!(urls, ["https://rekor.sigstore.dev"]);
    assert_ne!(one.fingerprint(), all.fingerprint());
    let root = "trustedRoot: full.json\n";
    let first = policy(&format!("{root}rekorURL: https://rekor.example\n"));
    let second = policy(&format!(
        "{root}rekorURL: https://log2025-1.rekor.example\n"
    ));
    assert_ne!(first.fingerprint(), second.fingerprint());
}
