//! Statuses, pauses and redirects.

use std::time::Duration;

use schedkit_image::registry::{ClientConfig, Problem, Registry, Retry};

use crate::client::{client, client_config, message, plain_hosts, tagged};
use crate::server::{Reply, Server, no_server, ok, status, with};

const CONTENT: &[u8] = b"{\"config\": 1}";

#[tokio::test]
async fn each_status_has_its_error_and_its_number_of_attempts() {
    let denied = br#"{"errors": [{"code": "DENIED", "message": "your t0ken is bad"}]}"#;
    let denied = Reply::Full(403, vec![], denied.to_vec());
    let unprintable = br#"{"errors": [{"code": "\u001b[2Jt0ken", "message": "x"}]}"#;
    let unprintable = Reply::Full(400, vec![], unprintable.to_vec());
    let failed =
        |status| format!("cannot get IMAGE from HOST: the response has HTTP status {status}");
    let denied_with = |code: &str| {
        format!(
            "cannot get IMAGE from HOST: access denied{code}: the request was sent without credentials; check the name, or log in (`podman login`) if it is not public"
        )
    };
    let limited = |when: &str| {
        format!(
            "cannot get IMAGE from HOST: too many requests{when}; logging in often raises the limit"
        )
    };
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    for (reply, expected, requests) in [
        (
            status(404),
            "cannot get IMAGE from HOST: it was not found: check the name".to_owned(),
            1,
        ),
        (status(401), denied_with(""), 1),
        (status(403), denied_with(""), 1),
        (denied, denied_with(" (DENIED)"), 1),
        (unprintable, failed("400"), 1),
        (
            Reply::Full(418, vec![], vec![b'x'; 1 << 20]),
            failed("418"),
            1,
        ),
        (status(204), failed("204"), 1),
        (status(206), failed("206"), 1),
        (status(501), failed("501"), 1),
        (status(500), failed("500"), 3),
        (status(502), failed("502"), 3),
        (status(503), failed("503"), 3),
        (status(504), failed("504"), 3),
        (with(503, "Retry-After", "9999"), failed("503"), 1),
        (status(429), limited(""), 3),
        (
            with(429, "Retry-After", "0"),
            limited(", try again in 0 s"),
            3,
        ),
        (
            with(429, "Retry-After", "3600"),
            limited(", try again in 3600 s"),
            1,
        ),
        (with(429, "Retry-After", date), limited(""), 3),
        (
            with(429, "Retry-After", "99999999999999999999999"),
            limited(""),
            3,
        ),
    ] {
        let name = format!("{reply:.40?}");
        let server = Server::start(move |_| reply.clone()).await;
        let error = client(&server.host).document(&tagged(&server.host)).await;
        let image = tagged(&server.host).to_string();
        let message = message(
            &error.unwrap_err(),
            &[(&image, "IMAGE"), (&server.host, "HOST")],
        );
        assert_eq!(message, expected, "{name}");
        assert_eq!(server.count(), requests, "{name}");
    }
}

#[tokio::test]
async fn a_temporary_failure_is_retried() {
    for failure in [
        status(500),
        status(503),
        status(429),
        with(429, "Retry-After", "0"),
        with(503, "Retry-After", "1"),
    ] {
        let server = Server::start(move |request| match request.nth {
            0 => failure.clone(),
            _ => ok(CONTENT),
        })
        .await;
        let document = client(&server.host).document(&tagged(&server.host)).await;
        assert_eq!(document.unwrap().bytes, CONTENT);
        assert_eq!(server.count(), 2);
    }
}

#[tokio::test]
async fn an_error_tells_whether_a_retry_can_help() {
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
async fn no_server_and_no_tls() {
    let host = no_server().await;
    let error = client(&host).head(&tagged(&host)).await.unwrap_err();
    assert_eq!(
        message(&error, &[(&host, "HOST")]),
        "cannot get HOST/team/scx:1 from HOST: cannot connect; is the host name right, and is the registry running?"
    );
    assert!(matches!(error.problem(), Problem::Unreachable(_)));
    // Loopback addresses get no exception: without configuration the client uses TLS.
    let server = Server::start(|_| ok(CONTENT)).await;
    let config = ClientConfig {
        hosts: plain_hosts(&[]),
        ..client_config(&server.host)
    };
    let client = schedkit_image::registry::Client::new(config);
    let error = client.head(&tagged(&server.host)).await.unwrap_err();
    assert!(matches!(error.problem(), Problem::Tls { .. }), "{error:?}");
    assert_eq!(
        message(&error, &[(&server.host, "HOST")]),
        "cannot get HOST/team/scx:1 from HOST: no trusted TLS connection; set `ca` to its certificate authority or, if the registry has no TLS, set `security = \"plain-http\"` in section `[registry.\"HOST\"]` of the configuration"
    );
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn redirects_are_limited() {
    let malformed = "cannot get HOST/team/scx:1 from HOST: the response cannot be used: it is a redirect without a usable address";
    let endless = "cannot get HOST/team/scx:1 from HOST: more than 5 redirects";
    for (name, reply, expected, requests) in [
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
        let server = Server::start(move |_| reply.clone()).await;
        let error = client(&server.host).document(&tagged(&server.host)).await;
        let message = message(&error.unwrap_err(), &[(&server.host, "HOST")]);
        assert_eq!(message, expected, "{name}");
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
