//! Which repositories a refresh believes.

use schedkit_image::hash::sha256;
use schedkit_image::trust::{Anchor, TrustRoot, TufFault};
use schedkit_image::untrusted::Reader;
use serde_json::{Value, json};
use tuf_maker::{EXPIRES, Key, Maker, enclose};

use crate::fixture::{Fixture, ROOT, at, chain, fault, now, pinned};

#[tokio::test]
async fn the_newest_root_is_fetched_and_confirmed() {
    let (mut fixture, kept) = Fixture::refreshed().await;
    assert_eq!(kept.checked_at(), now());
    assert_eq!(kept.expires(), at(EXPIRES));
    let versions = kept.roles().iter().map(|role| (role.name, role.version));
    let all_one = ["root", "timestamp", "snapshot", "targets"].map(|name| (name, 1));
    assert_eq!(versions.collect::<Vec<_>>(), all_one);
    let files = fixture.maker.release(ROOT);
    let newer = fixture.refresh(&files, Some(&kept)).await.unwrap();
    let embedded = TrustRoot::public_good().unwrap();
    assert_ne!(kept.root().digest(), embedded.digest());
    assert_eq!(newer.root().digest(), embedded.digest());
    // Nothing has changed since.
    let later = at("2026-11-21T00:00:00Z");
    let same = fixture
        .refresh_at(&files, Some(&newer), later)
        .await
        .unwrap();
    assert_eq!(same.root().digest(), newer.root().digest());
    assert_eq!(same.checked_at(), later);
}

#[tokio::test]
async fn roots_are_rotated_by_those_who_hold_the_old_keys() {
    let (mut fixture, kept) = Fixture::refreshed().await;
    fixture.maker.rotate();
    fixture.maker.rotate();
    let files = fixture.maker.release(ROOT);
    for known in [None, Some(&kept)] {
        let rotated = fixture.refresh(&files, known).await.unwrap();
        assert_eq!(rotated.roles()[0].version, 3);
        // From there on as well.
        fixture.refresh(&files, Some(&rotated)).await.unwrap();
    }
    fixture.maker.rotate_with(false, |_| {});
    let files = fixture.maker.release(ROOT);
    let refused = fault(fixture.refresh(&files, Some(&kept)).await);
    let why = "its `root` has 0 valid signatures and needs 2";
    assert!(refused.contains(why), "{refused}");
}

#[tokio::test]
async fn at_most_sixty_four_rotations_are_followed() {
    let mut fixture = Fixture::new();
    for _ in 0..64 {
        fixture.maker.rotate();
    }
    let files = fixture.maker.release(ROOT);
    let far = fixture.refresh(&files, None).await.unwrap();
    assert_eq!(far.roles()[0].version, 65);
    for known in [None, Some(&far), None] {
        fixture.maker.rotate();
        let files = fixture.maker.release(ROOT);
        let error = fixture.refresh(&files, known).await.unwrap_err();
        let is_it = matches!(error.fault(), TufFault::TooManyRoots);
        assert!(is_it, "{}", chain(&error));
    }
}

/// What was seen before is the lowest that is accepted, for each role.
#[tokio::test]
async fn older_versions_are_refused() {
    let (mut fixture, _) = Fixture::refreshed().await;
    let older = fixture.maker.release(ROOT);
    fixture.maker.rotate();
    let newest = fixture.maker.release(ROOT);
    let kept = fixture.refresh(&newest, None).await.unwrap();
    fixture.maker.versions.snapshot = 0;
    let older_snapshot = fixture.maker.release(ROOT);
    fixture.maker.versions.snapshot = 9;
    fixture.maker.versions.targets = 0;
    let older_targets = fixture.maker.release(ROOT);
    for (files, role) in [
        (&older, "timestamp"),
        (&older_snapshot, "snapshot"),
        (&older_targets, "targets"),
    ] {
        let refused = fault(fixture.refresh(files, Some(&kept)).await);
        let why = format!("its `{role}` has version");
        assert!(refused.contains(&why), "{role}: {refused}");
        assert!(refused.contains("was rolled back"), "{role}: {refused}");
        // Whoever has seen nothing yet cannot know.
        fixture.refresh(files, None).await.unwrap();
    }
    let mut again = newest.clone();
    let first = again["1.root.json"].clone();
    again.insert("3.root.json".to_owned(), first);
    let refused = fault(fixture.refresh(&again, Some(&kept)).await);
    let why = "root version must increment by one: trusted 2, got 1";
    assert!(refused.contains(why), "{refused}");
    // A mirror without the newer roots leads nobody back to the older ones.
    again.remove("2.root.json");
    again.remove("3.root.json");
    let same = fixture.refresh(&again, Some(&kept)).await.unwrap();
    assert_eq!(same.roles()[0].version, 2);
}

