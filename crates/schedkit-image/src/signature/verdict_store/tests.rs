//! What is kept, what is found again, and what is not.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::super::conformity::Conformity;
use super::super::found::{SignatureId, SignatureSource};
use super::super::verdict::AcceptedSignature;
use super::super::verdict::{Accepted, Evidence, Format, Signer};
use super::*;
use crate::trust::{PolicyFile, Rule};
use crate::untrusted::Reader;

const OTHER_POLICY: &str = "identities:\n  - issuer: https://a.example\n    subject: b\n";

fn digest(number: usize) -> Digest {
    format!("sha256:{number:064x}").parse().unwrap()
}

fn reference(text: &str) -> ImageRef {
    text.parse().unwrap()
}

fn verified(number: usize, policy: &Policy) -> Verified {
    titled(number, policy, TitleCheck::NotChecked)
}

fn titled(number: usize, policy: &Policy, title: TitleCheck) -> Verified {
    let repository = reference("a.example/team/one").repository().clone();
    let id = SignatureId {
        source: SignatureSource::Referrer,
        digest: digest(0),
    };
    let accepted = Accepted {
        signer: Signer::Identity {
            subject: "me".to_owned(),
            issuer: "it".to_owned(),
        },
        rule: Rule::Identity(0),
        evidence: Evidence {
            format: Format::Bundle,
            log: None,
            integrated_time: None,
            timestamps: Vec::new(),
        },
    };
    let rule = policy.rule_for(&repository).unwrap();
    let image = PinnedRef::new(repository, digest(number));
    let signature = AcceptedSignature {
        id,
        accepted,
        counts_for: vec![0],
    };
    let version = None;
    let conformity = Conformity { title, version };
    Verified::new(
        image,
        (vec![signature], Vec::new()),
        conformity,
        (policy, rule),
    )
    .unwrap()
}

fn store(folder: &tempfile::TempDir) -> VerdictStore {
    VerdictStore::at(folder.path().join("verdicts"), owner(folder))
}

fn owner(folder: &tempfile::TempDir) -> u32 {
    fs::metadata(folder.path()).unwrap().uid()
}

fn at(seconds: usize) -> Timestamp {
    Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap()
}

#[test]
fn a_verdict_is_found_by_reference_or_digest_and_only_under_its_policy() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let policy = Policy::built_in().unwrap();
    let other = PolicyFile::parse(OTHER_POLICY).unwrap();
    let other = other.load(Path::new(""), Reader::User).unwrap();
    let tag = reference("a.example/team/one:1.0");
    assert_eq!(store.find(&tag, &policy).unwrap(), None);
    store
        .keep(&tag, &verified(1, &policy), &policy, at(10))
        .unwrap();
    store
        .keep(&tag, &verified(2, &policy), &policy, at(20))
        .unwrap();
    let found = |image: &str| store.find(&reference(image), &policy).unwrap();
    let newest = found("a.example/team/one:1.0").unwrap();
    assert_eq!(newest.image().digest(), &digest(2));
    assert_eq!(newest.signer(), "me (it)");
    let older = found(&format!("a.example/team/one@{}", digest(1))).unwrap();
    assert_eq!(older.verified_at(), at(10));
    for unknown in [
        "a.example/team/one:1.1".to_owned(),
        format!("a.example/team/two@{}", digest(1)),
        format!("a.example/team/one@{}", digest(3)),
    ] {
        assert_eq!(found(&unknown), None, "{unknown}");
    }
    assert_eq!(store.find(&tag, &other).unwrap(), None);
    store.forget(newest.image(), &policy).unwrap();
    let left = found("a.example/team/one:1.0").unwrap();
    assert_eq!(left.image().digest(), &digest(1));
}

/// Otherwise a catalog could have an image start under the name of another one.
#[test]
fn a_verdict_is_for_the_name_that_the_title_was_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let policy = Policy::built_in().unwrap();
    let tag = reference("a.example/team/one:1.0");
    let name = "scx_test".to_owned();
    let compared = titled(1, &policy, TitleCheck::Matches { name });
    store.keep(&tag, &compared, &policy, at(10)).unwrap();
    let found = |name: &str| store.find_as(&tag, &policy, Some(name)).unwrap();
    assert!(found("scx_test").is_some());
    assert_eq!(found("scx_lavd"), None);
    let two = reference("a.example/team/one:2.0");
    let not_compared = verified(2, &policy);
    store.keep(&two, &not_compared, &policy, at(10)).unwrap();
    assert_eq!(store.find_as(&two, &policy, Some("one")).unwrap(), None);
    assert!(store.find(&two, &policy).unwrap().is_some());
}

