//! Podman's driver against sockets where something else, something broken or nobody listens:
//! the exact sentence each time. No root and no Podman is needed.

#![cfg(test)]

mod server;

use std::error::Error;
use std::time::Duration;

use schedkit_core::PinnedRef;
use schedkit_image::registry::{Credentials, Hosts};
use schedkit_image::signature::{Trusted, waive};
use schedkit_runtime::podman::{self, Podman, Waits};
use schedkit_runtime::{After, ContainerId, Driver, DriverError, Launch, Progress, Until};

use server::{Answer, Server, json, libpod};

/// Nothing here takes as long, but on a machine that is busy.
const LONG: Waits = Waits {
    answer: Duration::from_secs(60),
    pull: Duration::from_secs(60),
};
/// For what will not come.
const SHORT: Waits = Waits {
    answer: Duration::from_secs(1),
    pull: Duration::from_secs(2),
};

fn podman(server: &Server) -> Podman {
    let (hosts, logins) = (Hosts::default(), Credentials::none());
    Podman::new(server.socket(), hosts, logins).with_waits(LONG)
}

fn trusted() -> Trusted {
    let digest = format!("sha256:{:064}", 1).parse().unwrap();
    waive(PinnedRef::new("a.b/c".parse().unwrap(), digest), "a test").into()
}

fn id() -> ContainerId {
    ContainerId::new("c0ffee")
}

