//! What the cases share: policies, the verdict on one signature, and the payloads for the image.

use std::fs;

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use schedkit_image::signature::{Refusal, Verified, VerifyError, verify};
use schedkit_image::trust::Policy;
use schedkit_image::untrusted::Reader;
use serde_json::Value;

use crate::memory_registry::MemoryRegistry;
use crate::sigstore::{self, SigningKey, Sigstore, pem};

/// A policy from its text; `KEY` is the name of a file with `key`, `ROOT` of one with `root`.
pub(crate) fn policy(text: &str, key: &SigningKey, root: &Value) -> Policy {
    policy_of(text, &key.spki(), root)
}

/// The same for a public key alone.
pub(crate) fn policy_of(text: &str, spki: &[u8], root: &Value) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("KEY"), pem("PUBLIC KEY", spki)).unwrap();
    fs::write(folder.path().join("ROOT"), root.to_string()).unwrap();
    let path = folder.path().join("policy.yaml");
    fs::write(&path, text).unwrap();
    Policy::read(&path, Reader::User).unwrap()
}

pub(crate) const BY_KEY: &str = "keys: [{path: KEY}]\n";
pub(crate) const BY_IDENTITY: &str = r"
identities:
- issuer: https://token.actions.githubusercontent.com
  subjectRegExp: ^https://github\.com/schedkit/
trustedRoot: ROOT
";

pub(crate) fn by_key(key: &SigningKey) -> Policy {
    policy(BY_KEY, key, &Value::Null)
}

pub(crate) fn by_identity(sigstore: &Sigstore) -> Policy {
    policy(BY_IDENTITY, &SigningKey::new(), &sigstore.root())
}

pub(crate) async fn verify_now(
    registry: &MemoryRegistry,
    policy: &Policy,
    image: &PinnedRef,
) -> Result<Verified, VerifyError> {
    verify(registry, policy, image, Timestamp::now()).await
}

/// The refusal of the only signature.
#[track_caller]
pub(crate) fn reason(answer: Result<Verified, VerifyError>) -> Refusal {
    match answer {
        Err(VerifyError::Refused { signatures, .. }) if signatures.len() == 1 => {
            signatures[0].refusal.clone()
        }
        other => panic!("one refused signature expected: {other:?}"),
    }
}

/// The verdict on an image with this bundle alone.
pub(crate) async fn bundle_verdict(
    policy: &Policy,
    bundle: &Value,
) -> Result<Verified, VerifyError> {
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    registry.attach(&image, bundle);
    verify_now(&registry, policy, &image).await
}

/// The verdict on an image with this `.sig` layer alone.
pub(crate) async fn layer_verdict(
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
pub(crate) fn our_statement() -> String {
    sigstore::statement(MemoryRegistry::default().image("image").digest())
}

pub(crate) fn our_payload() -> Vec<u8> {
    sigstore::simple_payload(MemoryRegistry::default().image("image").digest())
}
