//! From a verified digest to the same bytes in the store.

use lab::oci::Index;
use schedkit_runtime::{Driver, DriverError, PullProgress, Pulled, Until, podman};
use serde_json::json;

use crate::ground::ground;

#[tokio::test]
async fn podman_is_known_by_its_version() {
    let patience = std::time::Duration::from_secs(60);
    let version = podman::ping(&ground().socket(), patience).await.unwrap();
    assert!(version.0.starts_with(|first: char| first.is_ascii_digit()));
}

#[tokio::test]
async fn an_image_is_fetched_once() {
    let ground = ground();
    let config = json!({"Entrypoint": ["/program"], "Labels": {"mark": "fetched once"}});
    let trusted = ground.push("once", "1", &ground.image("amd64", &config));
    let mut notes = Vec::new();
    let podman = ground.podman();
    let mut take = |progress| notes.push(progress);
    let pulled = podman.pull(&trusted, &mut take).await.unwrap();
    assert_eq!(pulled, Pulled::Fetched);
    let first = format!("Trying to pull {}...", trusted.image());
    assert_eq!(notes[0], PullProgress::Note(first));
    let again = podman.pull(&trusted, &mut |_| {}).await.unwrap();
    assert_eq!(again, Pulled::Cached);
}

#[tokio::test]
async fn the_digest_of_an_index_is_as_good() {
    let ground = ground();
    let config = |mark: &str| json!({"Entrypoint": ["/program", mark]});
    let images = ["arm64", "amd64"].map(|one| ground.image(one, &config(one)));
    let index = Index::new(images.into()).unwrap();
    ground.registry().push_index("multi", "1", &index).unwrap();
    let trusted = ground.trust("multi", &index.manifest.digest);
    let podman = ground.podman();
    for expected in [Pulled::Fetched, Pulled::Cached] {
        let pulled = podman.pull(&trusted, &mut |_| {}).await.unwrap();
        assert_eq!(pulled, expected);
    }
    let id = ground.started_of(&trusted, &[]).await;
    ground.until_heard(&id, "<amd64>").await;
}

#[tokio::test]
async fn a_digest_that_the_registry_does_not_have_is_not_replaced_by_a_tag() {
    let ground = ground();
    ground.usual().await;
    let absent = ground.trust("usual", &format!("sha256:{:064}", 5));
    let pulled = ground.podman().pull(&absent, &mut |_| {}).await;
    let Err(DriverError::Refused { message: said, .. }) = pulled else {
        panic!("{pulled:?}");
    };
    assert!(said.contains("manifest unknown"), "{said}");
    let made = ground.podman().create(&ground.launch(&absent, &[])).await;
    assert!(matches!(made, Err(DriverError::Refused { .. })), "{made:?}");
}

#[tokio::test]
async fn a_tag_that_moved_after_the_look_moves_nothing() {
    let ground = ground();
    let image = |mark: &str| {
        let config = json!({"Entrypoint": ["/program"], "Cmd": [mark]});
        ground.image("amd64", &config)
    };
    let looked_at = ground.push("moving", "1", &image("looked at"));
    let moved = ground.push("moving", "1", &image("moved"));
    let podman = ground.podman();
    // The other one is in the store as well, and under the tag.
    podman.pull(&moved, &mut |_| {}).await.unwrap();
    podman.pull(&looked_at, &mut |_| {}).await.unwrap();
    let id = ground.started_of(&looked_at, &[]).await;
    let heard = ground.until_heard(&id, ">\n<").await;
    assert_eq!(heard.out, "</program>\n<looked at>\n");
}

#[tokio::test]
async fn an_image_for_other_machines_is_refused_and_not_kept() {
    let ground = ground();
    let config = json!({"Entrypoint": ["/program"]});
    let trusted = ground.push("other", "1", &ground.image("arm64", &config));
    for _ in 0..2 {
        let mut fetched = false;
        let mut take = |_| fetched = true;
        let pulled = ground.podman().pull(&trusted, &mut take).await;
        let expected = format!(
            "{} was made for linux/arm64, and this machine is linux/amd64",
            trusted.image()
        );
        assert_eq!(pulled.unwrap_err().to_string(), expected);
        assert!(fetched, "it was kept");
    }
    let index = Index::new(vec![ground.image("arm64", &config)]).unwrap();
    ground.registry().push_index("others", "1", &index).unwrap();
    let trusted = ground.trust("others", &index.manifest.digest);
    let pulled = ground.podman().pull(&trusted, &mut |_| {}).await;
    assert!(
        matches!(pulled, Err(DriverError::Architecture { .. })),
        "{pulled:?}"
    );
}

#[tokio::test]
async fn an_image_that_runs_nothing_makes_no_container() {
    let ground = ground();
    let trusted = ground.push("nothing", "1", &ground.image("amd64", &json!({})));
    let podman = ground.podman();
    podman.pull(&trusted, &mut |_| {}).await.unwrap();
    let made = podman.create(&ground.launch(&trusted, &["x"])).await;
    let expected = format!("{} has no entrypoint", trusted.image());
    assert_eq!(made.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn a_command_stands_for_an_entrypoint() {
    let ground = ground();
    let config = json!({"Cmd": ["/program", "first"]});
    let trusted = ground.push("command", "1", &ground.image("amd64", &config));
    ground.podman().pull(&trusted, &mut |_| {}).await.unwrap();
    let id = ground
        .podman()
        .create(&ground.launch(&trusted, &["second"]))
        .await
        .unwrap();
    // Nothing was said and nothing ended before the first start.
    let heard = ground.hear(&id, Until::Exit).await;
    assert_eq!((heard.out.as_str(), heard.exit), ("", None));
    ground.podman().start(&id).await.unwrap();
    ground
        .until_heard(&id, "</program>\n<first>\n<second>\n")
        .await;
}
