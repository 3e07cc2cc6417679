//! Which signatures are accepted, and which are refused for which reason: every refusal has a case
//! that only its own check refuses. `cases` runs the table that the tests with real cosign share;
//! the other modules make, in memory, what no real signer makes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like the tests themselves"
)]

mod by_certificate;
mod by_key;
mod cases;
mod certificate;
mod key_pair;
mod log;
mod memory_registry;
mod payload;
mod search;
mod sigstore;

use std::fs;

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use schedkit_image::signature::{Refusal, Verified, VerifyError, verify};
use schedkit_image::trust::Policy;
use serde_json::Value;

use memory_registry::MemoryRegistry;
use sigstore::{SigningKey, Sigstore, pem};

/// A policy from its text; `KEY` is the name of a file with `key`, `ROOT` of one with `root`.
fn policy(text: &str, key: &SigningKey, root: &Value) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("KEY"), pem("PUBLIC KEY", &key.spki())).unwrap();
    fs::write(folder.path().join("ROOT"), root.to_string()).unwrap();
    let path = folder.path().join("policy.yaml");
    fs::write(&path, text).unwrap();
    Policy::read(&path).unwrap()
}

const BY_KEY: &str = "keys: [{path: KEY}]\n";
const BY_IDENTITY: &str = r"
identities:
- issuer: https://token.actions.githubusercontent.com
  subjectRegExp: ^https://github\.com/schedkit/
trustedRoot: ROOT
";

fn by_key(key: &SigningKey) -> Policy {
    policy(BY_KEY, key, &Value::Null)
}

fn by_identity(sigstore: &Sigstore) -> Policy {
    policy(BY_IDENTITY, &SigningKey::new(), &sigstore.root())
}

async fn verify_now(
    registry: &MemoryRegistry,
    policy: &Policy,
    image: &PinnedRef,
) -> Result<Verified, VerifyError> {
    verify(registry, policy, image, Timestamp::now()).await
}

/// The refusal of the only signature.
#[track_caller]
fn reason(answer: Result<Verified, VerifyError>) -> Refusal {
    match answer {
        Err(VerifyError::Refused { signatures, .. }) if signatures.len() == 1 => {
            signatures[0].refusal.clone()
        }
        other => panic!("one refused signature expected: {other:?}"),
    }
}

/// The verdict on an image with this bundle alone.
async fn bundle_verdict(policy: &Policy, bundle: &Value) -> Result<Verified, VerifyError> {
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    registry.attach(&image, bundle);
    verify_now(&registry, policy, &image).await
}

/// The verdict on an image with this `.sig` layer alone.
async fn layer_verdict(
    policy: &Policy,
    payload: &[u8],
    annotations: &Value,
) -> Result<Verified, VerifyError> {
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    registry.tag_signatures(&image, &[(payload.to_vec(), annotations.clone())]);
    verify_now(&registry, policy, &image).await
}

/// The statement about the image of the two functions above.
fn our_statement() -> String {
    sigstore::statement(MemoryRegistry::default().image("image").digest())
}

fn our_payload() -> Vec<u8> {
    sigstore::simple_payload(MemoryRegistry::default().image("image").digest())
}
