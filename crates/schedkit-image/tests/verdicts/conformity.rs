//! Whether a signed image is the one that was asked for: its title, its version, its digests.

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use schedkit_image::registry::Platform;
use schedkit_image::signature::{
    AskedImage, Nonconformity, TitleCheck, Verified, VerifyError, verify,
};
use serde_json::{Value, json};

use crate::memory_registry::repository;
use crate::world::{World, digest};

fn title(title: &str) -> Value {
    json!({"org.opencontainers.image.title": title})
}

fn version(version: &str) -> Value {
    json!({"org.opencontainers.image.version": version})
}

#[track_caller]
fn nonconformity(result: Result<Verified, VerifyError>) -> Nonconformity {
    match result {
        Err(VerifyError::Nonconforming { why, .. }) => why,
        other => panic!("another image expected: {other:?}"),
    }
}

#[tokio::test]
async fn the_title_is_the_name_that_was_asked_for() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a]}\n";
    let policy = world.policy(rules);
    let asked = async |image: &PinnedRef, name: Option<&str>| {
        world.sign(image, &world.a);
        let asked = AskedImage::new(image).named(name);
        verify(&world.registry, &policy, asked, Timestamp::now()).await
    };
    let ours = world.image(&title("scx_test"));
    let name = "scx_test".to_owned();
    let matches = TitleCheck::Matches { name: name.clone() };
    assert_eq!(*asked(&ours, None).await.unwrap().title(), matches);
    assert_eq!(
        *asked(&ours, Some("scx_test")).await.unwrap().title(),
        matches
    );
    let other = nonconformity(asked(&ours, Some("scx_lavd")).await);
    assert!(matches!(other, Nonconformity::OtherTitle { .. }), "{other}");
    let other = nonconformity(asked(&world.image(&title("scx_lavd")), None).await);
    assert!(matches!(other, Nonconformity::OtherTitle { .. }), "{other}");
    let untitled = asked(&world.image(&json!({})), None).await.unwrap();
    assert_eq!(*untitled.title(), TitleCheck::NoTitle { name });
}

fn platform(architecture: &str) -> Platform {
    Platform {
        os: "linux".to_owned(),
        architecture: architecture.to_owned(),
        variant: None,
    }
}

/// Runtimes differ in which one they choose.
#[tokio::test]
async fn no_variant_for_the_machine_is_another_image() {
    let world = World::new();
    let (ours, other) = (title("scx_test"), title("scx_lavd"));
    let verdict = async |rules: &str, image: &PinnedRef, machine: &Platform| {
        world.sign(image, &world.a);
        let asked = AskedImage::new(image).on(machine);
        verify(
            &world.registry,
            &world.policy(rules),
            asked,
            Timestamp::now(),
        )
        .await
    };
    let rules = "- {scope: '*', signers: [a]}\n";
    let second = world.index(
        &[("arm64", ours.clone()), ("arm64/v8", other.clone())],
        &json!({}),
    );
    let further = world.index(&[("arm64", ours.clone()), ("arm64/v9", other)], &json!({}));
    for image in [second, further] {
        let why = nonconformity(verdict(rules, &image, &platform("arm64")).await);
        assert!(matches!(why, Nonconformity::OtherTitle { .. }), "{why}");
    }
    let rules = "- {scope: '*', signers: [a], title: any, minimumVersion: 1.2.0}\n";
    let old = [("arm64", version("1.2.0")), ("arm64/v8", version("1.1.0"))];
    let old = world.index(&old, &json!({}));
    let why = nonconformity(verdict(rules, &old, &platform("arm64")).await);
    assert!(matches!(why, Nonconformity::TooOld { .. }), "{why}");
}

