//! Commands that ask a registry, with a fake one in this process.

use serde_json::json;

use crate::server::{Files, Server};
use crate::{Fixture, Output, golden};

/// Payload, signature and public key. The private key was deleted.
const PAYLOAD: &str = include_str!("../fixtures/payload.json");
const SIGNATURE: &str = include_str!("../fixtures/signature.txt");
pub(crate) const SIGNER: &str = include_str!("../fixtures/signer.pem");
pub(crate) const STRANGER: &str = include_str!("../fixtures/stranger.pem");

const CONFIG: &str = r#"{"created": "2026-01-02T03:04:05Z", "architecture": "amd64", "os": "linux",
    "config": {"Labels": {"org.opencontainers.image.title": "scx_one",
        "org.schedkit.scheduler.kernel.min-version": "6.12"}}}"#;

/// A registry with the images `team/one:1.0`, signed as cosign v2 does; `team/bare:1.0`, not signed;
/// `team/sick:1.0`, whose signatures cannot be read; `team/arm:1.0`, for arm64; and `team/huge:1.0`,
/// whose manifest claims a configuration of 5 GiB.
pub(crate) struct RegistryFixture {
    pub(crate) fixture: Fixture,
    pub(crate) server: Server,
    pub(crate) digest: String,
}

fn sha256(text: &str) -> String {
    schedkit_image::hash::sha256(text.as_bytes()).to_string()
}

/// The manifest of the tag `sha256-….sig` of cosign v2.
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

fn manifest(config: &str, size: usize) -> String {
    format!(
        r#"{{"schemaVersion": 2, "config": {{"digest": "{config}", "size": {size}}}, "layers": []}}"#
    )
}

impl RegistryFixture {
    /// Writes a policy that trusts this key.
    pub(crate) fn trusting(&self, key: &str) -> String {
        self.fixture.write("key.pem", key);
        self.fixture
            .write("policy.yaml", "keys:\n  - path: key.pem\n")
    }

    fn masked(&self, text: &str) -> String {
        let folder = self.fixture.path("").display().to_string();
        text.replace(&self.server.address, "HOST")
            .replace(&self.digest, "DIGEST")
            .replace(&folder, "FOLDER/")
    }

    pub(crate) fn new() -> Self {
        let config = sha256(CONFIG);
        let manifest = manifest(&config, CONFIG.len());
        let arm = CONFIG.replace("amd64", "arm64");
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
            (
                format!("/v2/team/bare/manifests/{digest}"),
                manifest.clone(),
            ),
            (
                "/v2/team/arm/manifests/1.0".to_owned(),
                self::manifest(&sha256(&arm), arm.len()),
            ),
            (format!("/v2/team/arm/blobs/{}", sha256(&arm)), arm),
            (
                "/v2/team/huge/manifests/1.0".to_owned(),
                self::manifest(&config, 5 << 30),
            ),
            (format!("/v2/team/huge/blobs/{config}"), CONFIG.to_owned()),
            ("/v2/team/sick/manifests/1.0".to_owned(), manifest),
            (
                format!("/v2/team/sick/manifests/{signature}.sig"),
                String::new(),
            ),
        ]);
        let (fixture, server) = (Fixture::new(), Server::start(files));
        let host = &server.address;
        let settings = format!("[registry.\"{host}\"]\nsecurity = \"plain-http\"\n");
        fixture.write("config.toml", &settings);
        let catalog = format!(r#"{{"scx_one": {{"imageURI": "{host}/team/one:1.0"}}}}"#);
        fixture.write("catalog.json", &catalog);
        Self {
            fixture,
            server,
            digest,
        }
    }
}

#[test]
fn versions_are_listed_the_newest_last() {
    let registry = RegistryFixture::new();
    let output = registry.fixture.run("versions scx_one");
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    assert_eq!(output.out, "1.9\n1.10\nlatest\n");
    let repository = format!("{}/team/one", registry.server.address);
    let output = registry
        .fixture
        .run(&format!("versions {repository} -o json"));
    let mut document = output.json();
    schedctl_schemas::check("versions", &document);
    assert_eq!(document["repository"], repository);
    document["repository"] = "REPOSITORY".into();
    golden("versions.json", &format!("{document:#}\n"));
}

#[test]
fn an_image_is_described() {
    let registry = RegistryFixture::new();
    let output = registry.fixture.run("info scx_one");
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    golden("info-text.txt", &registry.masked(&output.out));
    let output = registry.fixture.run("info scx_one --output json");
    schedctl_schemas::check("info", &output.json());
    golden("info.json", &registry.masked(&output.out));
}

#[test]
fn a_missing_image_is_a_failure() {
    let registry = RegistryFixture::new();
    let host = &registry.server.address;
    for args in ["info HOST/team/one:2.0", "versions HOST/team/two"] {
        let output = registry.fixture.run(&args.replace("HOST", host));
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{args}");
        assert!(output.err.contains("was not found"), "{}", output.err);
    }
}

#[test]
fn a_registry_without_tls_is_an_error_by_default() {
    let registry = RegistryFixture::new();
    registry.fixture.write("config.toml", "");
    let output = registry.fixture.run("info scx_one");
    assert_eq!(output.code, 1, "{}", output.out);
}

