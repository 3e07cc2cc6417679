//! From a verified digest to the same bytes in the store.

use lab::oci::Index;
use schedkit_runtime::{
    After, Driver, DriverError, ImageOwner, ImageStore, PullProgress, Pulled, Until, podman,
};
use serde_json::json;

use testkit::podman::podman_service;

#[tokio::test]
async fn podman_is_known_by_its_version() {
    let patience = std::time::Duration::from_secs(60);
    let version = podman::ping(&podman_service().socket(), patience)
        .await
        .unwrap();
    assert!(version.0.starts_with(|first: char| first.is_ascii_digit()));
}

#[tokio::test]
async fn an_image_is_fetched_once() {
    let service = podman_service();
    let config = json!({"Entrypoint": ["/program"], "Labels": {"mark": "fetched once"}});
    let trusted = service.push("once", "1", &service.image("amd64", &config));
    let mut notes = Vec::new();
    let podman = service.podman();
    let mut take = |progress| notes.push(progress);
    let pulled = podman.pull(&trusted, &mut take).await.unwrap();
    assert_eq!(pulled, Pulled::Fetched);
    let first = format!("Trying to pull {}...", trusted.image());
    assert_eq!(notes[0], PullProgress::Note(first));
    let again = podman.pull(&trusted, &mut |_| {}).await.unwrap();
    assert_eq!(again, Pulled::Cached);
}

#[tokio::test]
async fn an_index_is_pulled_by_its_digest() {
    let service = podman_service();
    let config = |mark: &str| json!({"Entrypoint": ["/program", mark]});
    let images = ["arm64", "amd64"].map(|one| service.image(one, &config(one)));
    let index = Index::new(images.into()).unwrap();
    service.registry().push_index("multi", "1", &index).unwrap();
    let trusted = service.trust("multi", &index.manifest.digest);
    let podman = service.podman();
    for expected in [Pulled::Fetched, Pulled::Cached] {
        let pulled = podman.pull(&trusted, &mut |_| {}).await.unwrap();
        assert_eq!(pulled, expected);
    }
    let id = service.started_of(&trusted, &[]).await;
    service.until_output(&id, "<amd64>").await;
}

#[tokio::test]
async fn a_digest_that_the_registry_does_not_have_is_not_replaced_by_a_tag() {
    let service = podman_service();
    service.default_image().await;
    let absent = service.trust("default", &format!("sha256:{:064}", 5));
    let pulled = service.podman().pull(&absent, &mut |_| {}).await;
    let Err(DriverError::Refused { message: said, .. }) = pulled else {
        panic!("{pulled:?}");
    };
    assert!(said.contains("manifest unknown"), "{said}");
    let made = service.podman().create(&service.launch(&absent, &[])).await;
    assert!(matches!(made, Err(DriverError::Refused { .. })), "{made:?}");
}

#[tokio::test]
async fn a_tag_that_moved_after_verification_changes_nothing() {
    let service = podman_service();
    let image = |mark: &str| {
        let config = json!({"Entrypoint": ["/program"], "Cmd": [mark]});
        service.image("amd64", &config)
    };
    let looked_at = service.push("moving", "1", &image("looked at"));
    let moved = service.push("moving", "1", &image("moved"));
    let podman = service.podman();
    // The other one is in the store as well, and under the tag.
    podman.pull(&moved, &mut |_| {}).await.unwrap();
    podman.pull(&looked_at, &mut |_| {}).await.unwrap();
    let id = service.started_of(&looked_at, &[]).await;
    let output = service.until_output(&id, ">\n<").await;
    assert_eq!(output.out, "</program>\n<looked at>\n");
}

#[tokio::test]
async fn an_image_for_another_processor_is_refused_and_not_kept() {
    let service = podman_service();
    let config = json!({"Entrypoint": ["/program"]});
    let trusted = service.push("other", "1", &service.image("arm64", &config));
    for _ in 0..2 {
        let mut fetched = false;
        let mut take = |_| fetched = true;
        let pulled = service.podman().pull(&trusted, &mut take).await;
        let expected = format!(
            "{} was made for linux/arm64, and this machine is linux/amd64",
            trusted.image()
        );
        assert_eq!(pulled.unwrap_err().to_string(), expected);
        assert!(fetched, "it was kept");
    }
    let index = Index::new(vec![service.image("arm64", &config)]).unwrap();
    service
        .registry()
        .push_index("others", "1", &index)
        .unwrap();
    let trusted = service.trust("others", &index.manifest.digest);
    let pulled = service.podman().pull(&trusted, &mut |_| {}).await;
    assert!(
        matches!(pulled, Err(DriverError::Architecture { .. })),
        "{pulled:?}"
    );
}

#[tokio::test]
async fn an_image_without_an_entrypoint_makes_no_container() {
    let service = podman_service();
    let trusted = service.push("nothing", "1", &service.image("amd64", &json!({})));
    let podman = service.podman();
    podman.pull(&trusted, &mut |_| {}).await.unwrap();
    let made = podman.create(&service.launch(&trusted, &["x"])).await;
    let expected = format!("{} has no entrypoint", trusted.image());
    assert_eq!(made.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn a_command_stands_for_an_entrypoint() {
    let service = podman_service();
    let config = json!({"Cmd": ["/program", "first"]});
    let trusted = service.push("command", "1", &service.image("amd64", &config));
    service.podman().pull(&trusted, &mut |_| {}).await.unwrap();
    let id = service
        .podman()
        .create(&service.launch(&trusted, &["second"]))
        .await
        .unwrap();
    // Nothing was said and nothing ended before the first start.
    let output = service.output(&id, Until::Exit).await;
    assert_eq!((output.out.as_str(), output.exit), ("", None));
    service.podman().start(&id).await.unwrap();
    service
        .until_output(&id, "</program>\n<first>\n<second>\n")
        .await;
}

#[tokio::test]
async fn an_image_is_listed_and_removed_when_no_container_uses_it() {
    let service = podman_service();
    let podman = service.podman();
    let config = json!({"Entrypoint": ["/program"], "Labels": {"mark": "removed"}});
    let trusted = service.push("removed", "1", &service.image("amd64", &config));
    podman.pull(&trusted, &mut |_| {}).await.unwrap();
    let digest = trusted.image().digest().to_string();
    let find = async || {
        let images = podman.images().await.unwrap();
        images
            .into_iter()
            .find(|image| image.digests.contains(&digest))
    };
    let image = find().await.unwrap();
    assert_eq!(image.owner, ImageOwner::Unknown, "{image:?}");
    assert_eq!(image.names, [trusted.image().to_string()]);
    assert!(
        image.size.unwrap() > 0 && image.containers == 0,
        "{image:?}"
    );
    let id = podman.create(&service.launch(&trusted, &[])).await.unwrap();
    assert_eq!(find().await.unwrap().containers, 1);
    let refused = podman.remove(&image).await;
    assert!(
        matches!(refused, Err(DriverError::Refused { .. })),
        "{refused:?}"
    );
    let grace = std::time::Duration::ZERO;
    podman.end(&id, grace, After::Remove).await.unwrap();
    podman.remove(&image).await.unwrap();
    assert_eq!(find().await, None);
    // Somebody else may have removed it.
    podman.remove(&image).await.unwrap();
}
