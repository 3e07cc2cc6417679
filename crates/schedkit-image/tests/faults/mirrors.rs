//! Mirrors: tried first, checked like the registry itself.

use schedkit_image::registry::{
    Client, ClientConfig, Credentials, HostConfig, Hosts, Registry, Upstream,
};

use crate::client::{client_config, message, pinned, plain, tagged};
use crate::server::{Reply, Server, no_server, ok, status, typed, with};

const CONTENT: &[u8] = b"{\"config\": 1}";

/// A registry with mirrors, all without TLS.
fn mirrored(origin: &str, mirrors: &[&str], upstream: Upstream) -> ClientConfig {
    let locations = mirrors
        .iter()
        .map(|mirror| mirror.to_string().try_into().unwrap());
    let config = HostConfig {
        mirrors: locations.collect(),
        upstream,
        ..plain()
    };
    let host = |mirror: &&str| mirror.split('/').next().unwrap().parse().unwrap();
    let others = mirrors.iter().map(|mirror| (host(mirror), plain()));
    let hosts = others.chain([(origin.parse().unwrap(), config)]);
    ClientConfig {
        hosts: Hosts::new(hosts).unwrap(),
        ..client_config(origin)
    }
}

#[tokio::test]
async fn after_any_failure_of_a_mirror_the_next_is_tried() {
    for (name, reply) in [
        ("gone", status(404)),
        ("denied", status(403)),
        ("failure", status(500)),
        ("rate limit", with(429, "Retry-After", "3600")),
        ("other content", ok("other")),
        ("hangs up", Reply::Raw(vec![])),
        ("flood", Reply::Flood(None)),
        (
            "invalid challenge",
            with(401, "WWW-Authenticate", "Bearer realm=x"),
        ),
        ("circle", with(307, "Location", "")),
    ] {
        let bad = Server::start(move |_| reply.clone()).await;
        let good = Server::start(|_| ok(CONTENT)).await;
        let origin = Server::start(|_| ok(CONTENT)).await;
        let down = no_server().await;
        let client = Client::new(mirrored(
            &origin.host,
            &[&down, &bad.host, &good.host],
            Upstream::Ask,
        ));
        let document = client
            .manifest(&pinned(&origin.host, CONTENT))
            .await
            .unwrap();
        assert_eq!(document.bytes, CONTENT, "{name}");
        // A mirror gets one attempt: the next host is its second.
        assert_eq!(
            (bad.count(), good.count(), origin.count()),
            (1, 1, 0),
            "{name}"
        );
    }
}

#[tokio::test]
async fn the_error_lists_what_failed_at_each_mirror() {
    let lying = Server::start(|_| ok("other")).await;
    let empty = Server::start(|_| status(404)).await;
    let origin = Server::start(|_| status(500)).await;
    let client = Client::new(mirrored(
        &origin.host,
        &[&lying.host, &empty.host],
        Upstream::Ask,
    ));
    let image = pinned(&origin.host, CONTENT);
    let error = client.manifest(&image).await.unwrap_err();
    let image = image.to_string();
    let names = [
        (image.as_str(), "IMAGE"),
        (&lying.host, "LYING"),
        (&empty.host, "EMPTY"),
        (&origin.host, "ORIGIN"),
    ];
    assert_eq!(
        message(&error, &names),
        format!(
            "cannot get IMAGE from ORIGIN: the response has HTTP status 500 (its mirrors failed before: cannot get IMAGE from LYING: the content has the digest {}, not {}; cannot get IMAGE from EMPTY: it was not found: check the name)",
            crate::client::digest(b"other"),
            crate::client::digest(CONTENT)
        )
    );
    assert_eq!((lying.count(), empty.count(), origin.count()), (1, 1, 3));
    assert!(!error.is_not_found());
}

#[tokio::test]
async fn content_that_no_host_has_is_not_found() {
    for (name, mirror, is_not_found) in [
        ("gone", 404, true),
        ("failure", 500, false),
        ("denied", 403, false),
    ] {
        let mirror = Server::start(move |_| status(mirror)).await;
        let origin = Server::start(|_| status(404)).await;
        let client = Client::new(mirrored(&origin.host, &[&mirror.host], Upstream::Ask));
        let error = client.head(&tagged(&origin.host)).await.unwrap_err();
        assert_eq!(error.is_not_found(), is_not_found, "{name}");
        let text = error.to_string();
        assert!(text.contains("it was not found"), "{text}");
        // Whoever reads it may have to ask why the mirror failed.
        assert_eq!(text.contains(&mirror.host), !is_not_found, "{text}");
    }
}

#[tokio::test]
async fn with_upstream_never_the_registry_gets_no_request() {
    let mirror = Server::start(|request| match request.nth {
        0 => status(503),
        _ => ok(CONTENT),
    })
    .await;
    let origin = Server::start(|_| ok(CONTENT)).await;
    let location = format!("{}/proxy/lab", mirror.host);
    let client = Client::new(mirrored(&origin.host, &[&location], Upstream::Never));
    client.document(&tagged(&origin.host)).await.unwrap();
    // The last host gets all attempts.
    let lines = mirror.requests().into_iter().map(|request| request.line);
    let line = "GET /v2/proxy/lab/team/scx/manifests/1";
    assert_eq!(lines.collect::<Vec<_>>(), [line, line]);
    assert_eq!(origin.count(), 0);
}