#[tokio::test]
async fn no_place_has_another_title() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a]}\n";
    let policy = world.policy(rules);
    let (ours, other) = (title("scx_test"), title("scx_lavd"));
    let verdict = async |image: &PinnedRef, machine: Option<&Platform>| {
        world.sign(image, &world.a);
        let asked = AskedImage::new(image);
        let asked = machine.map_or(asked, |machine| asked.on(machine));
        verify(&world.registry, &policy, asked, Timestamp::now()).await
    };
    let of_index = world.index(&[("amd64", ours.clone())], &other);
    nonconformity(verdict(&of_index, None).await);
    let manifest = world.manifest(&ours, &other);
    let of_manifest = PinnedRef::new(repository(), digest(&manifest));
    nonconformity(verdict(&of_manifest, None).await);
    // The image for the other platform.
    let mixed = world.index(&[("amd64", ours.clone()), ("arm64", other)], &json!({}));
    nonconformity(verdict(&mixed, None).await);
    nonconformity(verdict(&mixed, Some(&platform("arm64"))).await);
    nonconformity(verdict(&mixed, Some(&platform("riscv64"))).await);
    assert!(verdict(&mixed, Some(&platform("amd64"))).await.is_ok());
}

#[tokio::test]
async fn the_version_is_the_minimum_at_least() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a], title: any, minimumVersion: 1.2.0}\n";
    let verdict = async |image: &PinnedRef| {
        world.sign(image, &world.a);
        world.verify(rules, image).await
    };
    let accepted = verdict(&world.image(&version("v1.10.0"))).await.unwrap();
    assert_eq!(accepted.version(), Some("1.10.0"));
    let old = world.index(
        &[("amd64", version("1.2.0")), ("arm64", version("1.1.0"))],
        &json!({}),
    );
    let none = world.index(
        &[("amd64", version("1.2.0")), ("arm64", json!({}))],
        &json!({}),
    );
    for image in [
        world.image(&version("1.1.9")),
        world.image(&version("1.2.0-rc.1")),
        old,
        none,
    ] {
        let why = nonconformity(verdict(&image).await);
        assert!(matches!(why, Nonconformity::TooOld { .. }), "{why}");
    }
}

#[tokio::test]
async fn an_image_of_a_platform_can_be_denied() {
    let world = World::new();
    let image = world.index(&[("amd64", json!({}))], &json!({}));
    world.sign(&image, &world.a);
    let manifest = world.manifest(&json!({}), &json!({}));
    let denied = digest(&manifest);
    let rules =
        format!("- {{scope: '*', signers: [a], title: any, deniedDigests: ['{denied}']}}\n");
    let why = nonconformity(world.verify(&rules, &image).await);
    assert_eq!(why, Nonconformity::Denied(denied.clone()));
    // Also for another machine than this one.
    let mixed = [("amd64", json!({})), ("arm64", title("scx_test"))];
    let mixed = world.index(&mixed, &json!({}));
    world.sign(&mixed, &world.a);
    let arm = platform("arm64");
    let asked = AskedImage::new(&mixed).on(&arm);
    let policy = world.policy(&rules);
    let outcome = verify(&world.registry, &policy, asked, Timestamp::now()).await;
    assert_eq!(nonconformity(outcome), Nonconformity::Denied(denied));
}

#[tokio::test]
async fn labels_that_cannot_be_fetched_are_no_verdict() {
    let world = World::new();
    let image = world.registry.image("no such content");
    world.sign(&image, &world.a);
    let rules = "- {scope: '*', signers: [a]}\n";
    let error = world.verify(rules, &image).await.unwrap_err();
    assert!(!error.is_refusal(), "{error:?}");
    assert!(matches!(error, VerifyError::NotCompared { .. }));
    // Nothing of the image is read if nothing about it is asked.
    let any = "- {scope: '*', signers: [a], title: any}\n";
    assert!(world.verify(any, &image).await.is_ok());
}

#[tokio::test]
async fn content_that_cannot_be_read_is_refused() {
    let world = World::new();
    let rules = "- {scope: '*', signers: [a]}\n";
    let nested = {
        let inner = world
            .registry
            .put(br#"{"schemaVersion": 2, "manifests": []}"#);
        json!({"schemaVersion": 2, "manifests": [inner]}).to_string()
    };
    let empty = json!({"schemaVersion": 2, "manifests": []}).to_string();
    for content in ["[]", "{}", &nested, &empty] {
        let content = world.registry.put(content.as_bytes());
        let image = PinnedRef::new(repository(), digest(&content));
        world.sign(&image, &world.a);
        let why = nonconformity(world.verify(rules, &image).await);
        assert!(matches!(why, Nonconformity::Unreadable(_)), "{why}");
    }
}
