//! `schedctl trust`: a TUF repository in a folder, the root that is kept of it, and what its age means
//! for verdicts.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tuf_maker::{Files, Maker, write};

use crate::enable::Machine;
use crate::registry::{RegistryFixture, SIGNER};
use crate::{Fixture, Output, golden, run};

const ROOT: &str = include_str!("../../../schedkit-image/src/trust/public_good_root.json");
/// The key signs, and the identity needs the root.
const POLICY: &str = "keys: [{path: key.pem}]
identities: [{issuer: https://issuer.example, subject: me@example.org}]
";

/// The same root without its newest log.
fn other_root() -> String {
    let mut root: Value = serde_json::from_str(ROOT).unwrap();
    root["tlogs"].as_array_mut().unwrap().pop().unwrap();
    root.to_string()
}

/// Pins the maker's root in the settings, beside what they have.
fn pin(fixture: &Fixture, maker: &Maker) {
    let path = fixture.path("tuf-root.json");
    fs::write(&path, maker.anchor()).unwrap();
    let digest = schedkit_image::hash::sha256(maker.anchor());
    let before = fs::read_to_string(fixture.path("config.toml")).unwrap();
    let table = format!(
        "[trust-root]\nmirror = {:?}\ntuf-root = {path:?}\ntuf-root-sha256 = \"{digest}\"\n",
        fixture.path("mirror")
    );
    fixture.write("config.toml", &format!("{before}{table}"));
}

fn publish(fixture: &Fixture, files: &Files) {
    write(files, &fixture.path("mirror"));
}

fn trust(fixture: &Fixture, args: &str, code: i32) -> Output {
    let output = fixture.run(&format!("trust {args}"));
    assert_eq!(output.code, code, "{args}: {}{}", output.out, output.err);
    output
}

fn json(fixture: &Fixture, args: &str, code: i32) -> Value {
    let document = trust(fixture, &format!("{args} -o json"), code).json();
    let name = args.split(' ').next().unwrap();
    schedctl_schemas::check(&format!("trust-{name}"), &document);
    document
}

/// Times, ages, digests and folders change.
fn masked(fixture: &Fixture, text: &str) -> String {
    let folder = fixture.path("").display().to_string();
    let words = text.replace(&folder, "FOLDER/");
    let words = words
        .split_inclusive([' ', '\n', '"', '(', ')', ','])
        .map(|word| {
            let bare = word.trim_end_matches([' ', '\n', '"', '(', ')', ',']);
            let rest = &word[bare.len()..];
            let is_time = bare.parse::<jiff::Timestamp>().is_ok() && !bare.starts_with("2099");
            match bare {
                _ if is_time => format!("TIME{rest}"),
                _ if bare.starts_with("sha256:") => format!("DIGEST{rest}"),
                _ => word.to_owned(),
            }
        });
    let words: String = words.collect();
    let lines = words.lines().map(|line| match line.split_once(" (") {
        Some((before, age)) if age.ends_with(" ago)") => format!("{before} (AGE ago)\n"),
        _ if line.contains("\"age_s\": ") => "  \"age_s\": AGE,\n".to_owned(),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn the_embedded_root_is_used_without_any_update() {
    let fixture = Fixture::new();
    let status = trust(&fixture, "status", 0);
    golden("trust-embedded.txt", &masked(&fixture, &status.out));
    assert_eq!(status.err, "");
    let document = json(&fixture, "status", 0);
    assert_eq!(document["origin"], "embedded");
    assert_eq!(document["mirror"], "https://tuf-repo-cdn.sigstore.dev");
    let document = json(&fixture, "status --max-root-age 1h", 1);
    assert_eq!(document["too_old"], true);
}

#[test]
fn an_update_is_kept_and_shown() {
    let fixture = Fixture::new();
    let mut maker = Maker::generate();
    pin(&fixture, &maker);
    let none = json(&fixture, "status", 1);
    assert_eq!(none["origin"], "none");
    let why = none["reason"].as_str().unwrap();
    assert!(why.contains("`schedctl trust update` fetches it"), "{why}");

    publish(&fixture, &maker.release(&other_root()));
    let updated = trust(&fixture, "update", 0);
    golden("trust-updated.txt", &masked(&fixture, &updated.out));
    let status = trust(&fixture, "status", 0);
    golden("trust-fetched.txt", &masked(&fixture, &status.out));
    let status = trust(&fixture, "status -o json", 0);
    golden("trust-fetched.json", &masked(&fixture, &status.out));
    let again = json(&fixture, "update", 0);
    assert_eq!(again["result"], "unchanged");
    maker.rotate();
    publish(&fixture, &maker.release(ROOT));
    let newer = json(&fixture, "update", 0);
    assert_eq!(newer["result"], "updated");
    assert_eq!(newer["roles"][0]["version"], 2);
    let explained = fixture.run("policy explain scx_one");
    let root = format!("fetched from {}", fixture.path("mirror").display());
    assert!(explained.out.contains(&root), "{}", explained.out);
    let explained = fixture.run("policy explain scx_one -o json").json();
    schedctl_schemas::check("policy-explain", &explained);
    assert_eq!(explained["policy"]["trusted_root"]["origin"], "tuf");
}

#[test]
fn a_failed_update_changes_nothing_and_is_told() {
    let fixture = Fixture::new();
    let mut maker = Maker::generate();
    pin(&fixture, &maker);
    let old = maker.release(&other_root());
    let new = maker.release(ROOT);
    publish(&fixture, &new);
    let kept = json(&fixture, "update", 0);
    publish(&fixture, &old);
    let failed = fixture.run("trust update -o json");
    assert_eq!(failed.code, 1);
    schedctl_schemas::check("error", &failed.json());
    assert_eq!(failed.err.lines().count(), 1, "{}", failed.err);
    let why = "its `timestamp` has version 1, and version 2 was there before";
    assert!(failed.err.contains(why), "{}", failed.err);
    let status = json(&fixture, "status", 0);
    assert_eq!(status["digest"], kept["digest"]);
    let reason = status["last_failure"]["reason"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
    let elsewhere = fixture.path("elsewhere");
    write(&new, &elsewhere);
    let update = format!("update --mirror {}", elsewhere.display());
    let document = json(&fixture, &update, 0);
    assert_eq!(document["last_failure"], Value::Null);
    assert_eq!(document["fetched_from"], elsewhere.display().to_string());
}

#[test]
fn what_cannot_be_asked_is_said() {
    let fixture = Fixture::new();
    for (args, why) in [
        (
            "update --mirror http://a.example",
            "--mirror cannot be used: the URL of a mirror",
        ),
        ("update --mirror none", "none/17.root.json cannot be read"),
    ] {
        // A folder without a newer root may be complete: its timestamp is missing as well.
        let output = trust(&fixture, args, 1);
        let is_it =
            output.err.contains(why) || output.err.contains("none/timestamp.json cannot be read");
        assert!(is_it, "{}", output.err);
    }
    let unset = run(fixture
        .command()
        .env("SCHEDCTL_MAX_ROOT_AGE", "tomorrow")
        .args(["trust", "status"]));
    assert!(
        unset
            .err
            .contains("SCHEDCTL_MAX_ROOT_AGE has an invalid value"),
        "{}",
        unset.err
    );
    let maker = Maker::generate();
    pin(&fixture, &maker);
    let config = fs::read_to_string(fixture.path("config.toml")).unwrap();
    let without = config.lines().filter(|line| !line.starts_with("mirror"));
    fixture.write("config.toml", &without.collect::<Vec<_>>().join("\n"));
    let output = trust(&fixture, "update", 1);
    assert!(output.err.contains("no mirror is known"), "{}", output.err);
    fixture.write("tuf-root.json", "{}");
    let output = trust(&fixture, "status", 1);
    assert!(output.err.contains("is pinned"), "{}", output.err);
}

/// Only where the policy uses a root that ages.
#[test]
fn a_root_that_is_too_old_is_an_error() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let mut maker = Maker::generate();
    pin(fixture, &maker);
    publish(fixture, &maker.release(ROOT));
    fixture.write("key.pem", SIGNER);
    fixture.write("root.json", ROOT);
    fixture.write("policy.yaml", POLICY);
    fixture.write("key.yaml", "keys: [{path: key.pem}]\n");
    fixture.write("own.yaml", &format!("{POLICY}trustedRoot: root.json\n"));
    let verify = |policy: &str, code| {
        let args = format!("verify scx_one --trust-policy {policy} --max-root-age 1h");
        let output = fixture.run(&args);
        assert_eq!(output.code, code, "{policy}: {}", output.err);
        output.err
    };
    verify("key.yaml", 0);
    verify("own.yaml", 0);
    let err = verify("policy.yaml", 1);
    assert!(err.contains("there is no trusted root yet"), "{err}");
    trust(fixture, "update", 0);
    verify("policy.yaml", 0);
    // As if two hours had passed.
    let store = fixture.path("state/trust");
    let files = fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let kept = files.next().unwrap();
    let text = fs::read_to_string(&kept).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let earlier = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(2);
    document["checkedAt"] = earlier.to_string().into();
    fs::write(&kept, document.to_string()).unwrap();
    let err = verify("policy.yaml", 1);
    let why = "no image is verified with this trusted root: `schedctl trust update` renews it";
    assert!(err.contains(why), "{err}");
    assert_eq!(err.trim_end().lines().count(), 1, "{err}");
    verify("key.yaml", 0);
    verify("own.yaml", 0);
    // It says what the policy asks, and gives no verdict.
    let explain = "policy explain scx_one --trust-policy policy.yaml --max-root-age 1h";
    assert_eq!(fixture.run(explain).code, 0);
    fs::write(&kept, &text[..text.len() / 2]).unwrap();
    let err = verify("policy.yaml", 1);
    assert!(err.contains("is not a kept trusted root"), "{err}");
}

fn kept_verdicts(folder: &Path) -> usize {
    fs::read_dir(folder.join("state/verdicts")).unwrap().count()
}

#[test]
fn what_is_enabled_is_verified_again_when_the_root_changes() {
    let machine = Machine::new();
    let fixture = &machine.registry.fixture;
    let mut maker = Maker::generate();
    pin(fixture, &maker);
    let rules = "version: 2
signers: {us: {key: key.pem}, me: {issuer: https://issuer.example, subject: me@example.org}}
rules: [{scope: '*', signers: [us, me], title: any}]
";
    fixture.write("policy.yaml", rules);
    publish(fixture, &maker.release(ROOT));
    let document = machine.expect(0, "trust update -o json").json();
    assert_eq!(document["enabled"], serde_json::json!([]));
    machine.expect(0, "enable scx_one");
    assert_eq!(kept_verdicts(&fixture.path("")), 1);
    // The same content leaves every verdict as it is.
    publish(fixture, &maker.release(ROOT));
    let document = machine.expect(0, "trust update -o json").json();
    assert_eq!(document["enabled"], serde_json::json!([]));
    publish(fixture, &maker.release(&other_root()));
    let document = machine.expect(0, "trust update -o json").json();
    schedctl_schemas::check("trust-update", &document);
    assert_eq!(document["result"], "updated");
    assert_eq!(document["enabled"][0]["scheduler"], "scx_one");
    assert_eq!(document["enabled"][0]["verified"], true, "{document}");
    assert_eq!(kept_verdicts(&fixture.path("")), 2);
    // Both verdicts are kept: back again nothing is asked.
    publish(fixture, &maker.release(ROOT));
    let document = machine.expect(0, "trust update -o json").json();
    assert_eq!(document["enabled"][0]["verified"], true, "{document}");
    let Machine { registry, .. } = &machine;
    fixture.write("config.toml", "");
    pin(fixture, &maker);
    let mut third: Value = serde_json::from_str(&other_root()).unwrap();
    third["ctlogs"].as_array_mut().unwrap().pop().unwrap();
    publish(fixture, &maker.release(&third.to_string()));
    let output = machine.expect(0, "trust update -o json");
    let document = output.json();
    assert_eq!(document["enabled"][0]["verified"], false, "{document}");
    let why = "scx_one will not start without a registry";
    assert!(output.err.contains(why), "{}", output.err);
    assert!(!registry.digest.is_empty());
}
