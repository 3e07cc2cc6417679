//! The output of a container: what Podman may send, and which part of it is shown.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use jiff::{Timestamp, ToSpan};
use schedkit_runtime::{Driver, OutputChunk, Until};

use crate::server::{Response, Server, json, libpod};
use crate::{id, message, podman};

#[tokio::test]
async fn malformed_output_is_an_error() {
    let output = |body: &'static [u8]| async move {
        let server = Server::start(move |line| {
            if line.contains("/logs") {
                return Response::Full(200, libpod(), body.to_vec());
            }
            json(200, r#"{"State":{"Status":"running","Pid":7}}"#)
        });
        let error = podman(&server).output(&id(), Until::Now, &mut |_| {}).await;
        message(&server, &error.unwrap_err())
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

/// The log of a container as Podman selects from it: lines by their times.
fn log_request(line: &str, log: &[(Timestamp, &str)]) -> Response {
    let query = line.split(['?', '&', ' ']);
    let query: Vec<(&str, String)> = query
        .filter_map(|part| part.split_once('='))
        .map(|(key, value)| (key, value.replace("%3A", ":")))
        .collect();
    let bound = |wanted: &str| {
        let found = query.iter().find(|(key, _)| *key == wanted);
        found.map(|(_, time)| time.parse::<Timestamp>().unwrap())
    };
    let (since, until) = (bound("since"), bound("until"));
    let mut body = Vec::new();
    for (time, text) in log {
        if since.is_none_or(|since| *time > since) && until.is_none_or(|until| *time < until) {
            let length = u32::try_from(text.len()).unwrap().to_be_bytes();
            body.extend([&[1, 0, 0, 0][..], &length, text.as_bytes()].concat());
        }
    }
    Response::Full(200, libpod(), body)
}

async fn all_output(server: &Server, until: Until) -> String {
    let mut all = Vec::new();
    let mut take = |chunk: OutputChunk<'_>| all.extend_from_slice(chunk.bytes);
    podman(server)
        .output(&id(), until, &mut take)
        .await
        .unwrap();
    String::from_utf8(all).unwrap()
}

/// By a switch that failed: the exit code is lost, and the wait must not be for the next exit.
#[tokio::test]
async fn following_the_output_ends_when_the_container_was_started_again() {
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |line| {
        if line.contains("/logs") {
            return Response::Full(200, libpod(), vec![]);
        }
        if line.contains("/wait") {
            return Response::Stall(vec![]);
        }
        // Each request is answered, and then looked at once more.
        let pid = match asked.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => 7,
            _ => 8,
        };
        json(
            200,
            &format!(r#"{{"State":{{"Status":"running","Pid":{pid}}}}}"#),
        )
    });
    let podman = podman(&server);
    let mut ignore = |_: OutputChunk<'_>| {};
    let id = id();
    let followed = podman.output(&id, Until::Exit, &mut ignore);
    let followed = tokio::time::timeout(Duration::from_secs(20), followed).await;
    assert_eq!(followed.unwrap().unwrap(), None);
}

/// By NTP after the boot: what is printed from then on has times before the start.
#[tokio::test]
async fn output_is_followed_when_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pidfile");
    File::create(&pid_file).unwrap();
    let now = Timestamp::now();
    let log = [
        (now - 3.hours(), "of an earlier start\n"),
        (now + 1.second(), "attached\n"),
        (now - 2.hours(), "after the clock was set back\n"),
    ];
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |line| {
        if line.contains("/logs") {
            let there = match asked.fetch_add(1, Ordering::Relaxed) {
                0 if !line.contains("follow") => &log[..1],
                _ => &log[..],
            };
            return log_request(line, there);
        }
        let state = r#""State":{"Status":"exited","ExitCode":0}"#;
        json(200, &format!(r#"{{{state},"PidFile":{pid_file:?}}}"#))
    });
    let output = all_output(&server, Until::Exit).await;
    assert_eq!(output, "attached\nafter the clock was set back\n");
}

#[tokio::test]
async fn the_output_of_a_process_is_shown_after_the_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pidfile");
    // By the clock of that time.
    let file = File::create(&pid_file).unwrap();
    let hour = Duration::from_secs(3600);
    file.set_modified(SystemTime::now() + hour).unwrap();
    let now = Timestamp::now();
    let log = [
        (now - 3.hours(), "of an earlier start\n"),
        (now, "of this start\n"),
    ];
    let pid = std::process::id();
    let server = Server::start(move |line| {
        if line.contains("/logs") {
            return log_request(line, &log);
        }
        let state = format!(r#""State":{{"Status":"running","Pid":{pid}}}"#);
        json(200, &format!(r#"{{{state},"PidFile":{pid_file:?}}}"#))
    });
    assert_eq!(all_output(&server, Until::Now).await, "of this start\n");
}
