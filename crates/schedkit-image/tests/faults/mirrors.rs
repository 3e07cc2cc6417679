//! Mirrors: asked first, believed no more than anybody else.

use schedkit_image::registry::{
    Client, Credentials, HostConfig, Hosts, Registry, RegistryError, Settings, Upstream,
};

use crate::asking::{pinned, plain, said, settings, tagged};
use crate::server::{Answer, Server, nobody, ok, status, typed, with};

const CONTENT: &[u8] = b"{\"config\": 1}";

/// A registry with mirrors, all without TLS.
fn mirrored(origin: &str, mirrors: &[&str], upstream: Upstream) -> Settings {
    let places = mirrors
        .iter()
        .map(|mirror| mirror.to_string().try_into().unwrap());
    let config = HostConfig {
        mirrors: places.collect(),
        upstream,
        ..plain()
    };
    let host = |mirror: &&str| mirror.split('/').next().unwrap().parse().unwrap();
    let others = mirrors.iter().map(|mirror| (host(mirror), plain()));
    let hosts = others.chain([(origin.parse().unwrap(), config)]);
    Settings {
        hosts: Hosts::new(hosts).unwrap(),
        ..settings(origin)
    }
}

#[tokio::test]
async fn whatever_is_wrong_with_a_mirror_the_next_is_asked() {
    for (name, answer) in [
        ("gone", status(404)),
        ("no entry", status(403)),
        ("trouble", status(500)),
        ("tired", with(429, "Retry-After", "3600")),
        ("other content", ok("other")),
        ("hangs up", Answer::Raw(vec![])),
        ("flood", Answer::Flood(None)),
        (
            "mad challenge",
            with(401, "WWW-Authenticate", "Bearer realm=x"),
        ),
        ("circle", with(307, "Location", "")),
    ] {
        let bad = Server::start(move |_| answer.clone()).await;
        let good = Server::start(|_| ok(CONTENT)).await;
        let origin = Server::start(|_| ok(CONTENT)).await;
        let down = nobody().await;
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
        // A mirror gets one try, the next host is its second.
        assert_eq!(
            (bad.count(), good.count(), origin.count()),
            (1, 1, 0),
            "{name}"
        );
    }
}

#[tokio::test]
async fn when_nobody_helps_each_says_why() {
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
        said(&error, &names),
        format!(
            "no mirror could be used (LYING sent other content as IMAGE: its digest is {}, not {}; IMAGE at EMPTY is not there; is its name right?): ORIGIN answered 500 when asked for IMAGE",
            crate::asking::digest(b"other"),
            crate::asking::digest(CONTENT)
        )
    );
    assert_eq!((lying.count(), empty.count(), origin.count()), (1, 1, 3));
    assert!(!error.is_not_found());
}

#[tokio::test]
async fn what_is_nowhere_is_not_there() {
    let mirror = Server::start(|_| status(500)).await;
    let origin = Server::start(|_| status(404)).await;
    let client = Client::new(mirrored(&origin.host, &[&mirror.host], Upstream::Ask));
    let error = client.head(&tagged(&origin.host)).await.unwrap_err();
    assert!(matches!(error, RegistryError::NotFound { .. }));
}

#[tokio::test]
async fn behind_an_air_gap_the_registry_itself_is_left_alone() {
    let mirror = Server::start(|request| match request.nth {
        0 => status(503),
        _ => ok(CONTENT),
    })
    .await;
    let origin = Server::start(|_| ok(CONTENT)).await;
    let place = format!("{}/proxy/lab", mirror.host);
    let client = Client::new(mirrored(&origin.host, &[&place], Upstream::Never));
    client.document(&tagged(&origin.host)).await.unwrap();
    // The last to be asked gets all the tries.
    let lines = mirror.requests().into_iter().map(|request| request.line);
    let line = "GET /v2/proxy/lab/team/scx/manifests/1";
    assert_eq!(lines.collect::<Vec<_>>(), [line, line]);
    assert_eq!(origin.count(), 0);
}

#[tokio::test]
async fn a_mirror_is_not_shown_the_registry_s_login() {
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
    let client = Client::new(Settings {
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
async fn a_mirror_without_signatures_is_not_the_last_word() {
    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    let signed = format!(
        r#"{{"manifests": [{{"digest": "{}", "size": 1}}]}}"#,
        crate::asking::digest(b"a signature")
    );
    let none = || typed(INDEX, r#"{"manifests": []}"#);
    let trouble = "no mirror could be used (LIST at MIRROR is not there; is its name right?): ORIGIN answered 501 when asked for LIST";
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
            "not asked",
            none(),
            typed(INDEX, &signed),
            Upstream::Never,
            Ok((0, false)),
        ),
        (
            "enough",
            typed(INDEX, &signed),
            none(),
            Upstream::Ask,
            Ok((1, false)),
        ),
        // Whether it is signed is not known then: no reason to say that it is not.
        (
            "trouble",
            none(),
            status(501),
            Upstream::Ask,
            Err(trouble.to_owned()),
        ),
    ] {
        let answering = |answer: Answer| {
            Server::start(move |request| match request.is("/referrers/") {
                true => answer.clone(),
                false => status(404),
            })
        };
        let (mirror, origin) = (answering(mirror).await, answering(origin).await);
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
        let outcome = outcome.map_err(|error| said(&error, &names));
        assert_eq!(outcome, expected, "{name}");
    }
}
