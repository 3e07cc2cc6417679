//! What is accepted and what is refused, and for which reason: every refusal has a case that only
//! its own check turns down. Against real cosign the same is done in the lab; here everything is
//! made in memory, so that what no real signer would make can be tried too.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "scaffolding of tests fails as loudly as they do"
)]

#[path = "verdicts/instance.rs"]
mod instance;
#[path = "verdicts/keyed.rs"]
mod keyed;
#[path = "verdicts/keyless.rs"]
mod keyless;
#[path = "verdicts/log.rs"]
mod log;
#[path = "verdicts/pair.rs"]
mod pair;
#[path = "verdicts/payload.rs"]
mod payload;
#[path = "verdicts/search.rs"]
mod search;
#[path = "verdicts/shelf.rs"]
mod shelf;
#[path = "verdicts/x509.rs"]
mod x509;

use std::fs;

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use schedkit_image::signature::{Refusal, Verified, VerifyError, verify};
use schedkit_image::trust::Policy;
use serde_json::Value;

use instance::{Instance, Pair, pem};
use shelf::Shelf;

/// A policy from its text; `KEY` is the name of a file with `key`, `ROOT` of one with `root`.
fn policy(text: &str, key: &Pair, root: &Value) -> Policy {
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

fn by_key(key: &Pair) -> Policy {
    policy(BY_KEY, key, &Value::Null)
}

fn by_identity(instance: &Instance) -> Policy {
    policy(BY_IDENTITY, &Pair::new(), &instance.root())
}

async fn ask(shelf: &Shelf, policy: &Policy, image: &PinnedRef) -> Result<Verified, VerifyError> {
    verify(shelf, policy, image, Timestamp::now()).await
}

/// The one reason why the one candidate is refused.
#[track_caller]
fn reason(answer: Result<Verified, VerifyError>) -> Refusal {
    match answer {
        Err(VerifyError::Refused { candidates, .. }) if candidates.len() == 1 => {
            candidates[0].refusal.clone()
        }
        other => panic!("one refused candidate expected: {other:?}"),
    }
}

/// What a bundle alone comes to.
async fn bundle_verdict(policy: &Policy, bundle: &Value) -> Result<Verified, VerifyError> {
    let shelf = Shelf::default();
    let image = shelf.image("image");
    shelf.attach(&image, bundle);
    ask(&shelf, policy, &image).await
}

/// What a `.sig` layer alone comes to.
async fn layer_verdict(
    policy: &Policy,
    payload: &[u8],
    annotations: &Value,
) -> Result<Verified, VerifyError> {
    let shelf = Shelf::default();
    let image = shelf.image("image");
    shelf.tag_signatures(&image, &[(payload.to_vec(), annotations.clone())]);
    ask(&shelf, policy, &image).await
}

/// The text of the statement about the image that the two verdicts above are about.
fn our_statement() -> String {
    instance::statement(Shelf::default().image("image").digest())
}

fn our_payload() -> Vec<u8> {
    instance::simple_payload(Shelf::default().image("image").digest())
}
