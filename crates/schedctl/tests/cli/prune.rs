//! `prune` with a fake Podman.

use std::fs;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::Fixture;
use crate::fake_podman::FakePodman;

const PRUNE: &str = "prune --force --driver podman --socket podman.sock";

fn digest(number: u64) -> String {
    format!("{number:064}")
}

/// An image that schedctl pulled and nothing uses.
fn image(fixture: &Fixture, number: u64) -> Value {
    let record = fixture.path("cache/pulled");
    fs::create_dir_all(&record).unwrap();
    fs::write(record.join(digest(number)), "").unwrap();
    let name = format!("a.example/s{number}@sha256:{}", digest(number));
    json!({"Id": format!("id{number}"), "RepoDigests": [name], "Size": 10, "Containers": 0})
}

/// Podman with three images, which does not remove those whose id is named.
fn podman(fixture: &Fixture, busy: &'static [&'static str]) -> FakePodman {
    let images = [1, 2, 3].map(|number| image(fixture, number));
    let images = Value::from(images.to_vec()).to_string();
    FakePodman::listen(&fixture.path("podman.sock"), move |line| {
        if !line.starts_with("DELETE") {
            return (200, images.clone());
        }
        match busy.iter().any(|id| line.contains(id)) {
            true => (409, r#"{"message":"image is in use"}"#.to_owned()),
            false => (200, "{}".to_owned()),
        }
    })
}

#[test]
fn an_image_that_cannot_be_removed_does_not_keep_the_others() {
    let fixture = Fixture::new();
    let podman = podman(&fixture, &["id1", "id3"]);
    let output = fixture.run(&format!("{PRUNE} -o json"));
    assert_eq!(output.code, 1, "{}", output.err);
    let removals = podman.requests();
    let removals = removals.iter().filter(|line| line.starts_with("DELETE"));
    assert_eq!(removals.count(), 3);
    let document = output.json();
    schedctl_schemas::check("error", &document);
    assert_eq!(
        document["images"].as_array().unwrap().len(),
        1,
        "{document:#}"
    );
    assert_eq!(document["images"][0]["id"], "id2");
    assert_eq!(document["freed_bytes"], 10);
    let message = document["error"]["message"].as_str().unwrap();
    for part in [
        "2 images",
        "a.example/s1",
        "a.example/s3",
        "image is in use",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let left = |number| fixture.path("cache/pulled").join(digest(number)).exists();
    assert_eq!([left(1), left(2), left(3)], [true, false, true]);
}

#[test]
fn what_was_removed_is_told_although_something_failed() {
    let fixture = Fixture::new();
    let _podman = podman(&fixture, &["id2"]);
    let output = fixture.run(PRUNE);
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(
        output.out.contains("Removed a.example/s1"),
        "{}",
        output.out
    );
    assert!(
        output.out.contains("Removed a.example/s3"),
        "{}",
        output.out
    );
    assert!(!output.out.contains("a.example/s2"), "{}", output.out);
    assert!(output.err.contains("a.example/s2"), "{}", output.err);
}

/// `run` and `enable` pull first and use the image a moment later.
#[test]
fn an_image_that_another_schedctl_is_about_to_use_stays() {
    let fixture = Fixture::new();
    let podman = podman(&fixture, &[]);
    let wanted = fixture.path("cache/wanted");
    fs::create_dir_all(&wanted).unwrap();
    let claim = fs::File::create(wanted.join(digest(2))).unwrap();
    flock(&claim, FlockOperation::LockShared).unwrap();
    let output = fixture.run(&format!("{PRUNE} -o json"));
    assert_eq!(output.code, 0, "{}", output.err);
    let document = output.json();
    schedctl_schemas::check("prune", &document);
    assert_eq!(
        document["images"].as_array().unwrap().len(),
        2,
        "{document:#}"
    );
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("a.example/s2"), "{warnings}");
    assert!(!podman.requests().iter().any(|line| line.contains("id2")));
    drop(claim);
    let output = fixture.run(PRUNE);
    assert!(
        output.out.contains("Removed a.example/s2"),
        "{}",
        output.out
    );
}
