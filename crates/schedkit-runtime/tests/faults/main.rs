//! Podman's driver with sockets on which another service, a faulty one or none listens, and the exact
//! error message for each. Needs neither root nor Podman.

#![cfg(test)]

mod output;
mod pull;
mod server;

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schedkit_core::PinnedRef;
use schedkit_image::registry::{Credentials, Hosts};
use schedkit_image::signature::{Trusted, waive};
use schedkit_runtime::podman::{self, Podman, Timeouts};
use schedkit_runtime::{
    After, ContainerId, Driver, DriverError, ImageEntry, ImageOwner, ImageStore, Launch,
    OutputChunk, Until,
};

use server::{Response, Server, json, libpod};

/// Longer than any response takes on a busy machine.
const LONG: Timeouts = Timeouts {
    response: Duration::from_secs(60),
    pull: Duration::from_secs(60),
};
/// For responses that never come.
const SHORT: Timeouts = Timeouts {
    response: Duration::from_secs(1),
    pull: Duration::from_secs(2),
};

fn podman(server: &Server) -> Podman {
    let (hosts, logins) = (Hosts::default(), Credentials::none());
    Podman::new(server.socket(), hosts, logins).with_timeouts(LONG)
}

fn trusted() -> Trusted {
    let digest = format!("sha256:{:064}", 1).parse().unwrap();
    waive(PinnedRef::new("a.b/c".parse().unwrap(), digest), "a test").into()
}

fn id() -> ContainerId {
    ContainerId::new("c0ffee")
}

/// The error with its causes and the remedy; the path of the socket is replaced.
fn message(server: &Server, error: &DriverError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    if let Some(remedy) = error.remedy() {
        text = format!("{text}; {remedy}");
    }
    text.replace(server.socket().to_str().unwrap(), "SOCKET")
}

async fn listed(response: Response) -> String {
    listed_within(LONG, response).await
}

async fn listed_within(timeouts: Timeouts, response: Response) -> String {
    let server = Server::start(move |_| response.clone());
    let error = podman(&server)
        .with_timeouts(timeouts)
        .list()
        .await
        .unwrap_err();
    message(&server, &error)
}

const LISTENS_AT: &str = "Podman itself listens at /run/podman/podman.sock";
const LOG: &str = "read its log with `journalctl -u podman`, then try again";

#[tokio::test]
async fn another_service_is_recognized() {
    for (response, text) in [
        (
            Response::Raw(b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0".to_vec()),
            "it does not speak HTTP",
        ),
        (
            Response::Raw(b"SSH-2.0-x\r\n".to_vec()),
            "it does not speak HTTP",
        ),
        (
            Response::Full(200, vec![], b"<html>\x1b[2J</html>".to_vec()),
            "it responded with 200 <html>\u{fffd}[2J</html>",
        ),
        (
            Response::Full(404, vec![], br#"{"message":"page not found"}"#.to_vec()),
            r#"it responded with 404 {"message":"page not found"}"#,
        ),
        (Response::Full(200, vec![], vec![]), "it responded with 200"),
    ] {
        let expected = format!("what answers at SOCKET is not Podman: {text}; {LISTENS_AT}");
        assert_eq!(listed(response).await, expected);
    }
}

#[tokio::test]
async fn an_endless_response_of_another_service_is_truncated() {
    let text = listed(Response::Endless(vec![])).await;
    let begin = "what answers at SOCKET is not Podman: it responded with 200 zzzz";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.len() < 500, "{text}");
}

#[tokio::test]
async fn an_unreachable_socket_has_a_remedy() {
    let mut server = Server::start(|_| json(200, "[]"));
    let start = "start it with `systemctl enable --now podman.socket`";
    server.stop_listening().await;
    let error = podman(&server).list().await.unwrap_err();
    assert_eq!(
        message(&server, &error),
        format!("Podman cannot be reached at SOCKET: Connection refused (os error 111); {start}")
    );
    std::fs::remove_file(server.socket()).unwrap();
    let error = podman::ping(&server.socket(), LONG.response).await;
    assert_eq!(
        message(&server, &error.unwrap_err()),
        format!(
            "Podman cannot be reached at SOCKET: No such file or directory (os error 2); {start}"
        )
    );
}

#[tokio::test]
async fn a_malformed_response_is_an_error() {
    let none = "Podman could not list its containers: its response cannot be parsed:";
    for (body, why) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("[{]", "key must be a string at line 1 column 3"),
        (
            "{}",
            "invalid type: map, expected a sequence at line 1 column 0",
        ),
        (
            "[{\"Id\":1}]",
            "invalid type: integer `1`, expected a string at line 1 column 8",
        ),
    ] {
        assert_eq!(listed(json(200, body)).await, format!("{none} {why}"));
    }
    assert_eq!(
        listed(Response::Endless(libpod())).await,
        "Podman could not list its containers: its response has more than 16777216 bytes"
    );
    assert_eq!(
        listed(json(
            500,
            r#"{"cause":"b","message":"a: b","response":500}"#
        ))
        .await,
        "Podman could not list its containers: a: b"
    );
}