/// What an older program kept starts at boot as it did.
#[test]
fn a_verdict_without_a_title_is_of_an_older_program() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let policy = Policy::built_in().unwrap();
    let tag = reference("a.example/team/one:1.0");
    let kept = verified(1, &policy);
    store.keep(&tag, &kept, &policy, at(10)).unwrap();
    let file = fs::read_dir(store.folder.path()).unwrap().next().unwrap();
    let file = file.unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    let older = text.replace(r#","title":"not-compared""#, "");
    assert_ne!(text, older);
    fs::write(&file, older).unwrap();
    assert!(store.find_as(&tag, &policy, Some("one")).unwrap().is_some());
}

#[test]
fn a_folder_or_file_that_others_can_write_to_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let policy = Policy::built_in().unwrap();
    let tag = reference("a.example/team/one:1.0");
    store
        .keep(&tag, &verified(1, &policy), &policy, at(10))
        .unwrap();
    let file = fs::read_dir(store.folder.path()).unwrap().next().unwrap();
    let file = file.unwrap().path();
    let mode = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode));
    mode(&file, 0o666).unwrap();
    assert_eq!(store.find(&tag, &policy).unwrap(), None);
    mode(&file, 0o600).unwrap();
    assert!(store.find(&tag, &policy).unwrap().is_some());
    mode(store.folder.path(), 0o777).unwrap();
    let untrusted = |result| matches!(result, Err(VerdictStoreError::Untrusted(_)));
    assert!(untrusted(store.find(&tag, &policy).map(drop)));
    assert!(untrusted(store.keep(
        &tag,
        &verified(1, &policy),
        &policy,
        at(10)
    )));
    let stranger = VerdictStore::at(store.folder.path(), owner(&folder) + 1);
    mode(store.folder.path(), 0o700).unwrap();
    assert!(untrusted(stranger.find(&tag, &policy).map(drop)));
}

#[test]
fn invalid_files_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let policy = Policy::built_in().unwrap();
    let tag = reference("a.example/team/one:1.0");
    store
        .keep(&tag, &verified(1, &policy), &policy, at(10))
        .unwrap();
    fs::create_dir(store.folder.path().join("folder.json")).unwrap();
    let huge = "x".repeat(100_000);
    for (name, text) in [
        ("a.json", "{"),
        ("b.json", "{}"),
        ("c.json", &huge),
        ("d", ""),
    ] {
        fs::write(store.folder.path().join(name), text).unwrap();
    }
    assert!(store.find(&tag, &policy).unwrap().is_some());
}

#[test]
fn the_number_of_verdicts_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let policy = Policy::built_in().unwrap();
    for number in 0..MAX_VERDICTS + 3 {
        let tag = reference(&format!("a.example/team/one:{number}"));
        let verified = verified(number, &policy);
        store.keep(&tag, &verified, &policy, at(number)).unwrap();
    }
    let count = fs::read_dir(store.folder.path()).unwrap().count();
    assert_eq!(count, MAX_VERDICTS);
    let newest = reference(&format!("a.example/team/one:{}", MAX_VERDICTS + 2));
    assert!(store.find(&newest, &policy).unwrap().is_some());
}

#[test]
fn what_starts_at_boot_makes_no_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).sparing(vec![digest(1), digest(2)]);
    let policy = Policy::built_in().unwrap();
    for number in 0..MAX_VERDICTS + 9 {
        let tag = reference(&format!("a.example/team/one:{number}"));
        let verified = verified(number, &policy);
        store.keep(&tag, &verified, &policy, at(number)).unwrap();
    }
    let found = |number: usize| {
        let tag = reference(&format!("a.example/team/one:{number}"));
        store.find(&tag, &policy).unwrap().is_some()
    };
    assert!(found(1) && found(2));
    assert!(!found(0) && !found(3));
    let count = fs::read_dir(store.folder.path()).unwrap().count();
    assert_eq!(count, MAX_VERDICTS);
}

/// The clock was ahead when the first one was kept.
#[test]
fn a_clock_that_was_set_back_does_not_hide_what_was_kept_since() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let policy = Policy::built_in().unwrap();
    let tag = reference("a.example/team/one:1.0");
    for (number, second) in [(1, 1_000_000), (2, 20)] {
        let verified = verified(number, &policy);
        store.keep(&tag, &verified, &policy, at(second)).unwrap();
    }
    let newest = store.find(&tag, &policy).unwrap().unwrap();
    assert_eq!(newest.image().digest(), &digest(2));
    // By its digest the first one is found as well.
    let first = reference(&format!("a.example/team/one@{}", digest(1)));
    let first = store.find(&first, &policy).unwrap().unwrap();
    assert_eq!(first.verified_at(), at(19));
}