#[tokio::test]
async fn a_mirror_does_not_get_the_registrys_login() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.json");
    let mirror = Server::start(|_| with(401, "WWW-Authenticate", "Basic")).await;
    let origin = Server::start(|request| match request.authorization() {
        Some(_) => ok(CONTENT),
        None => with(401, "WWW-Authenticate", "Basic"),
    })
    .await;
    let login = format!(
        r#"{{"auths": {{"{}": {{"auth": "bWU6aHVudGVyMg=="}}}}}}"#,
        origin.host
    );
    std::fs::write(&path, login).unwrap();
    let client = Client::new(ClientConfig {
        credentials: Credentials::from_file(path),
        ..mirrored(&origin.host, &[&mirror.host], Upstream::Ask)
    });
    client.document(&tagged(&origin.host)).await.unwrap();
    assert_eq!((mirror.count(), origin.count()), (1, 2));
    assert!(
        mirror
            .requests()
            .iter()
            .all(|request| request.authorization().is_none())
    );
}

#[tokio::test]
async fn referrers_are_those_of_all_places() {
    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    let signed = format!(
        r#"{{"manifests": [{{"digest": "{}", "size": 1}}]}}"#,
        crate::client::digest(b"a signature")
    );
    let none = || typed(INDEX, r#"{"manifests": []}"#);
    let failed = |place| format!("cannot get LIST from {place}: the response has HTTP status 501");
    let other = format!(
        r#"{{"manifests": [{{"digest": "{}", "size": 1}}]}}"#,
        crate::client::digest(b"an SBOM")
    );
    for (name, mirror, origin, upstream, expected) in [
        (
            "empty",
            none(),
            typed(INDEX, &signed),
            Upstream::Ask,
            Ok((1, true)),
        ),
        (
            "no API",
            status(404),
            typed(INDEX, &signed),
            Upstream::Ask,
            Ok((1, true)),
        ),
        ("nowhere", none(), none(), Upstream::Ask, Ok((0, true))),
        (
            "not contacted",
            none(),
            typed(INDEX, &signed),
            Upstream::Never,
            Ok((0, false)),
        ),
        (
            "the mirror alone",
            typed(INDEX, &signed),
            none(),
            Upstream::Ask,
            Ok((1, true)),
        ),
        (
            "the same",
            typed(INDEX, &signed),
            typed(INDEX, &signed),
            Upstream::Ask,
            Ok((1, true)),
        ),
        (
            "different",
            typed(INDEX, &other),
            typed(INDEX, &signed),
            Upstream::Ask,
            Ok((2, true)),
        ),
        // Whether the image is signed is then unknown.
        (
            "failure",
            none(),
            status(501),
            Upstream::Ask,
            Err(failed("ORIGIN")),
        ),
        (
            "failure of the mirror",
            status(501),
            none(),
            Upstream::Ask,
            Err(failed("MIRROR")),
        ),
    ] {
        let replying = |reply: Reply| {
            Server::start(move |request| match request.is("/referrers/") {
                true => reply.clone(),
                false => status(404),
            })
        };
        let (mirror, origin) = (replying(mirror).await, replying(origin).await);
        let client = Client::new(mirrored(&origin.host, &[&mirror.host], upstream));
        let image = pinned(&origin.host, CONTENT);
        let outcome = client.referrers(&image).await;
        let outcome = outcome.map(|list| (list.len(), origin.count() > 0));
        let list = format!("the list of referrers of {image}");
        let names = [
            (list.as_str(), "LIST"),
            (&mirror.host, "MIRROR"),
            (&origin.host, "ORIGIN"),
        ];
        let outcome = outcome.map_err(|error| message(&error, &names));
        assert_eq!(outcome, expected, "{name}");
    }
}

#[tokio::test]
async fn one_place_is_asked_alone() {
    let mirror = Server::start(|_| ok("a")).await;
    let origin = Server::start(|_| ok("b")).await;
    let client = Client::new(mirrored(&origin.host, &[&mirror.host], Upstream::Ask));
    let image = tagged(&origin.host);
    assert_eq!(client.places(image.repository()), 2);
    for (place, content) in [(0, "a"), (1, "b")] {
        let document = client.document_at(&image, place).await.unwrap();
        assert_eq!(document.bytes, content);
    }
    assert_eq!((mirror.count(), origin.count()), (1, 1));
    let error = client.document_at(&image, 2).await.unwrap_err();
    assert!(error.is_not_found());
    let never = Client::new(mirrored(&origin.host, &[&mirror.host], Upstream::Never));
    assert_eq!(never.places(image.repository()), 1);
}
