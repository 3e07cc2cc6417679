//! The cases of `signature_cases.json`, made in memory.
//!
//! Every suite that verifies signatures shares that table. The lab makes all of its cases with real
//! Sigstore code and runs them through schedctl and cosign; this suite makes those that need no
//! timestamp authority. The columns:
//!
//! - `form`: `bundle` (a referrer) or `sig` (a layer under the `.sig` tag); `case`: the name that
//!   the lab has for it; `material`: what it is.
//! - `verdict`: ours, `accepted` or `refused`; `reason`: part of the message of the refusal.
//! - `cosign`: what cosign 2 and 3 do, and what they do with `--use-signed-timestamps`: `accepts`,
//!   `refuses`, `crashes`, or null where there is no timestamp.
//! - `stricter_because`: why we refuse what cosign 3 accepts.

use schedkit_image::trust::Policy;
use serde::Deserialize;
use serde_json::{Value, json};
use x509_cert::ext::pkix::ExtendedKeyUsage;

use crate::certificate::oid;
use crate::fixture::{our_payload, our_statement, policy, reason, verify_now};
use crate::memory_registry::MemoryRegistry;
use crate::sigstore::{
    CertificateSpec, ISSUER, SUBJECT, Sct, SigningKey, Sigstore, bundle, dsse_body, enclose,
    encode, hashed_body, pem, simple_payload, statement, uri,
};

const TABLE: &str = include_str!("../signature_cases.json");
const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// As `ssh-keygen -l` prints the fingerprint of a key.
const OTHER_KEY_ID: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const LOG_BUNDLE: &str = "dev.sigstore.cosign/bundle";

/// The columns that this suite uses.
#[derive(Debug, Deserialize)]
struct Case {
    form: String,
    case: String,
    verdict: String,
    /// Part of the message of the refusal.
    reason: Option<String>,
}

/// What one case needs: the material, and the trusted root if it is not the instance's own.
struct Material {
    content: Content,
    root: Option<Value>,
}

enum Content {
    Bundle(String),
    Layer(Vec<u8>, Value),
}

#[tokio::test]
async fn every_case_has_the_verdict_of_the_table() {
    let cases: Vec<Case> = serde_json::from_str(TABLE).unwrap();
    let sigstore = Sigstore::new();
    let mut checked = 0;
    for case in &cases {
        let material = match case.form.as_str() {
            "bundle" => bundle_material(&sigstore, &case.case),
            "sig" => layer_material(&sigstore, &case.case),
            other => panic!("unknown form {other}"),
        };
        let Some(material) = material else {
            assert!(needs_timestamps(&case.case), "{case:?} is not made");
            continue;
        };
        check(&sigstore, case, material).await;
        checked += 1;
    }
    assert!(checked > 80, "only {checked} cases were made");
}

async fn check(sigstore: &Sigstore, case: &Case, material: Material) {
    let root = material.root.unwrap_or_else(|| sigstore.root());
    let policy = exact_policy(&root);
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    match material.content {
        Content::Bundle(text) => {
            registry.refer(&image, image.digest(), &[(BUNDLE_TYPE, text)]);
        }
        Content::Layer(payload, annotations) => {
            registry.tag_signatures(&image, &[(payload, annotations)]);
        }
    }
    let outcome = verify_now(&registry, &policy, &image).await;
    match (case.verdict.as_str(), &case.reason) {
        ("accepted", None) => assert!(outcome.is_ok(), "{case:?}: {outcome:?}"),
        ("refused", Some(expected)) => {
            assert!(outcome.is_err(), "{case:?} was accepted");
            let refusal = reason(outcome).to_string();
            assert!(refusal.contains(expected), "{case:?}: {refusal}");
        }
        _ => panic!("{case:?} has no valid verdict"),
    }
}

/// Trusts exactly one issuer and one subject.
fn exact_policy(root: &Value) -> Policy {
    let text =
        format!("identities: [{{issuer: '{ISSUER}', subject: '{SUBJECT}'}}]\ntrustedRoot: ROOT\n");
    policy(&text, &SigningKey::new(), root)
}

