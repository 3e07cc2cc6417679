//! Pulls: what Podman is asked for, where it looks, and why it fails.

use schedkit_image::registry::{Credentials, Hosts};
use schedkit_runtime::podman::Podman;
use schedkit_runtime::{Driver, DriverError, PullProgress};

use crate::server::{Response, Server, json};
use crate::{LOG, LONG, SHORT, message, podman, trusted};

#[tokio::test]
async fn a_pull_without_messages_is_a_timeout() {
    let head = "HTTP/1.1 200 OK\r\nLibpod-Api-Version: 4.3.1\r\n\r\n{\"stream\":\"Trying\"}\n";
    let server = Server::start(move |line| {
        if line.starts_with("POST") {
            return Response::Stall(head.as_bytes().to_vec());
        }
        json(404, r#"{"message":"no such image"}"#)
    });
    let mut notes = Vec::new();
    let podman = podman(&server).with_timeouts(SHORT);
    let mut on_progress = |progress| notes.push(progress);
    let pulled = podman.pull(&trusted(), &mut on_progress).await;
    let text = message(&server, &pulled.unwrap_err());
    let image = trusted().image().to_string();
    assert_eq!(
        text,
        format!("Podman did not pull {image} within 2 s; {LOG}")
    );
    assert_eq!(notes, [PullProgress::Note("Trying".to_owned())]);
}

#[tokio::test]
async fn a_failed_pull_has_its_reason() {
    let image = trusted().image().to_string();
    let trying = "{\"stream\":\"Trying to pull\"}\n";
    for (lines, text) in [
        (
            "{\"error\":\"x: manifest unknown\"}\n".to_owned(),
            format!("Podman could not pull {image}: x: manifest unknown"),
        ),
        (
            format!("{trying}{{\"error\":\"write /x: no space left on device\"}}"),
            format!(
                "no space is left on Podman's disk: cannot pull {image}; make room: `podman \
                 system prune` removes what is not used"
            ),
        ),
        (
            trying.to_owned(),
            format!("Podman could not pull {image}: it stopped without a reason"),
        ),
        (
            format!("{trying}{{\"str"),
            format!(
                "Podman could not pull {image}: a line about the pull cannot be parsed: EOF \
                 while parsing a string at line 1 column 5"
            ),
        ),
        // The pull is reported as done, and the store has another digest.
        (
            "{\"id\":\"1\"}\n".to_owned(),
            format!("Podman could not pull {image}: what it pulled has another digest"),
        ),
    ] {
        let server = Server::start(move |line| {
            if line.starts_with("POST") {
                return json(200, &lines);
            }
            json(200, r#"{"Id":"1","RepoDigests":["a.b/c@sha256:2"]}"#)
        });
        let pulled = podman(&server).pull(&trusted(), &mut |_| {}).await;
        assert_eq!(message(&server, &pulled.unwrap_err()), text);
    }
}

#[tokio::test]
async fn a_pull_requests_only_the_digest() {
    let server = Server::start(|_| json(404, r#"{"message":"no such image"}"#));
    let error = podman(&server).pull(&trusted(), &mut |_| {}).await;
    assert!(matches!(error, Err(DriverError::Refused { .. })));
    let image = trusted().image().to_string();
    let coded = image
        .replace('/', "%2F")
        .replace(':', "%3A")
        .replace('@', "%40");
    assert_eq!(
        server.request_lines(),
        [
            format!("GET /v4.0.0/libpod/images/{coded}/json HTTP/1.1"),
            format!("POST /v4.0.0/libpod/images/pull?reference={coded} HTTP/1.1"),
        ]
    );
}

#[tokio::test]
async fn mirrors_are_used_first_and_upstream_never_used() {
    let hosts = r#"{
        "a.b": {"mirrors": ["m.n/x", "o.p:1"], "upstream": "never"},
        "o.p:1": {"security": "plain-http"}
    }"#;
    let server = Server::start(|_| json(404, r#"{"message":"no such image"}"#));
    let hosts = serde_json::from_str(hosts).unwrap();
    let podman = Podman::new(server.socket(), hosts, Credentials::none()).with_timeouts(LONG);
    podman.pull(&trusted(), &mut |_| {}).await.unwrap_err();
    let pulls = server
        .request_lines()
        .into_iter()
        .filter(|line| line.starts_with("POST"));
    let digest = trusted().image().digest().to_string().replace(':', "%3A");
    assert_eq!(
        pulls.collect::<Vec<_>>(),
        [
            format!("POST /v4.0.0/libpod/images/pull?reference=m.n%2Fx%2Fc%40{digest} HTTP/1.1"),
            format!(
                "POST /v4.0.0/libpod/images/pull?reference=o.p%3A1%2Fc%40{digest}&tlsVerify=false \
                 HTTP/1.1"
            ),
        ]
    );
}

#[tokio::test]
async fn a_login_is_sent_only_with_the_pull() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auth.json");
    // u:hunter2
    std::fs::write(&file, r#"{"auths":{"a.b":{"auth":"dTpodW50ZXIy"}}}"#).unwrap();
    let server = Server::start(|_| json(500, r#"{"message":"unauthorized"}"#));
    let logins = Credentials::from_file(file.clone());
    let podman = Podman::new(server.socket(), Hosts::default(), logins).with_timeouts(LONG);
    let pulled = podman.pull(&trusted(), &mut |_| {}).await;
    assert!(!format!("{podman:?} {pulled:?}").contains("hunter2"));
    assert!(
        server
            .headers()
            .iter()
            .all(|text| !text.contains("x-registry-auth"))
    );

    let server = Server::start(|line| match line.starts_with("GET") {
        true => json(404, r#"{"message":"no such image"}"#),
        false => json(200, "{\"error\":\"unauthorized: authentication required\"}"),
    });
    let logins = Credentials::from_file(file.clone());
    let podman = Podman::new(server.socket(), Hosts::default(), logins).with_timeouts(LONG);
    let error = podman.pull(&trusted(), &mut |_| {}).await.unwrap_err();
    assert!(message(&server, &error).ends_with("; log in with `podman login`"));
    // {"a.b":{"password":"hunter2","username":"u"}}
    let header = "x-registry-auth: \
                  eyJhLmIiOnsicGFzc3dvcmQiOiJodW50ZXIyIiwidXNlcm5hbWUiOiJ1In19";
    assert!(
        server.headers()[1].contains(header),
        "{:?}",
        server.headers()
    );

    std::fs::write(&file, "{").unwrap();
    let error = podman.pull(&trusted(), &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, DriverError::Registry { .. }), "{error:?}");
}
