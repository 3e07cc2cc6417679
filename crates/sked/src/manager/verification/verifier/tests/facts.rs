//! What the verifier learns of the images that it accepts.

use super::*;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// An image with this configuration.
fn push(world: &World, tag: &str, config: &Value) -> String {
    let config = config.to_string();
    let path = format!("/v2/x/blobs/{}", digest(config.as_bytes()));
    world.content.put(path, CONFIG, config.as_bytes());
    world.push(tag, &config)
}

fn push_index(world: &World, tag: &str, images: &[(&str, &str)]) -> String {
    let images = images.iter().map(|(architecture, pinned)| {
        let (_, digest) = pinned.split_once('@').unwrap();
        json!({"mediaType": MANIFEST, "digest": digest, "size": 1,
            "platform": {"os": "linux", "architecture": architecture}})
    });
    let manifests: Vec<Value> = images.collect();
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
    let bytes = index.to_string().into_bytes();
    let digest = digest(&bytes);
    for version in [tag, &digest] {
        let path = format!("/v2/x/manifests/{version}");
        world.content.put(path, INDEX, &bytes);
    }
    format!("{}/x@{digest}", world.host)
}

fn config(architecture: &str, config: &Value) -> Value {
    json!({"os": "linux", "architecture": architecture, "config": config})
}

fn facts(min_kernel: Option<&str>, architectures: &[&str], has_entrypoint: bool) -> ImageFacts {
    ImageFacts {
        min_kernel: min_kernel.map(|text| text.parse().unwrap()),
        architectures: architectures.iter().map(|one| (*one).to_owned()).collect(),
        has_entrypoint,
    }
}

#[tokio::test]
async fn of_an_index_all_platforms_are_known_with_the_verdict() {
    let world = World::new().await;
    let runs = json!({"Entrypoint": ["/x"], "Labels":
        {"org.schedkit.scheduler.kernel.min-version": "6.14"}});
    let amd64 = push(&world, "amd64", &config("amd64", &runs));
    let arm64 = push(&world, "arm64", &config("arm64", &runs));
    let index = push_index(&world, "1", &[("amd64", &amd64), ("arm64", &arm64)]);
    world.sign(&index, &world.key);
    let (verifier, _stopper) = world.verifier();
    let accepted = verdict(&verifier, &world.asks("1")).await;
    assert!(matches!(accepted, Verdict::Accepted { .. }), "{accepted:?}");
    assert_eq!(
        verifier.facts(&index).as_deref(),
        Some(&facts(Some("6.14"), &["amd64", "arm64"], true))
    );
    assert_eq!(verifier.facts(&amd64), None, "it was not verified itself");
}

#[tokio::test]
async fn an_image_without_an_entrypoint_is_accepted_and_its_one_platform_is_known() {
    let world = World::new().await;
    let image = push(&world, "1", &config("s390x", &json!({"Entrypoint": null})));
    world.sign(&image, &world.key);
    let (verifier, _stopper) = world.verifier();
    let accepted = verdict(&verifier, &world.asks("1")).await;
    assert!(matches!(accepted, Verdict::Accepted { .. }), "{accepted:?}");
    assert_eq!(
        verifier.facts(&image).as_deref(),
        Some(&facts(None, &["s390x"], false))
    );
}

#[tokio::test]
async fn an_image_that_cannot_be_described_is_accepted_and_one_that_is_refused_is_not_read() {
    let world = World::new().await;
    let no_config = world.push("1", "one");
    world.sign(&no_config, &world.key);
    let unsigned = push(&world, "2", &config("amd64", &json!({})));
    let (verifier, _stopper) = world.verifier();
    let accepted = verdict(&verifier, &world.asks("1")).await;
    assert!(matches!(accepted, Verdict::Accepted { .. }), "{accepted:?}");
    let refused = verdict(&verifier, &world.asks("2")).await;
    assert!(matches!(refused, Verdict::Unsigned(_)), "{refused:?}");
    assert_eq!(
        (verifier.facts(&no_config), verifier.facts(&unsigned)),
        (None, None)
    );
}
