//! What is kept, and when it is believed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use schedkit_image::trust::{FailedRefresh, KeptRoot, KeptRootError, RootStore, RootStoreError};
use serde_json::Value;
use tuf_maker::Maker;

use crate::fixture::{Fixture, ROOT, chain, now, pinned};

#[tokio::test]
async fn a_kept_root_is_verified_again_when_it_is_loaded() {
    let (mut fixture, _) = Fixture::refreshed().await;
    assert!(fixture.load().unwrap().is_none());
    fixture.maker.rotate();
    let files = fixture.maker.release_with(ROOT, |role, signed| {
        // It has expired when it is loaded, and had not when it was checked.
        if role == "timestamp" {
            signed["expires"] = "2026-11-20T00:00:01Z".into();
        }
    });
    let kept = fixture.refresh(&files, None).await.unwrap();
    fixture.save(&kept);
    let loaded = fixture.load().unwrap().unwrap();
    assert_eq!(loaded.checked_at(), now());
    assert_eq!(loaded.roles(), kept.roles());
    assert_eq!(loaded.mirror(), kept.mirror());
    assert_eq!(loaded.root().digest(), kept.root().digest());
    assert_eq!(loaded.text().unwrap(), kept.text().unwrap());
}

#[tokio::test]
async fn what_was_changed_is_not_believed() {
    let (mut fixture, _) = Fixture::refreshed().await;
    fixture.maker.rotate();
    let files = fixture.maker.release(ROOT);
    let kept = fixture.refresh(&files, None).await.unwrap();
    let document: Value = serde_json::from_str(&kept.text().unwrap()).unwrap();
    let edited = |field: &str, value: Value| {
        let mut document = document.clone();
        document[field] = value;
        KeptRoot::parse(&document.to_string(), &fixture.anchor)
    };
    let other_root = ROOT.replace("rekor.sigstore.dev", "rekor.sigstore.bad");
    for (field, value) in [
        ("trustedRoot", other_root.into()),
        ("checkedAt", "2100-01-01T00:00:00Z".into()),
        ("targets", document["snapshot"].clone()),
        ("snapshot", document["timestamp"].clone()),
        ("timestamp", "{}".into()),
        ("roots", vec![document["timestamp"].clone()].into()),
    ] {
        let error = edited(field, value).unwrap_err();
        let is_it = matches!(error, KeptRootError::Tuf(_));
        assert!(is_it, "{field}: {}", chain(&error));
    }
    for (field, value) in [
        ("checkedAt", "yesterday".into()),
        ("roots", Value::Null),
        ("anchor", Value::Null),
    ] {
        let error = edited(field, value).unwrap_err();
        let is_it = matches!(error, KeptRootError::Malformed(_));
        assert!(is_it, "{field}: {}", chain(&error));
    }
    // An older program reads what a newer one wrote.
    assert!(edited("more", Value::Null).is_ok());
}

#[tokio::test]
async fn a_root_is_kept_for_the_pin_that_it_begins_at() {
    let (fixture, kept) = Fixture::refreshed().await;
    fixture.save(&kept);
    let other = tempfile::tempdir().unwrap();
    let other = pinned(&other, Maker::generate().anchor()).unwrap();
    assert!(fixture.store().load(&other).unwrap().is_none());
    let error = KeptRoot::parse(&kept.text().unwrap(), &other).unwrap_err();
    assert!(matches!(error, KeptRootError::OtherAnchor), "{error}");
}

#[tokio::test]
async fn a_file_that_others_can_write_to_or_that_is_cut_is_not_used() {
    let (fixture, kept) = Fixture::refreshed().await;
    fixture.save(&kept);
    let file = fixture.stored_file();
    let folder = file.parent().unwrap();
    let mode = |path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let refused = || match fixture.load() {
        Err(RootStoreError::Untrusted(path)) => path,
        other => panic!("{other:?}"),
    };
    for (path, wrong, right) in [(file.as_path(), 0o620, 0o600), (folder, 0o702, 0o700)] {
        mode(path, wrong);
        assert_eq!(refused(), path);
        mode(path, right);
        assert!(fixture.load().unwrap().is_some());
    }
    let owner = fs::metadata(folder).unwrap().uid();
    let stranger = RootStore::at(folder, owner + 1);
    let error = stranger.load(&fixture.anchor).unwrap_err();
    assert!(matches!(error, RootStoreError::Untrusted(_)), "{error}");
    let text = fs::read(&file).unwrap();
    for length in [0, 1, text.len() / 2, text.len() - 1] {
        fs::write(&file, &text[..length]).unwrap();
        let error = fixture.load().unwrap_err();
        let is_it = matches!(error, RootStoreError::Invalid { .. });
        assert!(is_it, "{}", chain(&error));
    }
    fs::write(&file, vec![b' '; (16 << 20) + 1]).unwrap();
    let error = fixture.load().unwrap_err();
    assert!(matches!(error, RootStoreError::Io { .. }), "{error}");
}

#[tokio::test]
async fn one_process_updates_at_a_time_and_a_failure_is_kept_until_the_next_success() {
    let (fixture, kept) = Fixture::refreshed().await;
    let store = fixture.store();
    let lock = store.lock().unwrap();
    assert!(matches!(store.lock(), Err(RootStoreError::Busy)));
    assert_eq!(store.failure(&fixture.anchor), None);
    let failure = FailedRefresh {
        at: now(),
        mirror: "https://a.example".to_owned(),
        reason: "it was away".to_owned(),
    };
    store
        .save_failure(&fixture.anchor, &failure, &lock)
        .unwrap();
    assert_eq!(store.failure(&fixture.anchor), Some(failure));
    assert!(store.load(&fixture.anchor).unwrap().is_none());
    store.save(&fixture.anchor, &kept, &lock).unwrap();
    assert_eq!(store.failure(&fixture.anchor), None);
    drop(lock);
    assert!(store.lock().is_ok());
}
