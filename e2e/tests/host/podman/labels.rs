//! Labels of an image, which Podman gives to its containers: none shows through, and none makes a
//! container schedctl's.

use std::process::Command;
use std::time::Duration;

use schedkit_image::signature::Trusted;
use schedkit_runtime::{After, Container, ContainerId, Driver, Ownership, Record, Trust};
use serde_json::{Value, json};

use testkit::podman::{PodmanService, podman_service};

const GRACE: Duration = Duration::from_secs(60);
/// The name that the hostile image says its container has.
const WANTED: &str = "schedkit-scx_test-00000001";

/// An image with all labels of schedctl's, as if somebody had signed it.
async fn hostile(service: &PodmanService, repository: &str) -> Trusted {
    let labels = json!({
        "provider": "schedkit",
        "io.schedkit.container": WANTED,
        "io.schedkit.image-hash": "0".repeat(64),
        "io.schedkit.scheduler": "scx_evil\u{9b}2J\r",
        "io.schedkit.reference": "a.example/scx_evil:1",
        "io.schedkit.image": format!("a.example/scx_evil@sha256:{}", "0".repeat(64)),
        "io.schedkit.args": "[\"--evil\"]",
        "io.schedkit.signer": "somebody trusted",
        "io.schedkit.policy": "0".repeat(64),
        "io.schedkit.waiver": "",
        "io.schedkit.later": "a label of a later schedctl",
    });
    let config = json!({"Entrypoint": ["/program"], "Cmd": ["wait"], "Labels": labels});
    let trusted = service.push(repository, "1", &service.image("amd64", &config));
    service.podman().pull(&trusted, &mut |_| {}).await.unwrap();
    trusted
}

/// Podman's own client.
fn podman(service: &PodmanService, args: &[&str]) -> String {
    let mut command = Command::new("podman");
    command.arg("--url");
    command.arg(format!("unix://{}", service.socket().display()));
    let output = command.args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "podman {args:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn listed(service: &PodmanService, id: &str) -> Option<Container> {
    let all = service.podman().list().await.unwrap();
    all.into_iter().find(|one| one.id.as_str() == id)
}

#[tokio::test]
async fn no_label_of_an_image_shows_on_a_container_of_ours() {
    let service = podman_service();
    let trusted = hostile(service, "hostile").await;
    let launch = service.launch(&trusted, &["wait"]);
    let id = service.podman().create(&launch).await.unwrap();
    let container = listed(service, id.as_str()).await.unwrap();
    assert_eq!(container.ownership, Ownership::Ours);
    let expected = Record {
        scheduler: Some("scx_test".to_owned()),
        requested: Some(launch.requested().to_string()),
        image: Some(trusted.image().to_string()),
        args: vec!["wait".to_owned()],
        trust: Some(Trust::Waived("a test".to_owned())),
    };
    assert_eq!(container.record, expected);
    let labels = podman(
        service,
        &[
            "inspect",
            "--format",
            "{{json .Config.Labels}}",
            id.as_str(),
        ],
    );
    let labels: Value = serde_json::from_str(&labels).unwrap();
    for key in ["signer", "policy", "later"] {
        assert_eq!(labels[format!("io.schedkit.{key}")], "", "{labels:#}");
    }
    service
        .podman()
        .end(&id, GRACE, After::Remove)
        .await
        .unwrap();
}

#[tokio::test]
async fn labels_of_an_image_make_no_container_ours() {
    let service = podman_service();
    let trusted = hostile(service, "scx_evil").await;
    let image = trusted.image().to_string();
    for (name, ownership) in [
        ("clever_name", None),
        // As the older schedctl names its containers.
        ("scx_evil", Some(Ownership::Unproven)),
        (WANTED, Some(Ownership::Unproven)),
    ] {
        let run = ["run", "--detach", "--privileged", "--network", "none"];
        let id = podman(service, &[&run[..], &["--name", name, &image]].concat());
        let found = listed(service, &id).await;
        assert_eq!(found.as_ref().map(|one| one.ownership), ownership, "{name}");
        if let Some(found) = &found {
            assert_eq!(found.record, Record::default(), "{name}");
            assert!(found.pid().is_some(), "{found:?}");
        }
        // `stop` can end it.
        let id = ContainerId::new(id);
        let driver = service.podman();
        driver.end(&id, GRACE, After::Remove).await.unwrap();
        let left = podman(
            service,
            &["ps", "--all", "--quiet", "--filter", "name=scx_evil"],
        );
        assert_eq!(left, "");
    }
}

/// It is still stopped by its id, but nothing takes it for certain any more.
#[tokio::test]
async fn a_renamed_container_of_ours_stays_listed() {
    let service = podman_service();
    let launch = service.launch(&service.default_image().await, &[]);
    let id = service.podman().create(&launch).await.unwrap();
    podman(service, &["rename", id.as_str(), "renamed"]);
    let renamed = listed(service, id.as_str()).await.unwrap();
    assert_eq!(renamed.ownership, Ownership::Unproven);
    let driver = service.podman();
    driver.end(&id, GRACE, After::Remove).await.unwrap();
    assert_eq!(listed(service, id.as_str()).await, None);
}