/// Cases whose point is a valid timestamp, or one of a known flaw.
fn needs_timestamps(case: &str) -> bool {
    let second_log = case.contains("second-log") && case != "second-log-no-timestamp";
    let timestamp = [
        "good-timestamp",
        "expired-when-stamped",
        "foreign-timestamp",
        "tampered-timestamp",
        "timestamp-of-another",
    ];
    second_log || timestamp.contains(&case)
}

/// The specification of the certificate and its log entry, where a case is only about those.
fn spec_of(case: &str) -> Option<CertificateSpec> {
    let default = CertificateSpec::default();
    Some(match case {
        "good" | "no-chain" => default,
        "good-expired-since" => CertificateSpec {
            validity: (-900, -300),
            logged: -600,
            ..default
        },
        "expired-when-logged" => CertificateSpec {
            validity: (-900, -300),
            ..default
        },
        "logged-before-valid" => CertificateSpec {
            validity: (-100, 300),
            logged: -200,
            ..default
        },
        "no-sct" => CertificateSpec {
            sct: Sct::Missing,
            ..default
        },
        "foreign-sct" => CertificateSpec {
            sct: Sct::Foreign,
            ..default
        },
        "tampered-sct" => CertificateSpec {
            sct: Sct::Tampered,
            ..default
        },
        "not-for-signing-code" => CertificateSpec {
            usage: ExtendedKeyUsage(vec![oid("1.3.6.1.5.5.7.3.1")]),
            ..default
        },
        "other-identity" => CertificateSpec {
            names: vec![uri("https://github.com/other/repo")],
            ..default
        },
        "identity-prefixed" => CertificateSpec {
            names: vec![uri(&format!("https://other.example/{SUBJECT}"))],
            ..default
        },
        "identity-suffixed" => CertificateSpec {
            names: vec![uri(&format!("{SUBJECT}-other"))],
            ..default
        },
        "other-issuer" => CertificateSpec {
            issuer: Some("https://issuer.example"),
            old_issuer: Some("https://issuer.example"),
            ..default
        },
        "issuer-suffixed" => CertificateSpec {
            issuer: Some("https://token.actions.githubusercontent.com.example"),
            old_issuer: Some("https://token.actions.githubusercontent.com.example"),
            ..default
        },
        _ => return None,
    })
}