/// The clock of a machine that was off for years, or a mirror that stands still.
#[tokio::test]
async fn a_frozen_mirror_is_believed_until_its_timestamp_expires() {
    let mut fixture = Fixture::new();
    let files = fixture.maker.release_with(ROOT, |role, signed| {
        if role == "timestamp" {
            signed["expires"] = "2026-11-27T00:00:00Z".into();
        }
    });
    let kept = fixture.refresh(&files, None).await.unwrap();
    assert_eq!(kept.expires(), at("2026-11-27T00:00:00Z"));
    let later = at("2026-11-26T00:00:00Z");
    let kept = fixture
        .refresh_at(&files, Some(&kept), later)
        .await
        .unwrap();
    let later = at("2026-11-28T00:00:00Z");
    let refused = fault(fixture.refresh_at(&files, Some(&kept), later).await);
    assert!(
        refused.contains("its `timestamp` expired at 2026-11-27"),
        "{refused}"
    );
    assert!(refused.contains("frozen"), "{refused}");
}

#[tokio::test]
async fn what_has_expired_is_refused() {
    let past = |signed: &mut Value| signed["expires"] = "2026-11-19T00:00:00Z".into();
    for role in ["timestamp", "snapshot", "targets"] {
        let (mut fixture, kept) = Fixture::refreshed().await;
        let files = fixture.maker.release_with(ROOT, |this, signed| {
            if this == role {
                past(signed);
            }
        });
        let refused = fault(fixture.refresh(&files, Some(&kept)).await);
        let why = format!("its `{role}` expired at 2026-11-19T00:00:00Z");
        assert!(refused.contains(&why), "{refused}");
    }
    let (mut fixture, kept) = Fixture::refreshed().await;
    fixture.maker.rotate_with(true, past);
    let files = fixture.maker.release(ROOT);
    let refused = fault(fixture.refresh(&files, Some(&kept)).await);
    assert!(refused.contains("its `root` expired at"), "{refused}");
}

#[tokio::test]
async fn other_bytes_than_those_that_were_signed_are_refused() {
    for (file, why) in [
        ("timestamp.json", "it cannot be verified"),
        ("1.snapshot.json", "it cannot be verified"),
        ("1.targets.json", "it cannot be verified"),
        ("trusted_root.json", "sha256 mismatch"),
    ] {
        let mut fixture = Fixture::new();
        let mut files = fixture.maker.release(ROOT);
        let (_, content) = files
            .iter_mut()
            .find(|(name, _)| name.ends_with(file))
            .unwrap();
        let last = content.iter().rposition(|byte| *byte == b'"').unwrap();
        content[last - 1] ^= 1;
        let refused = fault(fixture.refresh(&files, None).await);
        let is_it = refused.contains(why) || refused.contains("has 0 valid signatures");
        assert!(is_it, "{file}: {refused}");
    }
}

#[tokio::test]
async fn a_signature_of_somebody_else_counts_for_nothing() {
    let mut fixture = Fixture::new();
    let mut stranger = Maker::generate();
    fixture.maker.release(ROOT);
    let mut files = fixture.maker.release(ROOT);
    stranger.release(ROOT);
    let theirs = stranger.release(ROOT);
    for name in ["timestamp.json", "2.snapshot.json", "2.targets.json"] {
        files.insert(name.to_owned(), theirs[name].clone());
    }
    let refused = fault(fixture.refresh(&files, None).await);
    let why = "its `timestamp` has 0 valid signatures and needs 1";
    assert!(refused.contains(why), "{refused}");
}

/// It stays as it was, and gets older.
#[tokio::test]
async fn a_trusted_root_that_we_would_not_read_is_not_accepted() {
    let mut unknown: Value = serde_json::from_str(ROOT).unwrap();
    unknown["tlogs"][0]["publicKey"]["validfor"] = json!({});
    for text in [unknown.to_string(), "{}".to_owned(), String::new()] {
        let (mut fixture, kept) = Fixture::refreshed().await;
        let files = fixture.maker.release(&text);
        let error = fixture.refresh(&files, Some(&kept)).await.unwrap_err();
        let is_it = matches!(error.fault(), TufFault::TrustedRoot(_));
        assert!(is_it, "{}", chain(&error));
    }
}

