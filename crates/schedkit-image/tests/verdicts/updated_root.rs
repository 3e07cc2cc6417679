//! A trusted root that is replaced by TUF, under a policy that names none.

use std::fs;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use schedkit_image::hash::sha256;
use schedkit_image::registry::{ClientConfig, FileClient};
use schedkit_image::signature::Refusal;
use schedkit_image::trust::{Anchor, KeptRoot, Mirror, Policy, RootSource, refresh};
use schedkit_image::untrusted::Reader;
use serde_json::Value;
use tuf_maker::{Files, Maker, write};

use crate::fixture::{BY_IDENTITY, bundle_verdict, our_statement, reason};
use crate::sigstore::{CertificateSpec, Sigstore};

/// The policy with what a refresh from these files keeps.
async fn policy(maker: &Maker, files: &Files, kept: &mut Option<KeptRoot>) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let root = file("root.json", maker.anchor());
    let anchor = Anchor::read(&root, &sha256(maker.anchor()), Reader::User).unwrap();
    let mirror = folder.path().join("mirror");
    write(files, &mirror);
    let client = FileClient::new(ClientConfig::default());
    let mirror = Mirror::Folder(mirror);
    let newer = refresh(&mirror, &client, &anchor, kept.as_ref(), Timestamp::now());
    let newer = newer.await.unwrap();
    *kept = Some(newer.clone());
    let text = BY_IDENTITY.replace("trustedRoot: ROOT\n", "");
    let policy = file("policy.yaml", text.as_bytes());
    Policy::read_with(&policy, Reader::User, &RootSource::Kept(Arc::new(newer))).unwrap()
}

#[tokio::test]
async fn a_log_that_was_revoked_counts_until_the_update_and_not_after_it() {
    let sigstore = Sigstore::new();
    let bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    let root = sigstore.root();
    let without_log = {
        let mut root = root.clone();
        root["tlogs"].as_array_mut().unwrap().remove(0);
        root
    };
    let ended = {
        let mut root = root.clone();
        let end = Timestamp::now() - SignedDuration::from_secs(60);
        root["tlogs"][0]["publicKey"]["validFor"]["end"] = end.to_string().into();
        root
    };
    let updated = async |next: &Value| {
        let (mut maker, mut kept) = (Maker::generate(), None);
        let before = maker.release(&root.to_string());
        let before = policy(&maker, &before, &mut kept).await;
        assert!(bundle_verdict(&before, &bundle).await.is_ok());
        let after = maker.release(&next.to_string());
        let after = policy(&maker, &after, &mut kept).await;
        assert_ne!(before.fingerprint(), after.fingerprint());
        reason(bundle_verdict(&after, &bundle).await)
    };
    assert_eq!(updated(&without_log).await, Refusal::UnknownLog);
    let refusal = updated(&ended).await;
    assert!(matches!(refusal, Refusal::LogPromise(_)), "{refusal:?}");
}