/// The invalid catalog is not read.
#[test]
fn a_reference_needs_no_catalog() {
    let registry = RegistryFixture::new();
    registry.fixture.write("catalog.json", "broken");
    let image = format!("{}/team/one@{}", registry.server.address, registry.digest);
    let output = registry.fixture.run(&format!("info {image}"));
    assert_eq!(output.code, 0, "{}", output.err);
}

/// The text and JSON of `verify`. The date and the fingerprint change when the embedded root is
/// updated, so they are masked.
fn verify(registry: &RegistryFixture, policy: &str) -> (Output, Output) {
    let args = format!("verify scx_one --trust-policy {policy}");
    let mut text = registry.fixture.run(&args);
    let mut json = registry.fixture.run(&format!("{args} -o json"));
    schedctl_schemas::check("verify", &json.json());
    let used = json.json()["policy"].clone();
    for output in [&mut text, &mut json] {
        output.out = registry.masked(&output.out);
        for (field, value) in [
            ("fingerprint", &used["fingerprint"]),
            ("taken", &used["trusted_root"]["taken"]),
        ] {
            output.out = output.out.replace(value.as_str().unwrap(), field);
        }
    }
    (text, json)
}

#[test]
fn an_image_signed_with_a_trusted_key_is_accepted() {
    let registry = RegistryFixture::new();
    let (text, json) = verify(&registry, &registry.trusting(SIGNER));
    assert_eq!((text.code, text.err.as_str()), (0, ""), "{}", text.out);
    assert_eq!((json.code, json.err.as_str()), (0, ""));
    golden("verify-accepted.txt", &text.out);
    golden("verify-accepted.json", &json.out);
}

#[test]
fn an_image_signed_with_another_key_is_refused() {
    let registry = RegistryFixture::new();
    let (text, json) = verify(&registry, &registry.trusting(STRANGER));
    assert_eq!((text.code, text.err.as_str()), (3, ""), "{}", text.out);
    assert_eq!((json.code, json.err.as_str()), (3, ""));
    golden("verify-refused.txt", &text.out);
    golden("verify-refused.json", &json.out);
}

#[test]
fn an_unsigned_image_is_refused() {
    let registry = RegistryFixture::new();
    let image = format!("{}/team/bare:1.0", registry.server.address);
    let output = registry.fixture.run(&format!("verify {image} -o json"));
    assert_eq!(output.code, 3, "{}", output.err);
    let document = output.json();
    schedctl_schemas::check("verify", &document);
    assert_eq!(document["verdict"], "refused");
    assert_eq!(document["policy"]["path"], serde_json::Value::Null);
    let reason = document["reason"].as_str().unwrap();
    assert!(reason.contains("is not signed"), "{reason}");
}

#[test]
fn a_registry_error_is_not_a_refusal() {
    let registry = RegistryFixture::new();
    let host = registry.server.address.clone();
    for (image, why) in [("none", "was not found"), ("sick", "cannot tell whether")] {
        let output = registry
            .fixture
            .run(&format!("verify {host}/team/{image}:1.0"));
        assert_eq!((output.code, output.out.as_str()), (1, ""));
        assert!(output.err.contains(why), "{}", output.err);
    }
    registry.server.stop();
    let output = registry.fixture.run("verify scx_one");
    assert_eq!((output.code, output.out.as_str()), (1, ""));
}

#[test]
fn an_invalid_policy_is_reported_with_its_line() {
    let fixture = Fixture::new();
    fixture.write("policy.yaml", "# ours\nkeyz: []\n");
    let output = fixture.run("verify a.example/one --trust-policy policy.yaml");
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(output.err.contains("line 2"), "{}", output.err);
    assert!(output.err.contains("keyz"), "{}", output.err);
}

#[test]
fn a_policy_with_a_risky_pattern_is_used_with_a_warning() {
    let registry = RegistryFixture::new();
    let identity = "identities:\n  - issuer: https://a.example\n    subjectRegExp: b\n";
    registry.fixture.write("policy.yaml", identity);
    let output = registry
        .fixture
        .run("verify scx_one --trust-policy policy.yaml -o json");
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("warning: "), "{}", output.err);
    let warning = output.json()["warnings"][0].clone();
    assert!(
        warning.as_str().unwrap().contains("subjectRegExp"),
        "{warning}"
    );
}

/// The image needs 6.12 and amd64; whether that fits depends on the machine.
#[test]
fn doctor_checks_an_image_against_this_machine() {
    let registry = RegistryFixture::new();
    let output = registry
        .fixture
        .run("doctor --image scx_one -o json --socket none.sock");
    let document = output.json();
    schedctl_schemas::check("doctor", &document);
    let checks = document["checks"].as_array().unwrap();
    let kernel = checks.iter().find(|check| check["id"] == "image.kernel");
    let detail = kernel.unwrap()["detail"].as_str().unwrap();
    assert!(detail.contains("the image needs 6.12"), "{detail}");
    assert!(
        checks
            .iter()
            .any(|check| check["id"] == "image.architecture")
    );
    registry.server.stop();
    let output = registry.fixture.run("doctor --image scx_one");
    assert_eq!((output.code, output.out.as_str()), (1, ""));
}