#[tokio::test]
async fn only_the_top_lists_the_trusted_root() {
    let mut fixture = Fixture::new();
    let key = Key::generate();
    let delegated = |role: &str, signed: &mut Value| match role {
        "targets" => {
            signed["targets"] = json!({});
            signed["delegations"] = json!({
                "keys": {&*key.id: key.public},
                "roles": [{
                    "name": "other", "keyids": [key.id], "threshold": 1, "terminating": false,
                    "paths": ["*"],
                }],
            });
        }
        "snapshot" => signed["meta"]["other.json"] = json!({"version": 1}),
        _ => {}
    };
    let mut files = fixture.maker.release_with(ROOT, delegated);
    let hashes = json!({"sha256": sha256(ROOT.as_bytes()).hex()});
    let other = json!({
        "_type": "targets", "spec_version": "1.0.31", "version": 1, "expires": EXPIRES,
        "targets": {"trusted_root.json": {"length": ROOT.len(), "hashes": hashes}},
    });
    files.insert("1.other.json".to_owned(), enclose(&other, &[&key]));
    let refused = fault(fixture.refresh(&files, None).await);
    assert!(refused.contains("is not listed by any"), "{refused}");
}

#[tokio::test]
async fn names_and_sizes_are_limited() {
    let named = |hash: &'static str| {
        move |role: &str, signed: &mut Value| {
            if role == "targets" {
                signed["targets"]["trusted_root.json"]["hashes"] = json!({"sha256": hash});
            }
        }
    };
    for hash in ["../../../etc/passwd", "/etc/passwd", "a%2fb", "..", "a\n"] {
        let mut fixture = Fixture::new();
        let files = fixture.maker.release_with(ROOT, named(hash));
        let refused = fault(fixture.refresh(&files, None).await);
        assert!(
            refused.contains("refers to a file with the name"),
            "{hash}: {refused}"
        );
    }
    for (file, limit) in [
        ("timestamp.json", 16 << 10),
        ("1.snapshot.json", 256 << 10),
        ("1.targets.json", 1 << 20),
        ("2.root.json", 64 << 10),
    ] {
        let mut fixture = Fixture::new();
        let mut files = fixture.maker.release(ROOT);
        files.insert(file.to_owned(), vec![b' '; limit + 1]);
        let refused = fault(fixture.refresh(&files, None).await);
        let why = format!("has more than {limit} bytes");
        assert!(refused.contains(&why), "{file}: {refused}");
    }
    let mut fixture = Fixture::new();
    let files = fixture.maker.release(&" ".repeat((1 << 20) + 1));
    let refused = fault(fixture.refresh(&files, None).await);
    assert!(refused.contains("exceeds configured max"), "{refused}");
}

/// Only a root may be missing: the others would otherwise be as old as an attacker likes.
#[tokio::test]
async fn a_file_that_is_missing_is_an_error() {
    let (mut fixture, kept) = Fixture::refreshed().await;
    let files = fixture.maker.release(ROOT);
    for (name, content) in &files {
        if name == "1.root.json" {
            continue;
        }
        let mut fewer = files.clone();
        fewer.remove(name);
        let refused = fault(fixture.refresh(&fewer, Some(&kept)).await);
        assert!(refused.contains("cannot be read"), "{name}: {refused}");
        assert!(!content.is_empty());
    }
}

#[test]
fn a_pinned_root_is_a_root_with_different_keys() {
    let folder = tempfile::tempdir().unwrap();
    let good = Maker::generate();
    assert!(pinned(&folder, good.anchor()).is_ok());
    let other = sha256(b"another file");
    let error = Anchor::read(&folder.path().join("root.json"), &other, Reader::User).unwrap_err();
    let why = format!("and {other} is pinned");
    assert!(chain(&error).contains(&why), "{}", chain(&error));
    let error = pinned(&folder, b"{}").unwrap_err();
    assert!(
        chain(&error).contains("missing `signed`"),
        "{}",
        chain(&error)
    );
    let twice = Maker::with_one_key_twice();
    let error = pinned(&folder, twice.anchor()).unwrap_err();
    let why = "one key under two names for `root`";
    assert!(chain(&error).contains(why), "{}", chain(&error));
    let huge = Maker::with_version(u64::MAX);
    let error = pinned(&folder, huge.anchor()).unwrap_err();
    assert!(chain(&error).contains("too high"), "{}", chain(&error));
}
