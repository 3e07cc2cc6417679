//! Commands that ask a registry, against a small one on this machine.

use serde_json::json;

use crate::server::{Files, Server};
use crate::{Ground, Said, golden, schema};

/// Signed once with a key that nobody has any more: payload, signature and public key.
const PAYLOAD: &str = include_str!("../fixtures/payload.json");
const SIGNATURE: &str = include_str!("../fixtures/signature.txt");
const SIGNER: &str = include_str!("../fixtures/signer.pem");
const STRANGER: &str = include_str!("../fixtures/stranger.pem");

const CONFIG: &str = r#"{"created": "2026-01-02T03:04:05Z", "architecture": "amd64", "os": "linux",
    "config": {"Labels": {"org.opencontainers.image.title": "One",
        "org.schedkit.scheduler.kernel.min-version": "6.12"}}}"#;

/// A registry with the image `team/one:1.0`, for one platform, signed as cosign v2 does, and
/// with `team/bare:1.0`, which nobody signed, and `team/sick:1.0`, of which nobody can tell.
struct Lab {
    ground: Ground,
    server: Server,
    digest: String,
}

fn sha256(text: &str) -> String {
    schedkit_image::hash::sha256(text.as_bytes()).to_string()
}

/// What cosign v2 keeps under the tag `sha256-….sig`.
fn signatures() -> String {
    json!({
        "schemaVersion": 2,
        "config": {"digest": sha256("{}"), "size": 2},
        "layers": [{
            "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
            "digest": sha256(PAYLOAD),
            "size": PAYLOAD.len(),
            "annotations": {"dev.cosignproject.cosign/signature": SIGNATURE.trim()},
        }],
    })
    .to_string()
}

impl Lab {
    /// A policy that trusts the holder of this key.
    fn trusting(&self, key: &str) -> String {
        self.ground.write("key.pem", key);
        self.ground
            .write("policy.yaml", "keys:\n  - path: key.pem\n")
    }

    fn masked(&self, text: &str) -> String {
        let folder = self.ground.path("").display().to_string();
        text.replace(&self.server.address, "HOST")
            .replace(&self.digest, "DIGEST")
            .replace(&folder, "FOLDER/")
    }

