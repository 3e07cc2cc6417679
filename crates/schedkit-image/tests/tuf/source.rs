//! Which root a policy gets that names none, and how old it may be.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use schedkit_image::trust::{
    Anchor, KeptRoot, Policy, PolicyError, RootAgeError, RootOrigin, RootSource, RootStoreError,
    RootWarning, TrustRoot,
};
use schedkit_image::untrusted::Reader;

use crate::fixture::{Fixture, ROOT, at, now};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn read(path: &Path, roots: &RootSource) -> Result<Policy, PolicyError> {
    Policy::read_with(path, Reader::User, roots)
}

fn default_policy(roots: &RootSource) -> Policy {
    read(Path::new("builtin:schedkit"), roots).unwrap()
}

fn choose(
    fixture: &Fixture,
    loaded: Result<Option<KeptRoot>, RootStoreError>,
    now: Timestamp,
) -> (RootSource, Option<RootWarning>) {
    RootSource::choose(&fixture.anchor, loaded, now)
}

fn untrusted() -> RootStoreError {
    RootStoreError::Untrusted("/state".into())
}

#[tokio::test]
async fn the_kept_root_comes_before_the_embedded_one_and_after_the_policys_own() {
    let (fixture, kept) = Fixture::refreshed().await;
    let (roots, warning) = choose(&fixture, Ok(Some(kept.clone())), now());
    assert!(warning.is_none());
    let policy = default_policy(&roots);
    assert_eq!(policy.root().digest(), kept.root().digest());
    let RootOrigin::Tuf { checked_at, mirror } = policy.root().origin() else {
        panic!("{:?}", policy.root().origin());
    };
    assert_eq!((*checked_at, mirror.as_str()), (now(), kept.mirror()));
    let embedded = default_policy(&RootSource::Embedded);
    assert_ne!(policy.fingerprint(), embedded.fingerprint());

    let folder = fixture.folder.path();
    fs::write(folder.join("own.json"), ROOT).unwrap();
    let own = folder.join("own.yaml");
    let text = "identities: [{issuer: https://a.example, subject: me}]\ntrustedRoot: own.json\n";
    fs::write(&own, text).unwrap();
    let policy = read(&own, &roots).unwrap();
    assert!(matches!(policy.root().origin(), RootOrigin::File(_)));
    // Whoever wrote the policy looks after it.
    assert_eq!(policy.root_as_of(), None);
    policy.check_root_age(Duration::ZERO, now()).unwrap();
}

/// Nobody who pins the TUF root of another instance trusts the public one.
#[tokio::test]
async fn without_a_kept_root_a_pinned_instance_has_none() {
    let (fixture, _) = Fixture::refreshed().await;
    let key = fixture.folder.path().join("key.yaml");
    fs::write(fixture.folder.path().join("key.pem"), KEY).unwrap();
    fs::write(&key, "keys: [{path: key.pem}]\n").unwrap();
    for loaded in [Ok(None), Err(untrusted())] {
        let (roots, warning) = choose(&fixture, loaded, now());
        assert!(warning.is_none());
        let error = read(Path::new("builtin:schedkit"), &roots).unwrap_err();
        assert!(matches!(error, PolicyError::NoRoot(_)), "{error}");
        // It needs no root.
        assert_eq!(read(&key, &roots).unwrap().root_as_of(), None);
    }
}

#[tokio::test]
async fn the_embedded_root_is_for_its_own_instance() {
    let public = Anchor::public_good().unwrap();
    let (roots, warning) = RootSource::choose(&public, Ok(None), now());
    assert!(matches!(roots, RootSource::Embedded) && warning.is_none());
    let (roots, warning) = RootSource::choose(&public, Err(untrusted()), now());
    assert!(matches!(roots, RootSource::Embedded));
    assert!(matches!(warning, Some(RootWarning::Unusable(_))));
    // Fetched before this program was built.
    let mut fixture = Fixture::new();
    let files = fixture.maker.release(ROOT);
    let early = at("2026-01-01T00:00:00Z");
    let kept = fixture.refresh_at(&files, None, early).await.unwrap();
    let (roots, _) = RootSource::choose(&public, Ok(Some(kept.clone())), now());
    assert!(matches!(roots, RootSource::Embedded));
    let (roots, _) = choose(&fixture, Ok(Some(kept)), now());
    assert!(matches!(roots, RootSource::Kept(_)));
}

/// The embedded root may still trust what was revoked, so a wrong clock does not bring it back.
#[tokio::test]
async fn with_a_clock_that_was_set_back_the_kept_root_has_no_age() {
    let (fixture, kept) = Fixture::refreshed().await;
    let before = at("2026-11-19T00:00:00Z");
    let (roots, warning) = choose(&fixture, Ok(Some(kept.clone())), before);
    assert!(matches!(warning, Some(RootWarning::Future(when)) if when == now()));
    let policy = default_policy(&roots);
    assert_eq!(policy.root().digest(), kept.root().digest());
    let error = policy.check_root_age(30 * DAY, before).unwrap_err();
    assert_eq!(error, RootAgeError::Unknown(now()));
    // The next refresh puts it right.
    let mut fixture = fixture;
    let files = fixture.maker.release(ROOT);
    let kept = fixture
        .refresh_at(&files, Some(&kept), before)
        .await
        .unwrap();
    assert_eq!(kept.checked_at(), before);
}

#[tokio::test]
async fn a_root_may_have_a_maximum_age() {
    let (fixture, kept) = Fixture::refreshed().await;
    let (roots, _) = choose(&fixture, Ok(Some(kept)), now());
    let policy = default_policy(&roots);
    let later = now() + 30 * DAY;
    policy.check_root_age(30 * DAY, later).unwrap();
    let error = policy.check_root_age(29 * DAY, later).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trusted root was last checked at 2026-11-20T00:00:00Z, and that may be 29 days ago at most"
    );
    let embedded = default_policy(&RootSource::Embedded);
    let taken = TrustRoot::public_good().unwrap().origin().as_of();
    assert_eq!(embedded.root_as_of(), taken);
    assert!(embedded.check_root_age(DAY, later).is_err());
}

const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExwrnecTNHdlmJpQtYwhlRnOsNVbL
LnSLFfi04SWJDHzSBqfSGlTiQh0FAbk+N53383317/mJiV74KP/F16cWPQ==
-----END PUBLIC KEY-----
";