#[tokio::test]
async fn a_broken_connection_is_an_error() {
    let cut = "the connection to Podman broke: cannot list its containers";
    for response in [
        Response::Raw(vec![]),
        Response::Raw(b"HTTP/1.1 200 OK\r\nLibpod".to_vec()),
        Response::Truncated(b"[{\"Id\":".to_vec()),
    ] {
        let text = listed(response).await;
        assert!(text.starts_with(&format!("{cut}: ")), "{text}");
        assert!(text.ends_with(LOG), "{text}");
    }
}

#[tokio::test]
async fn a_missing_response_is_a_timeout() {
    for response in [
        Response::Stall(vec![]),
        Response::Stall(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Response::Stall(
            b"HTTP/1.1 200 OK\r\nLibpod-Api-Version: 4.3.1\r\nContent-Length: 9\r\n\r\n[".to_vec(),
        ),
    ] {
        let expected = format!("Podman did not list its containers within 1 s; {LOG}");
        assert_eq!(listed_within(SHORT, response).await, expected);
    }
}

/// A socket that accepts and never answers.
#[tokio::test]
async fn every_call_has_a_timeout_and_one_sentence() {
    let server = Server::start(|_| Response::Stall(vec![]));
    let quick = Timeouts {
        response: Duration::from_millis(1100),
        pull: Duration::from_millis(1100),
    };
    let podman = podman(&server).with_timeouts(quick);
    let image = trusted();
    let requested = "a.b/c:1".parse().unwrap();
    let launch = Launch::new("x".to_owned(), requested, trusted(), Vec::new()).unwrap();
    let entry = ImageEntry {
        id: "feed".to_owned(),
        names: Vec::new(),
        digests: Vec::new(),
        size: None,
        created: None,
        containers: 0,
        owner: ImageOwner::Unknown,
    };
    let (id, socket) = (id(), server.socket());
    let mut no_progress = |_| {};
    let (mut ignore_present, mut ignore_all) = (|_: OutputChunk<'_>| {}, |_: OutputChunk<'_>| {});
    let reading = async {
        tokio::join!(
            podman.list(),
            podman.images(),
            podman.stored_image(image.image()),
            podman.output(&id, Until::Now, &mut ignore_present),
            podman.output(&id, Until::Exit, &mut ignore_all),
            podman::ping(&socket, quick.response),
        )
    };
    let changing = async {
        tokio::join!(
            podman.pull(&image, &mut no_progress),
            podman.create(&launch),
            podman.prepare(&id),
            podman.start(&id),
            podman.end(&id, Duration::ZERO, After::Remove),
            ImageStore::remove(&podman, &entry),
        )
    };
    let (read, changed) = tokio::join!(reading, changing);
    let errors = [
        read.0.map(drop),
        read.1.map(drop),
        read.2.map(drop),
        read.3.map(drop),
        read.4.map(drop),
        read.5.map(drop),
        changed.0.map(drop),
        changed.1.map(drop),
        changed.2,
        changed.3,
        changed.4,
        changed.5,
    ];
    for error in errors {
        let text = message(&server, &error.unwrap_err());
        assert!(text.starts_with("Podman did not "), "{text}");
        assert!(text.ends_with(&format!(" within 1 s; {LOG}")), "{text}");
    }
}

#[tokio::test]
async fn ending_a_missing_container_is_no_error() {
    let missing = || {
        json(
            404,
            r#"{"message":"no container with ID c0ffee: no such container"}"#,
        )
    };
    let server = Server::start(move |_| missing());
    let podman = podman(&server);
    for after in [After::Keep, After::Remove] {
        podman.end(&id(), Duration::ZERO, after).await.unwrap();
    }
    for error in [
        podman.start(&id()).await.unwrap_err(),
        podman
            .output(&id(), Until::Now, &mut |_| {})
            .await
            .unwrap_err(),
    ] {
        let expected = "Podman has no container c0ffee; `schedctl ps` lists the existing ones";
        assert_eq!(message(&server, &error), expected);
    }
}

#[tokio::test]
async fn a_failed_removal_with_a_success_status_is_an_error() {
    let server = Server::start(|line| {
        if line.starts_with("DELETE") {
            return json(200, r#"[{"Id":"c0ffee","Err":"device busy"}]"#);
        }
        json(200, r#"{"State":{"Status":"exited"}}"#)
    });
    let podman = podman(&server);
    let error = podman.end(&id(), Duration::ZERO, After::Remove).await;
    let expected = "Podman could not remove c0ffee: \"device busy\"";
    assert_eq!(message(&server, &error.unwrap_err()), expected);
}

/// Only a container that the runtime's record proves to be ours.
#[tokio::test]
async fn what_is_not_certainly_ours_is_removed_without_force() {
    let name = "schedkit-x-0a1b2c3d";
    let provider = r#""provider":"schedkit""#;
    let ours = [
        "scheduler",
        "reference",
        "image",
        "args",
        "signer",
        "policy",
        "waiver",
    ]
    .map(|key| format!(r#""io.schedkit.{key}":"""#))
    .join(",");
    let proof = format!(r#""io.schedkit.container":"{name}","io.schedkit.image-hash":"feed""#);
    for (labels, query) in [
        (format!("{provider},{ours},{proof}"), "?force=true&v=true"),
        (provider.to_owned(), ""),
        (format!("{provider},{ours}"), ""),
        (String::new(), ""),
    ] {
        let server = Server::start(move |line| {
            if line.starts_with("DELETE") {
                return json(200, "[]");
            }
            let state = r#""State":{"Status":"exited"}"#;
            let labels = format!(r#""Config":{{"Labels":{{{labels}}}}}"#);
            json(
                200,
                &format!(r#"{{"Name":"{name}","Image":"feed",{state},{labels}}}"#),
            )
        });
        let podman = podman(&server);
        podman
            .end(&id(), Duration::ZERO, After::Remove)
            .await
            .unwrap();
        let removal = server.request_lines().pop().unwrap();
        let expected = format!("DELETE /v4.0.0/libpod/containers/c0ffee{query} HTTP/1.1");
        assert_eq!(removal, expected);
    }
}

/// Podman fails to inspect a container whose process exits at that moment.
#[tokio::test]
async fn a_container_that_exits_while_it_is_inspected_is_inspected_again() {
    let exits = |times: usize| {
        let asked = AtomicUsize::new(0);
        Server::start(move |line| {
            if !line.contains("/json") {
                return json(404, r#"{"message":"no log","response":404}"#);
            }
            if asked.fetch_add(1, Ordering::Relaxed) < times {
                let message = "read /proc/132/cgroup: no such process";
                return json(500, &format!(r#"{{"message":"{message}","response":500}}"#));
            }
            json(404, r#"{"message":"no such container","response":404}"#)
        })
    };
    let server = exits(2);
    let result = podman(&server).output(&id(), Until::Now, &mut |_| {}).await;
    let text = message(&server, &result.unwrap_err());
    assert!(!text.contains("no such process"), "{text}");
    let server = exits(usize::MAX);
    let result = podman(&server).output(&id(), Until::Now, &mut |_| {}).await;
    let text = message(&server, &result.unwrap_err());
    assert!(text.contains("no such process"), "{text}");
}

#[tokio::test]
async fn a_container_of_a_missing_image_is_not_created() {
    let server = Server::start(|_| json(404, r#"{"message":"no such image"}"#));
    let requested = "a.b/c:1".parse().unwrap();
    let launch = Launch::new("x".to_owned(), requested, trusted(), Vec::new()).unwrap();
    let error = podman(&server).create(&launch).await.unwrap_err();
    assert_eq!(
        message(&server, &error),
        format!(
            "Podman could not create a container of {}: the image is not in its store: pull it \
             first",
            trusted().image()
        )
    );
    assert!(
        server
            .request_lines()
            .iter()
            .all(|line| line.starts_with("GET"))
    );
}