    fn new() -> Self {
        let config = sha256(CONFIG);
        let manifest = format!(
            r#"{{"schemaVersion": 2, "config": {{"digest": "{config}", "size": {}}}, "layers": []}}"#,
            CONFIG.len()
        );
        let digest = sha256(&manifest);
        let signature = format!("sha256-{}", &digest["sha256:".len()..]);
        let tags = json!({"name": "team/one", "tags": ["latest", "1.10", "1.9", signature]});
        let at = |path: &str| format!("/v2/team/one/{path}");
        let files = Files::from([
            (at("tags/list"), tags.to_string()),
            (at("manifests/1.0"), manifest.clone()),
            (at(&format!("manifests/{digest}")), manifest.clone()),
            (at(&format!("blobs/{config}")), CONFIG.to_owned()),
            (at(&format!("manifests/{signature}.sig")), signatures()),
            (
                at(&format!("manifests/{}", sha256(&signatures()))),
                signatures(),
            ),
            (
                at(&format!("blobs/{}", sha256(PAYLOAD))),
                PAYLOAD.to_owned(),
            ),
            ("/v2/team/bare/manifests/1.0".to_owned(), manifest.clone()),
            ("/v2/team/sick/manifests/1.0".to_owned(), manifest),
            (
                format!("/v2/team/sick/manifests/{signature}.sig"),
                String::new(),
            ),
        ]);
        let (ground, server) = (Ground::new(), Server::start(files));
        let host = &server.address;
        let settings = format!("[registry.\"{host}\"]\nsecurity = \"plain-http\"\n");
        ground.write("config.toml", &settings);
        let catalog = format!(r#"{{"scx_one": {{"imageURI": "{host}/team/one:1.0"}}}}"#);
        ground.write("catalog.json", &catalog);
        Self {
            ground,
            server,
            digest,
        }
    }
}

#[test]
fn versions_are_listed_the_newest_last() {
    let lab = Lab::new();
    let said = lab.ground.run("versions scx_one");
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert_eq!(said.out, "1.9\n1.10\nlatest\n");
    let repository = format!("{}/team/one", lab.server.address);
    let said = lab.ground.run(&format!("versions {repository} -o json"));
    let mut document = said.json();
    schema::check("versions", &document);
    assert_eq!(document["repository"], repository);
    document["repository"] = "REPOSITORY".into();
    golden("versions.json", &format!("{document:#}\n"));
}

#[test]
fn an_image_is_described() {
    let lab = Lab::new();
    let said = lab.ground.run("info scx_one");
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    golden("info-text.txt", &lab.masked(&said.out));
    let said = lab.ground.run("info scx_one --output json");
    schema::check("info", &said.json());
    golden("info.json", &lab.masked(&said.out));
}

#[test]
fn what_is_not_there_is_trouble() {
    let lab = Lab::new();
    let host = &lab.server.address;
    for words in ["info HOST/team/one:2.0", "versions HOST/team/two"] {
        let said = lab.ground.run(&words.replace("HOST", host));
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{words}");
        assert!(said.err.contains("is not there"), "{}", said.err);
    }
}

#[test]
fn a_registry_without_tls_is_only_asked_when_that_was_allowed() {
    let lab = Lab::new();
    lab.ground.write("config.toml", "");
    let said = lab.ground.run("info scx_one");
    assert_eq!(said.code, 1, "{}", said.out);
}

/// A reference says it all, so the broken catalog is not even looked at.
#[test]
fn a_reference_needs_no_catalog() {
    let lab = Lab::new();
    lab.ground.write("catalog.json", "broken");
    let image = format!("{}/team/one@{}", lab.server.address, lab.digest);
    let said = lab.ground.run(&format!("info {image}"));
    assert_eq!(said.code, 0, "{}", said.err);
}

/// What `verify` says in both forms. The embedded root is refreshed now and then, which changes
/// its date and the policy's fingerprint and nothing else here.
fn verdict(lab: &Lab, policy: &str) -> (Said, Said) {
    let words = format!("verify scx_one --trust-policy {policy}");
    let mut text = lab.ground.run(&words);
    let mut json = lab.ground.run(&format!("{words} -o json"));
    schema::check("verify", &json.json());
    let used = json.json()["policy"].clone();
    for said in [&mut text, &mut json] {
        said.out = lab.masked(&said.out);
        for (field, value) in [
            ("fingerprint", &used["fingerprint"]),
            ("taken", &used["trusted_root"]["taken"]),
        ] {
            said.out = said.out.replace(value.as_str().unwrap(), field);
        }
    }
    (text, json)
}

#[test]
fn an_image_signed_by_someone_trusted_is_accepted() {
    let lab = Lab::new();
    let (text, json) = verdict(&lab, &lab.trusting(SIGNER));
    assert_eq!((text.code, text.err.as_str()), (0, ""), "{}", text.out);
    assert_eq!((json.code, json.err.as_str()), (0, ""));
    golden("verify-accepted.txt", &text.out);
    golden("verify-accepted.json", &json.out);
}

#[test]
fn an_image_signed_by_a_stranger_is_refused() {
    let lab = Lab::new();
    let (text, json) = verdict(&lab, &lab.trusting(STRANGER));
    assert_eq!((text.code, text.err.as_str()), (3, ""), "{}", text.out);
    assert_eq!((json.code, json.err.as_str()), (3, ""));
    golden("verify-refused.txt", &text.out);
    golden("verify-refused.json", &json.out);
}

#[test]
fn an_image_that_nobody_signed_is_refused() {
    let lab = Lab::new();
    let image = format!("{}/team/bare:1.0", lab.server.address);
    let said = lab.ground.run(&format!("verify {image} -o json"));
    assert_eq!(said.code, 3, "{}", said.err);
    let document = said.json();
    schema::check("verify", &document);
    assert_eq!(document["verdict"], "refused");
    assert_eq!(document["policy"]["path"], serde_json::Value::Null);
    let reason = document["reason"].as_str().unwrap();
    assert!(reason.contains("is not signed"), "{reason}");
}

#[test]
fn an_answer_that_cannot_be_had_is_no_refusal() {
    let lab = Lab::new();
    let host = lab.server.address.clone();
    for (image, why) in [("none", "is not there"), ("sick", "cannot tell whether")] {
        let said = lab.ground.run(&format!("verify {host}/team/{image}:1.0"));
        assert_eq!((said.code, said.out.as_str()), (1, ""));
        assert!(said.err.contains(why), "{}", said.err);
    }
    lab.server.stop();
    let said = lab.ground.run("verify scx_one");
    assert_eq!((said.code, said.out.as_str()), (1, ""));
}

#[test]
fn a_broken_policy_is_told_with_its_line_before_anybody_is_asked() {
    let ground = Ground::new();
    ground.write("policy.yaml", "# ours\nkeyz: []\n");
    let said = ground.run("verify a.example/one --trust-policy policy.yaml");
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("line 2"), "{}", said.err);
    assert!(said.err.contains("keyz"), "{}", said.err);
}

#[test]
fn a_careless_policy_is_used_with_a_warning() {
    let lab = Lab::new();
    let identity = "identities:\n  - issuer: https://a.example\n    subjectRegExp: b\n";
    lab.ground.write("policy.yaml", identity);
    let said = lab
        .ground
        .run("verify scx_one --trust-policy policy.yaml -o json");
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("warning: "), "{}", said.err);
    let warning = said.json()["warnings"][0].clone();
    assert!(
        warning.as_str().unwrap().contains("subjectRegExp"),
        "{warning}"
    );
}

/// The lab's image wants 6.12 and was made for amd64; whether that fits is the machine's affair.
#[test]
fn an_image_is_held_against_this_machine() {
    let lab = Lab::new();
    let said = lab
        .ground
        .run("doctor --image scx_one -o json --socket none.sock");
    let document = said.json();
    schema::check("doctor", &document);
    let checks = document["checks"].as_array().unwrap();
    let kernel = checks.iter().find(|check| check["id"] == "image.kernel");
    let detail = kernel.unwrap()["detail"].as_str().unwrap();
    assert!(detail.contains("the image wants 6.12"), "{detail}");
    assert!(
        checks
            .iter()
            .any(|check| check["id"] == "image.architecture")
    );
    lab.server.stop();
    let said = lab.ground.run("doctor --image scx_one");
    assert_eq!((said.code, said.out.as_str()), (1, ""));
}
