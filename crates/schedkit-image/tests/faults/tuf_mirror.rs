//! Mirrors of a TUF repository on web servers.

use std::fs;

use jiff::Timestamp;
use schedkit_image::hash::sha256;
use schedkit_image::registry::{ClientConfig, FileClient, HostConfig, Hosts, Limits};
use schedkit_image::trust::{Anchor, KeptRoot, Mirror, refresh};
use schedkit_image::untrusted::Reader;
use tuf_maker::{Files, Maker};

use crate::client::{client_config, long_limits, short_limits};
use crate::server::{Reply, Request, Server, ok, status, with};
use crate::tls::authority_and_server;

const ROOT: &str = include_str!("../../src/trust/public_good_root.json");

/// The files of a repository under `/tuf/`, except where `other` has a reply.
fn served(
    files: Files,
    other: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    move |request| {
        let name = request.line.trim_start_matches("GET /tuf/");
        let reply = other(request).or_else(|| files.get(name).map(ok));
        reply.unwrap_or_else(|| status(404))
    }
}

/// What a refresh from such a server makes, or its error in one line.
async fn refreshed(
    limits: Limits,
    other: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
) -> (Result<KeptRoot, String>, Server) {
    let mut maker = Maker::generate();
    let files = maker.release(ROOT);
    let folder = tempfile::tempdir().unwrap();
    let (ca, config) = authority_and_server("127.0.0.1");
    let [root, ca_file] = [("root.json", maker.anchor()), ("ca.pem", ca.as_bytes())].map(|file| {
        let path = folder.path().join(file.0);
        fs::write(&path, file.1).unwrap();
        path
    });
    let anchor = Anchor::read(&root, &sha256(maker.anchor()), Reader::User).unwrap();
    let server = Server::start_tls(config, served(files, other)).await;
    let host = HostConfig {
        ca: Some(ca_file),
        ..HostConfig::default()
    };
    let client = FileClient::new(ClientConfig {
        hosts: Hosts::new([(server.host.parse().unwrap(), host)]).unwrap(),
        limits,
        ..client_config(&server.host)
    });
    let mirror: Mirror = format!("https://{}/tuf/", server.host).parse().unwrap();
    let outcome = refresh(&mirror, &client, &anchor, None, Timestamp::now()).await;
    let outcome = outcome.map_err(|error| {
        let mut text = error.to_string();
        let mut next = std::error::Error::source(&error);
        while let Some(cause) = next {
            text = format!("{text}: {cause}");
            next = cause.source();
        }
        text.replace(&server.host, "HOST")
    });
    (outcome, server)
}

#[tokio::test]
async fn a_mirror_says_in_two_ways_that_there_is_no_newer_root() {
    for code in [403, 404] {
        let newer = move |request: &Request| request.is("2.root.json").then(|| status(code));
        let (outcome, server) = refreshed(long_limits(), newer).await;
        assert_eq!(outcome.unwrap().root().digest(), &sha256(ROOT.as_bytes()));
        assert_eq!(server.count(), 5);
        assert_eq!(server.connections(), 1);
        assert_eq!(server.requests()[0].line, "GET /tuf/2.root.json");
        let last = server.requests()[4].line.clone();
        assert!(last.starts_with("GET /tuf/targets/"), "{last}");
        assert!(
            server
                .requests()
                .iter()
                .all(|one| one.authorization().is_none())
        );
    }
}

#[tokio::test]
async fn any_other_answer_is_an_error() {
    for (file, code, requests, why) in [
        ("2.root.json", 500, 3, "HTTP status 500"),
        ("2.root.json", 401, 1, "access denied"),
        (
            "timestamp.json",
            404,
            2,
            "timestamp.json from HOST: it was not found",
        ),
        (
            "timestamp.json",
            403,
            2,
            "timestamp.json from HOST: it was not found",
        ),
        ("1.snapshot.json", 404, 3, "it was not found"),
        ("targets/", 404, 5, "it was not found"),
    ] {
        let other = move |request: &Request| request.is(file).then(|| status(code));
        let (outcome, server) = refreshed(long_limits(), other).await;
        let error = outcome.unwrap_err();
        let begin = "the trusted root cannot be updated from https://HOST/tuf: cannot get ";
        assert!(error.starts_with(begin), "{error}");
        assert!(error.contains(why), "{file}: {error}");
        assert_eq!(server.count(), requests, "{file}");
    }
}

#[tokio::test]
async fn an_endless_file_is_read_up_to_its_limit() {
    for (file, limit) in [
        ("2.root.json", 64 << 10),
        ("timestamp.json", 16 << 10),
        ("1.targets.json", 1 << 20),
        ("trusted_root.json", ROOT.len() as u64),
    ] {
        for length in [None, Some(1 << 40)] {
            let flood = move |request: &Request| request.is(file).then_some(Reply::Flood(length));
            let (outcome, server) = refreshed(long_limits(), flood).await;
            let error = outcome.unwrap_err();
            let why = format!("it has more than {limit} bytes");
            assert!(error.contains(&why), "{file}: {error}");
            // The buffers of the system are part of it.
            assert!(server.sent() < limit + (16 << 20), "{}", server.sent());
        }
    }
}

#[tokio::test]
async fn a_slow_mirror_costs_a_limited_time() {
    for slow in [Reply::Drip, Reply::Stall(Vec::new())] {
        let slow = move |request: &Request| request.is("timestamp").then(|| slow.clone());
        let (outcome, _server) = refreshed(short_limits(), slow).await;
        let error = outcome.unwrap_err();
        assert!(error.contains("no response within"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_without_tls_is_not_followed() {
    let open = Server::start(|_| ok("{}")).await;
    let there = format!("http://{}/timestamp.json", open.host);
    let redirect = move |request: &Request| {
        let is_it = request.is("timestamp.json");
        is_it.then(|| with(302, "Location", there.clone()))
    };
    let (outcome, _server) = refreshed(long_limits(), redirect).await;
    let error = outcome.unwrap_err();
    assert!(error.contains("which has no TLS: not followed"), "{error}");
    assert_eq!(open.count(), 0);
}
