//! `schedctl policy`, and policies with rules: what is accepted is also what was asked for.

use serde_json::Value;

use crate::registry::{RegistryFixture, SIGNER, STRANGER};
use crate::{Fixture, Output, golden};

const POLICY: &str = "version: 2
signers:
  ci:
    issuer: https://token.actions.githubusercontent.com
    subjectPrefix: https://github.com/team/one/
    claims: {ref: refs/heads/main, runner: github-hosted}
  release: {key: key.pem, notAfter: 2099-12-31T00:00:00Z}
rules:
- scope: a.example
  signers: [ci]
  minimumVersion: 1.2.0
- scope: a.example/team
  signers: [ci, release]
  require: all
  attestations: [{predicateType: https://slsa.dev/provenance/v1, signers: [ci]}]
- scope: b.example
  refuse: true
";

/// The date, the folder and fingerprints change.
fn masked(fixture: &Fixture, text: &str, json: &Value) -> String {
    let folder = fixture.path("").display().to_string();
    let policy = &json["policy"];
    let fingerprint = policy["fingerprint"].as_str().unwrap();
    let taken = policy["trusted_root"]["taken"].as_str().unwrap();
    text.replace(fingerprint, "fingerprint")
        .replace(taken, "taken")
        .replace(&folder, "FOLDER/")
}

fn with_policy(text: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("key.pem", STRANGER);
    fixture.write("policy.yaml", text);
    fixture
}

#[test]
fn check_shows_what_a_policy_means() {
    let fixture = with_policy(POLICY);
    // A relative path: the width of a column would depend on the folder's name.
    let args = "policy check policy.yaml".to_owned();
    let (text, json) = (fixture.run(&args), fixture.run(&format!("{args} -o json")));
    assert_eq!((text.code, json.code), (0, 0), "{}", text.err);
    assert!(
        text.err
            .contains("does not ask for the minimum version 1.2.0"),
        "{}",
        text.err
    );
    let document = json.json();
    schedctl_schemas::check("policy-check", &document);
    golden(
        "policy-check-rules.txt",
        &masked(&fixture, &text.out, &document),
    );
    golden(
        "policy-check-rules.json",
        &masked(&fixture, &json.out, &document),
    );
}

#[test]
fn check_shows_built_in_policies_and_older_files() {
    let fixture = with_policy("keys:\n- path: key.pem\n");
    for (name, format) in [
        ("builtin:schedkit", "rules"),
        ("builtin:schedkit-organisation", "signers"),
        ("policy.yaml", "signers"),
    ] {
        let output = fixture.run(&format!("policy check {name} -o json"));
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{name}");
        let document = output.json();
        schedctl_schemas::check("policy-check", &document);
        assert_eq!(document["format"], format);
        let built_in = name.starts_with("builtin:");
        assert_eq!(document["policy"]["built_in"].is_string(), built_in);
        assert_eq!(document["policy"]["path"].is_string(), !built_in);
    }
}

#[test]
fn check_tells_what_is_wrong_and_where() {
    for (policy, why) in [
        ("version: 2\n", "line 1"),
        (
            &POLICY.replace("b.example", "A.example:443"),
            "the scope a.example has a rule already, at line 9",
        ),
        (
            &POLICY.replace("[ci]", "[nobody]"),
            "the policy has no signer `nobody`",
        ),
        (&"#".repeat(10 << 20), "more than"),
    ] {
        let fixture = with_policy(policy);
        let output = fixture.run("policy check policy.yaml -o json");
        assert_eq!(output.code, 1);
        schedctl_schemas::check("error", &output.json());
        assert!(output.err.contains(why), "{}", output.err);
        assert_eq!(output.err.trim_end().lines().count(), 1, "{}", output.err);
    }
    let output = Fixture::new().run("policy check builtin:other");
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(
        output.err.contains("only builtin:schedkit and"),
        "{}",
        output.err
    );
}

fn explain(fixture: &Fixture, image: &str, code: i32) -> (Output, Value) {
    let args = format!("policy explain {image} --trust-policy policy.yaml");
    let json = fixture.run(&format!("{args} -o json"));
    assert_eq!(json.code, code, "{image}: {}", json.err);
    let document = json.json();
    schedctl_schemas::check("policy-explain", &document);
    let text = fixture.run(&args);
    assert_eq!(text.code, code);
    (text, document)
}

#[test]
fn explain_shows_the_rule_and_why_not_the_others() {
    let fixture = with_policy(POLICY);
    let (text, document) = explain(&fixture, "a.example/team/one:1.0", 0);
    assert_eq!(document["rule"], "rules[1] (a.example/team)");
    assert_eq!(document["expected_title"], "one");
    golden(
        "policy-explained.txt",
        &masked(&fixture, &text.out, &document),
    );
    let json = serde_json::to_string_pretty(&document).unwrap() + "\n";
    golden("policy-explained.json", &masked(&fixture, &json, &document));
    // By its name in the catalog.
    let (_, document) = explain(&fixture, "scx_one", 0);
    assert_eq!(document["rule"], "rules[0] (a.example)");
    assert_eq!(document["expected_title"], "scx_one");
}

#[test]
fn explain_has_the_exit_code_of_a_refusal() {
    let fixture = with_policy(POLICY);
    let (text, document) = explain(&fixture, "b.example/one", 3);
    assert_eq!(document["rule"], "rules[2] (b.example)");
    assert!(
        text.out.contains("the rule refuses every image"),
        "{}",
        text.out
    );
    let (text, document) = explain(&fixture, "c.example/one", 3);
    assert_eq!(document["rule"], Value::Null);
    assert!(text.out.contains("no rule covers"), "{}", text.out);
    let digest = format!("sha256:{}", "a".repeat(64));
    let denied = format!("{POLICY}deniedDigests: ['{digest}']\n");
    let fixture = with_policy(&denied);
    explain(&fixture, &format!("a.example/one@{digest}"), 3);
    explain(&fixture, "a.example/one", 0);
}

/// Verifies the image whose title is `scx_one`, by this name or reference.
fn verify(registry: &RegistryFixture, image: &str, policy: &str, code: i32) -> Value {
    registry.fixture.write("key.pem", SIGNER);
    registry.fixture.write("policy.yaml", policy);
    let image = image.replace("HOST", &registry.server.address);
    let args = format!("verify {image} --trust-policy policy.yaml -o json");
    let output = registry.fixture.run(&args);
    assert_eq!(output.code, code, "{image} {policy}{}", output.err);
    let document = output.json();
    schedctl_schemas::check("verify", &document);
    document
}

const BY_KEY: &str = "keys: [{path: key.pem}]\n";

#[test]
fn a_signed_image_under_the_name_of_another_is_refused() {
    let registry = RegistryFixture::new();
    let host = &registry.server.address;
    let entry = |name: &str| format!(r#""{name}": {{"imageURI": "{host}/team/one:1.0"}}"#);
    let catalog = format!("{{{}, {}}}", entry("scx_one"), entry("scx_lavd"));
    registry.fixture.write("catalog.json", &catalog);
    let document = verify(&registry, "scx_one", BY_KEY, 0);
    assert_eq!(document["title"]["check"], "matches");
    let document = verify(&registry, "scx_lavd", BY_KEY, 3);
    let reason = document["reason"].as_str().unwrap();
    assert!(reason.contains("its title is \"scx_one\""), "{reason}");
    assert!(reason.contains("asked for as scx_lavd"), "{reason}");
    // Whoever names the reference says which image it is; without rules nothing else was ever asked.
    let document = verify(&registry, "HOST/team/one:1.0", BY_KEY, 0);
    assert_eq!(document["title"]["check"], "not-checked");
}

#[test]
fn a_rule_decides_what_its_images_need() {
    let registry = RegistryFixture::new();
    let rules = |rules: &str| {
        let rules = rules.replace("HOST", &registry.server.address);
        format!("version: 2\nsigners:\n  release: {{key: key.pem}}\nrules:\n{rules}")
    };
    let digest = &registry.digest;
    let any = "- {scope: HOST/team, signers: [release], title: any}\n";
    let document = verify(&registry, "HOST/team/one:1.0", &rules(any), 0);
    assert_eq!(document["rule"], "signers.release");
    let rule = document["policy_rule"].as_str().unwrap();
    assert!(rule.starts_with("rules[0]"), "{rule}");
    for (policy, reason) in [
        ("- {scope: HOST/team, signers: [release]}\n".to_owned(), "asked for as one"),
        (
            "- {scope: HOST/team, signers: [release], title: any, minimumVersion: 1.0.0}\n".to_owned(),
            "its version is not stated",
        ),
        (
            format!("- {{scope: HOST/team, signers: [release], title: any, deniedDigests: ['{digest}']}}\n"),
            "the policy denies its digest",
        ),
        (
            "- {scope: HOST/team, signers: [release], attestations: [{predicateType: https://slsa.dev/provenance/v1}]}\n".to_owned(),
            "of the policy needs: an accepted attestation https://slsa.dev/provenance/v1",
        ),
        ("- {scope: HOST/team/two, signers: [release]}\n".to_owned(), "no rule of the policy covers"),
        (format!("{any}- {{scope: HOST/team/one, refuse: true}}\n"), "refuses every image"),
    ] {
        let document = verify(&registry, "HOST/team/one:1.0", &rules(&policy), 3);
        let found = document["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{found}");
    }
    let late = rules(any).replace("key.pem", "key.pem, notAfter: 2020-01-01T00:00:00Z");
    let document = verify(&registry, "HOST/team/one:1.0", &late, 3);
    let reason = document["candidates"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("signers.release is accepted until 2020"),
        "{reason}"
    );
}

#[test]
fn a_catalog_is_never_fetched_over_plain_http() {
    let fixture = Fixture::new();
    let output = fixture.run("list --catalog http://127.0.0.1:1/c.json -o json");
    assert_eq!(output.code, 1);
    assert!(output.err.contains("over plain http"), "{}", output.err);
}