/// A statement other than the one that signs the image.
fn statement_of(case: &str) -> Option<String> {
    let ours = our_statement();
    Some(match case {
        "attestation" => ours.replace("sigstore.dev/cosign/sign/v1", "slsa.dev/provenance/v1"),
        "wrong-predicate" => ours.replace("cosign/sign/v1", "cosign/custom/v1"),
        "wrong-statement-type" => ours.replace("Statement/v1", "Statement/v0.1"),
        "two-subjects" => {
            let other = MemoryRegistry::default().image("other").digest().hex();
            let subject = format!(r#"[{{"digest":{{"sha256":"{other}"}}}},{{"#);
            ours.replace("[{", &subject)
        }
        "no-subject" => {
            let (before, rest) = ours.split_once("[{").unwrap();
            format!("{before}[{}", &rest[rest.find(']').unwrap()..])
        }
        "payload-no-json" => "nothing".to_owned(),
        "wrong-digest" => statement(MemoryRegistry::default().image("other").digest()),
        _ => return None,
    })
}

fn trusted(content: Content) -> Option<Material> {
    let root = None;
    Some(Material { content, root })
}

/// A root with the authorities of another instance.
fn root_with_other_authority(sigstore: &Sigstore) -> Value {
    let mut root = sigstore.root();
    root["certificateAuthorities"] = Sigstore::new().root()["certificateAuthorities"].clone();
    root
}

fn bundle_material(sigstore: &Sigstore, case: &str) -> Option<Material> {
    let ours = our_statement();
    let default = CertificateSpec::default();
    let good = sigstore.bundle(&ours, &default);
    if let Some(spec) = spec_of(case) {
        let made = sigstore.bundle(&ours, &spec);
        return trusted(Content::Bundle(made.to_string()));
    }
    if let Some(payload) = statement_of(case) {
        let made = sigstore.bundle(&payload, &default);
        return trusted(Content::Bundle(made.to_string()));
    }
    match case {
        "corrupt" => return trusted(Content::Bundle("{".to_owned())),
        "foreign-ca" => {
            let root = Some(root_with_other_authority(sigstore));
            let content = Content::Bundle(good.to_string());
            return Some(Material { content, root });
        }
        "foreign-log" => {
            let entries = Sigstore::new().bundle(&ours, &default);
            let mut made = good;
            copy(&mut made, &entries, "/verificationMaterial/tlogEntries");
            return trusted(Content::Bundle(made.to_string()));
        }
        "second-log-no-timestamp" => {
            let made = sigstore.bundle_in_rekor_v2(&ours);
            return trusted(Content::Bundle(made.to_string()));
        }
        _ => {}
    }
    let made = signed_bundle(sigstore, case).or_else(|| edited_bundle(sigstore, case, good))?;
    trusted(Content::Bundle(made.to_string()))
}

/// Bundles whose log entry or signature is about something else.
fn signed_bundle(sigstore: &Sigstore, case: &str) -> Option<Value> {
    let ours = our_statement();
    let (key, other_key) = (SigningKey::new(), SigningKey::new());
    let spec = match case {
        "expired-no-time" => CertificateSpec {
            validity: (-900, -300),
            ..CertificateSpec::default()
        },
        _ => CertificateSpec::default(),
    };
    let certificate = sigstore.certificate(&spec, &key);
    let other_certificate = sigstore.certificate(&spec, &other_key);
    let mut payload_type = "application/vnd.in-toto+json";
    let signature = key.sign(&enclose(&ours));
    let mut logged = (ours.clone(), signature.clone(), &certificate);
    match case {
        "logged-another-payload" => {
            logged.0 = statement(MemoryRegistry::default().image("other").digest());
        }
        "logged-another-signature" => logged.1 = key.sign(&enclose(&ours)),
        "logged-another-certificate" => logged.2 = &other_certificate,
        "signature-by-another-key" => logged.1 = other_key.sign(&enclose(&ours)),
        "wrong-payload-type" => payload_type = "text/plain",
        "expired-no-time" | "foreign-checkpoint" => {}
        _ => return None,
    }
    let signature = match case {
        "wrong-payload-type" => key.sign(&crate::payload::enclose_as(payload_type, &ours)),
        "signature-by-another-key" => logged.1.clone(),
        _ => signature,
    };
    let body = dsse_body(&logged.0, &logged.1, &pem("CERTIFICATE", logged.2));
    let mut entry = match case {
        "foreign-checkpoint" => sigstore.entry_with_checkpoint_by(&other_key, &body),
        _ => sigstore.entry("dsse", &body, -10),
    };
    if case == "expired-no-time" {
        entry["inclusionPromise"] = Value::Null;
    }
    let material =
        json!({"certificate": {"rawBytes": encode(&certificate)}, "tlogEntries": [entry]});
    let mut made = bundle(&ours, &signature, &material);
    made["dsseEnvelope"]["payloadType"] = payload_type.into();
    Some(made)
}

/// A good bundle with one change.
fn edited_bundle(sigstore: &Sigstore, case: &str, mut bundle: Value) -> Option<Value> {
    if edit_material(&mut bundle["verificationMaterial"], case) {
        return Some(bundle);
    }
    let entry = "/verificationMaterial/tlogEntries/0";
    let checkpoint = format!("{entry}/inclusionProof/checkpoint/envelope");
    let other = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    match case {
        "certificate-of-another" => copy(&mut bundle, &other, "/verificationMaterial/certificate"),
        "checkpoint-of-another" => copy(&mut bundle, &other, &checkpoint),
        "entry-of-another" => copy(&mut bundle, &other, entry),
        "envelope-of-another" => copy(&mut bundle, &other, "/dsseEnvelope"),
        "tampered-certificate" => flip(&mut bundle, "/verificationMaterial/certificate/rawBytes"),
        "tampered-set" => flip(
            &mut bundle,
            &format!("{entry}/inclusionPromise/signedEntryTimestamp"),
        ),
        "tampered-signature" => flip(&mut bundle, "/dsseEnvelope/signatures/0/sig"),
        "tampered-root" => flip(&mut bundle, &format!("{entry}/inclusionProof/rootHash")),
        "tampered-checkpoint" => {
            let text = bundle.pointer_mut(&checkpoint).unwrap();
            *text = text.as_str().unwrap().replace("- 42", "- 43").into();
        }
        "tampered-payload" => {
            let elsewhere = statement(MemoryRegistry::default().image("other").digest());
            bundle = sigstore.bundle(&elsewhere, &CertificateSpec::default());
            bundle["dsseEnvelope"]["payload"] = encode(our_statement()).into();
        }
        "tampered-payload-type" => bundle["dsseEnvelope"]["payloadType"] = "text/plain".into(),
        "no-signature" => bundle["dsseEnvelope"]["signatures"] = json!([]),
        "other-keyid" => {
            bundle["dsseEnvelope"]["signatures"][0]["keyid"] = OTHER_KEY_ID.into();
        }
        "message-signature" => {
            bundle["dsseEnvelope"] = Value::Null;
            bundle["messageSignature"] = json!({});
        }
        "wrong-media-type" => {
            bundle["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.9".into();
        }
        _ => return None,
    }
    Some(bundle)
}

/// Removes or changes a part of the log entry, or adds a timestamp of an unknown authority. Whether
/// the case is one of these.
fn edit_material(material: &mut Value, case: &str) -> bool {
    if case.contains("timestamp") {
        material["timestampVerificationData"] =
            json!({"rfc3161Timestamps": [{"signedTimestamp": encode("nothing")}]});
    }
    let entry = &mut material["tlogEntries"][0];
    match case {
        "foreign-timestamp-beside-log" => {}
        "no-log-entry" | "no-log-entry-but-timestamp" => material["tlogEntries"] = json!([]),
        "no-set" | "no-set-but-timestamp" => entry["inclusionPromise"] = Value::Null,
        "no-proof" => entry["inclusionProof"] = Value::Null,
        "tampered-proof" => entry["inclusionProof"]["hashes"] = json!([encode([7; 32])]),
        "tampered-integrated-time" => {
            let seconds: i64 = entry["integratedTime"].as_str().unwrap().parse().unwrap();
            entry["integratedTime"] = (seconds - 5).to_string().into();
        }
        _ => return false,
    }
    true
}

fn layer_material(sigstore: &Sigstore, case: &str) -> Option<Material> {
    let payload = our_payload();
    let default = CertificateSpec::default();
    let good = sigstore.annotations(&payload, &default);
    let layer =
        |payload: &[u8], annotations: Value| trusted(Content::Layer(payload.to_vec(), annotations));
    if let Some(spec) = spec_of(case) {
        return layer(&payload, sigstore.annotations(&payload, &spec));
    }
    let other_image = simple_payload(MemoryRegistry::default().image("other").digest());
    let text = String::from_utf8(payload.clone()).unwrap();
    let replaced = match case {
        "other-repository" => Some(text.replace("registry.example/a", "other.example/b")),
        "wrong-kind" => Some(text.replace("cosign container", "other container")),
        "payload-no-json" => Some("nothing".to_owned()),
        "wrong-digest" => Some(String::from_utf8(other_image.clone()).unwrap()),
        _ => None,
    };
    if let Some(replaced) = replaced {
        let annotations = sigstore.annotations(replaced.as_bytes(), &default);
        return layer(replaced.as_bytes(), annotations);
    }
    match case {
        "foreign-ca" => {
            let root = Some(root_with_other_authority(sigstore));
            let content = Content::Layer(payload, good);
            Some(Material { content, root })
        }
        "foreign-log" => {
            let mut made = good;
            let other = Sigstore::new().annotations(&payload, &default);
            made[LOG_BUNDLE] = other[LOG_BUNDLE].clone();
            layer(&payload, made)
        }
        "tampered-payload" => layer(&payload, sigstore.annotations(&other_image, &default)),
        _ => {
            let made = logged_layer(sigstore, case, &payload)
                .or_else(|| edited_layer(sigstore, case, &payload, good))?;
            layer(&payload, made)
        }
    }
}

/// Annotations whose log entry or signature is about something else.
fn logged_layer(sigstore: &Sigstore, case: &str, payload: &[u8]) -> Option<Value> {
    let other_key = SigningKey::new();
    let key = match case {
        "ed25519-certificate" => SigningKey::ed25519(),
        _ => SigningKey::new(),
    };
    let spec = CertificateSpec::default();
    let certificate = pem("CERTIFICATE", &sigstore.certificate(&spec, &key));
    let other_certificate = pem("CERTIFICATE", &sigstore.certificate(&spec, &other_key));
    let mut signature = key.sign(payload);
    let mut logged = (payload, signature.clone(), &certificate);
    match case {
        "logged-another-payload" => logged.0 = b"another payload",
        "logged-another-signature" => logged.1 = key.sign(payload),
        "logged-another-certificate" => logged.2 = &other_certificate,
        "ed25519-certificate" => {}
        "signature-by-another-key" => {
            signature = other_key.sign(payload);
            logged.1 = signature.clone();
        }
        _ => return None,
    }
    let body = hashed_body(logged.0, &logged.1, logged.2);
    let mut made = sigstore.annotations_with(&body, &signature, -10);
    made[CERTIFICATE] = certificate.into();
    Some(made)
}

/// Good annotations with one change.
fn edited_layer(sigstore: &Sigstore, case: &str, payload: &[u8], mut made: Value) -> Option<Value> {
    let other = sigstore.annotations(payload, &CertificateSpec::default());
    match case {
        "expired-no-time" => {
            let spec = CertificateSpec {
                validity: (-900, -300),
                ..CertificateSpec::default()
            };
            made = sigstore.annotations(payload, &spec);
            remove(&mut made, LOG_BUNDLE);
        }
        "no-log-entry" | "no-log-entry-but-timestamp" => remove(&mut made, LOG_BUNDLE),
        "no-certificate" => remove(&mut made, CERTIFICATE),
        "no-signature" => remove(&mut made, SIGNATURE),
        "corrupt-log-entry" => made[LOG_BUNDLE] = "{".into(),
        "certificate-of-another" => made[CERTIFICATE] = other[CERTIFICATE].clone(),
        "entry-of-another" => made[LOG_BUNDLE] = other[LOG_BUNDLE].clone(),
        "signature-of-another" => made[SIGNATURE] = other[SIGNATURE].clone(),
        "tampered-signature" => flip(&mut made, &format!("/{}", SIGNATURE.replace('/', "~1"))),
        "tampered-set" => change_log(&mut made, |log| flip(log, "/SignedEntryTimestamp")),
        "tampered-log-index" => {
            change_log(&mut made, |log| log["Payload"]["logIndex"] = 8.into());
        }
        _ => return None,
    }
    Some(made)
}

fn copy(to: &mut Value, from: &Value, pointer: &str) {
    *to.pointer_mut(pointer).unwrap() = from.pointer(pointer).unwrap().clone();
}

fn remove(annotations: &mut Value, name: &str) {
    annotations.as_object_mut().unwrap().remove(name);
}

fn change_log(annotations: &mut Value, change: impl Fn(&mut Value)) {
    let mut log: Value = serde_json::from_str(annotations[LOG_BUNDLE].as_str().unwrap()).unwrap();
    change(&mut log);
    annotations[LOG_BUNDLE] = log.to_string().into();
}

/// Changes one bit of a base64 value, near its end: in a certificate, that is its signature.
fn flip(document: &mut Value, pointer: &str) {
    let value = document.pointer_mut(pointer).unwrap();
    let mut bytes = crate::payload::decode(value.as_str().unwrap());
    let position = bytes.len() - 4;
    bytes[position] ^= 1;
    *value = encode(bytes).into();
}
