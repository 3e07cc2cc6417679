//! Statuses, pauses and redirects.

use std::time::Duration;

use schedkit_image::registry::{Registry, RegistryError, Retry, Settings};

use crate::asking::{client, plain_hosts, said, settings, tagged};
use crate::server::{Answer, Server, nobody, ok, status, with};

const CONTENT: &[u8] = b"{\"config\": 1}";

#[tokio::test]
async fn each_status_has_its_error_and_its_number_of_tries() {
    let denied = br#"{"errors": [{"code": "DENIED", "message": "your t0ken is bad"}]}"#;
    let denied = Answer::Full(403, vec![], denied.to_vec());
    let rude = br#"{"errors": [{"code": "\u001b[2Jt0ken", "message": "x"}]}"#;
    let rude = Answer::Full(400, vec![], rude.to_vec());
    let server_says = |status| format!("HOST answered {status} when asked for IMAGE");
    let no_entry = |code: &str| {
        format!(
            "HOST does not let us read IMAGE{code}: we came without credentials; check its name, or log in (`podman login`) if it is not public"
        )
    };
    let enough = |when: &str| {
        format!(
            "HOST takes no more questions for now (IMAGE){when}; credentials often raise the limit"
        )
    };
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    for (answer, expected, requests) in [
        (
            status(404),
            "IMAGE at HOST is not there; is its name right?".to_owned(),
            1,
        ),
        (status(401), no_entry(""), 1),
        (status(403), no_entry(""), 1),
        (denied, no_entry(" (DENIED)"), 1),
        (rude, server_says("400"), 1),
        (
            Answer::Full(418, vec![], vec![b'x'; 1 << 20]),
            server_says("418"),
            1,
        ),
        (status(204), server_says("204"), 1),
        (status(206), server_says("206"), 1),
        (status(501), server_says("501"), 1),
        (status(500), server_says("500"), 3),
        (status(502), server_says("502"), 3),
        (status(503), server_says("503"), 3),
        (status(504), server_says("504"), 3),
        (with(503, "Retry-After", "9999"), server_says("503"), 1),
        (status(429), enough(""), 3),
        (
            with(429, "Retry-After", "0"),
            enough(", try again in 0 s"),
            3,
        ),
        (
            with(429, "Retry-After", "3600"),
            enough(", try again in 3600 s"),
            1,
        ),
        (with(429, "Retry-After", date), enough(""), 3),
        (
            with(429, "Retry-After", "99999999999999999999999"),
            enough(""),
            3,
        ),
    ] {
        let name = format!("{answer:.40?}");
        let server = Server::start(move |_| answer.clone()).await;
        let error = client(&server.host).document(&tagged(&server.host)).await;
        let image = tagged(&server.host).to_string();
        let said = said(
            &error.unwrap_err(),
            &[(&image, "IMAGE"), (&server.host, "HOST")],
        );
        assert_eq!(said, expected, "{name}");
        assert_eq!(server.count(), requests, "{name}");
    }
}

#[tokio::test]
async fn trouble_that_passes_is_waited_for() {
    for trouble in [
        status(500),
        status(503),
        status(429),
        with(429, "Retry-After", "0"),
        with(503, "Retry-After", "1"),
    ] {
        let server = Server::start(move |request| match request.nth {
            0 => trouble.clone(),
            _ => ok(CONTENT),
        })
        .await;
        let document = client(&server.host).document(&tagged(&server.host)).await;
        assert_eq!(document.unwrap().bytes, CONTENT);
        assert_eq!(server.count(), 2);
    }
}

#[tokio::test]
async fn an_error_knows_whether_to_come_back() {
    let server = Server::start(|_| with(429, "Retry-After", "3600")).await;
    let error = client(&server.host)
        .tags(tagged(&server.host).repository())
        .await;
    let wait = Duration::from_secs(3600);
    assert_eq!(error.unwrap_err().retry(), Retry::After(wait));
    let server = Server::start(|_| status(404)).await;
    let error = client(&server.host)
        .tags(tagged(&server.host).repository())
        .await;
    assert_eq!(error.unwrap_err().retry(), Retry::Never);
}

#[tokio::test]
async fn nobody_there_and_nobody_with_tls_there() {
    let host = nobody().await;
    let error = client(&host).head(&tagged(&host)).await.unwrap_err();
    assert_eq!(
        said(&error, &[(&host, "HOST")]),
        "cannot connect to HOST to ask for HOST/team/scx:1; is its name right, and does it run?"
    );
    assert!(matches!(error, RegistryError::Unreachable { .. }));
    // The loopback is a host like any other: without a word in the settings it is asked with TLS.
    let server = Server::start(|_| ok(CONTENT)).await;
    let settings = Settings {
        hosts: plain_hosts(&[]),
        ..settings(&server.host)
    };
    let client = schedkit_image::registry::Client::new(settings);
    let error = client.head(&tagged(&server.host)).await.unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error:?}");
    assert_eq!(
        said(&error, &[(&server.host, "HOST")]),
        "no trusted connection to HOST; name its certificate authority (`ca`) or, if it has no TLS at all, say so (`security = \"plain-http\"`) in section `[registry.\"HOST\"]` of the settings"
    );
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn redirects_end() {
    let malformed =
        "HOST gave an answer to HOST/team/scx:1 that cannot be used: it redirects to no address";
    let endless = "HOST was asked for HOST/team/scx:1 and redirects without end";
    for (name, answer, expected, requests) in [
        (
            "to itself",
            with(307, "Location", "http://HOST/v2/team/scx/manifests/1"),
            endless,
            6,
        ),
        ("relative", with(302, "Location", "1"), endless, 6),
        ("nowhere", status(301), malformed, 1),
        (
            "to a file",
            with(308, "Location", "file:///etc/passwd"),
            malformed,
            1,
        ),
        (
            "to nonsense",
            with(303, "Location", "http://[/"),
            malformed,
            1,
        ),
    ] {
        let server = Server::start(move |_| answer.clone()).await;
        let error = client(&server.host).document(&tagged(&server.host)).await;
        let said = said(&error.unwrap_err(), &[(&server.host, "HOST")]);
        assert_eq!(said, expected, "{name}");
        assert_eq!(server.count(), requests, "{name}");
    }
    let server = Server::start(|request| match request.line.rsplit_once("hop=") {
        None => with(307, "Location", "?hop=1"),
        Some((_, "5")) => ok(CONTENT),
        Some((_, hop)) => with(
            307,
            "Location",
            format!("?hop={}", hop.parse::<u32>().unwrap() + 1),
        ),
    })
    .await;
    let document = client(&server.host).document(&tagged(&server.host)).await;
    assert_eq!(document.unwrap().bytes, CONTENT);
    assert_eq!(server.count(), 6);
}