/// The sentence with its causes and the remedy, the socket's path masked.
fn sentence(server: &Server, error: &DriverError) -> String {
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

async fn listed(answer: Answer) -> String {
    listed_within(LONG, answer).await
}

async fn listed_within(waits: Waits, answer: Answer) -> String {
    let server = Server::start(move |_| answer.clone());
    let error = podman(&server).with_waits(waits).list().await.unwrap_err();
    sentence(&server, &error)
}

const STRANGER: &str = "Podman itself listens at /run/podman/podman.sock";
const LOG: &str = "look into its log with `journalctl -u podman`, then try again";

#[tokio::test]
async fn who_is_not_podman_is_told_from_it() {
    for (answer, said) in [
        (
            Answer::Raw(b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0".to_vec()),
            "it does not speak HTTP",
        ),
        (
            Answer::Raw(b"SSH-2.0-x\r\n".to_vec()),
            "it does not speak HTTP",
        ),
        (
            Answer::Full(200, vec![], b"<html>\x1b[2J</html>".to_vec()),
            "it says 200 <html>\u{fffd}[2J</html>",
        ),
        (
            Answer::Full(404, vec![], br#"{"message":"page not found"}"#.to_vec()),
            r#"it says 404 {"message":"page not found"}"#,
        ),
        (Answer::Full(200, vec![], vec![]), "it says 200"),
    ] {
        let expected = format!("what answers at SOCKET is not Podman: {said}; {STRANGER}");
        assert_eq!(listed(answer).await, expected);
    }
}

#[tokio::test]
async fn a_stranger_who_does_not_stop_talking_is_cut_short() {
    let said = listed(Answer::Flood(vec![])).await;
    let begin = "what answers at SOCKET is not Podman: it says 200 zzzz";
    assert!(said.starts_with(begin), "{said}");
    assert!(said.len() < 500, "{said}");
}

#[tokio::test]
async fn nobody_there_is_told_with_the_way_to_start_it() {
    let mut server = Server::start(|_| json(200, "[]"));
    let start = "start it with `systemctl enable --now podman.socket`";
    server.hang_up().await;
    let error = podman(&server).list().await.unwrap_err();
    assert_eq!(
        sentence(&server, &error),
        format!("Podman cannot be reached at SOCKET: Connection refused (os error 111); {start}")
    );
    std::fs::remove_file(server.socket()).unwrap();
    let error = podman::ping(&server.socket(), LONG.answer).await;
    assert_eq!(
        sentence(&server, &error.unwrap_err()),
        format!(
            "Podman cannot be reached at SOCKET: No such file or directory (os error 2); {start}"
        )
    );
}

#[tokio::test]
async fn an_answer_that_is_none_is_said_to_be() {
    let none = "Podman could not list its containers: its answer cannot be understood:";
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
        listed(Answer::Flood(libpod())).await,
        "Podman could not list its containers: its answer has more than 16777216 bytes"
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
async fn a_connection_that_breaks_is_told() {
    let cut = "the connection to Podman broke: cannot list its containers";
    for answer in [
        Answer::Raw(vec![]),
        Answer::Raw(b"HTTP/1.1 200 OK\r\nLibpod".to_vec()),
        Answer::Cut(b"[{\"Id\":".to_vec()),
    ] {
        let said = listed(answer).await;
        assert!(said.starts_with(&format!("{cut}: ")), "{said}");
        assert!(said.ends_with(LOG), "{said}");
    }
}

#[tokio::test]
async fn who_never_answers_is_not_waited_for() {
    for answer in [
        Answer::Stall(vec![]),
        Answer::Stall(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Answer::Stall(
            b"HTTP/1.1 200 OK\r\nLibpod-Api-Version: 4.3.1\r\nContent-Length: 9\r\n\r\n[".to_vec(),
        ),
    ] {
        let expected = format!("Podman did not list its containers within 1 s; {LOG}");
        assert_eq!(listed_within(SHORT, answer).await, expected);
    }
}

#[tokio::test]
async fn a_pull_that_falls_silent_is_ended() {
    let head = "HTTP/1.1 200 OK\r\nLibpod-Api-Version: 4.3.1\r\n\r\n{\"stream\":\"Trying\"}\n";
    let server = Server::start(move |line| {
        if line.starts_with("POST") {
            return Answer::Stall(head.as_bytes().to_vec());
        }
        json(404, r#"{"message":"no such image"}"#)
    });
    let mut heard = Vec::new();
    let podman = podman(&server).with_waits(SHORT);
    let mut take = |progress| heard.push(progress);
    let pulled = podman.pull(&trusted(), &mut take).await;
    let said = sentence(&server, &pulled.unwrap_err());
    let image = trusted().image().to_string();
    assert_eq!(
        said,
        format!("Podman did not pull {image} within 2 s; {LOG}")
    );
    assert_eq!(heard, [Progress::Note("Trying".to_owned())]);
}

#[tokio::test]
async fn a_pull_that_fails_says_why() {
    let image = trusted().image().to_string();
    let trying = "{\"stream\":\"Trying to pull\"}\n";
    for (lines, said) in [
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
                "Podman could not pull {image}: a line about the pull cannot be understood: EOF \
                 while parsing a string at line 1 column 5"
            ),
        ),
        // It says that it is done, and has something else.
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
        assert_eq!(sentence(&server, &pulled.unwrap_err()), said);
    }
}

#[tokio::test]
async fn a_pull_asks_for_the_digest_and_nothing_else() {
    let server = Server::start(|_| json(404, r#"{"message":"no such image"}"#));
    let error = podman(&server).pull(&trusted(), &mut |_| {}).await;
    assert!(matches!(error, Err(DriverError::Refused { .. })));
    let image = trusted().image().to_string();
    let coded = image
        .replace('/', "%2F")
        .replace(':', "%3A")
        .replace('@', "%40");
    assert_eq!(
        server.asked(),
        [
            format!("GET /v4.0.0/libpod/images/{coded}/json HTTP/1.1"),
            format!("POST /v4.0.0/libpod/images/pull?reference={coded} HTTP/1.1"),
        ]
    );
}

#[tokio::test]
async fn mirrors_are_asked_first_and_an_air_gap_holds() {
    let hosts = r#"{
        "a.b": {"mirrors": ["m.n/x", "o.p:1"], "upstream": "never"},
        "o.p:1": {"security": "plain-http"}
    }"#;
    let server = Server::start(|_| json(404, r#"{"message":"no such image"}"#));
    let hosts = serde_json::from_str(hosts).unwrap();
    let podman = Podman::new(server.socket(), hosts, Credentials::none()).with_waits(LONG);
    podman.pull(&trusted(), &mut |_| {}).await.unwrap_err();
    let pulls = server
        .asked()
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
async fn a_login_is_shown_to_podman_and_to_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auth.json");
    // u:hunter2
    std::fs::write(&file, r#"{"auths":{"a.b":{"auth":"dTpodW50ZXIy"}}}"#).unwrap();
    let server = Server::start(|_| json(500, r#"{"message":"unauthorized"}"#));
    let logins = Credentials::from_file(file.clone());
    let podman = Podman::new(server.socket(), Hosts::default(), logins).with_waits(LONG);
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
    let podman = Podman::new(server.socket(), Hosts::default(), logins).with_waits(LONG);
    let error = podman.pull(&trusted(), &mut |_| {}).await.unwrap_err();
    assert!(sentence(&server, &error).ends_with("; log in with `podman login`"));
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

#[tokio::test]
async fn a_container_that_is_gone_has_ended() {
    let gone = || {
        json(
            404,
            r#"{"message":"no container with ID c0ffee: no such container"}"#,
        )
    };
    let server = Server::start(move |_| gone());
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
        let expected = "Podman has no container c0ffee; `schedctl ps` lists those that there are";
        assert_eq!(sentence(&server, &error), expected);
    }
}

#[tokio::test]
async fn a_removal_that_failed_behind_a_yes_is_told() {
    let server = Server::start(|line| {
        if line.starts_with("DELETE") {
            return json(200, r#"[{"Id":"c0ffee","Err":"device busy"}]"#);
        }
        json(200, r#"{"State":{"Status":"exited"}}"#)
    });
    let podman = podman(&server);
    let error = podman.end(&id(), Duration::ZERO, After::Remove).await;
    let expected = "Podman could not remove c0ffee: \"device busy\"";
    assert_eq!(sentence(&server, &error.unwrap_err()), expected);
}

#[tokio::test]
async fn output_that_is_none_is_refused() {
    let output = |body: &'static [u8]| async move {
        let server = Server::start(move |line| {
            if line.contains("/logs") {
                return Answer::Full(200, libpod(), body.to_vec());
            }
            json(200, r#"{"State":{"Status":"running","Pid":7}}"#)
        });
        let error = podman(&server).output(&id(), Until::Now, &mut |_| {}).await;
        sentence(&server, &error.unwrap_err())
    };
    assert_eq!(
        output(b"plain text\n").await,
        "Podman could not show the output of c0ffee: a frame of its output begins with \
         [112, 108, 97, 105]"
    );
    assert_eq!(
        output(&[1, 0, 0, 0, 0, 0, 0, 2, b'x']).await,
        "Podman could not show the output of c0ffee: its output ends inside a frame"
    );
}

#[tokio::test]
async fn nothing_is_made_of_an_image_that_is_not_there() {
    let server = Server::start(|_| json(404, r#"{"message":"no such image"}"#));
    let requested = "a.b/c:1".parse().unwrap();
    let launch = Launch::new("x".to_owned(), requested, trusted(), Vec::new()).unwrap();
    let error = podman(&server).create(&launch).await.unwrap_err();
    assert_eq!(
        sentence(&server, &error),
        format!(
            "Podman could not create a container of {}: the image is not in its store: pull it \
             first",
            trusted().image()
        )
    );
    assert!(server.asked().iter().all(|line| line.starts_with("GET")));
}
