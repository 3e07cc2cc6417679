//! Bodies that are too long, too short, too slow or something else.

use schedkit_image::registry::{Problem, Progress, Registry};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::client::{
    client, descriptor, digest, hex, impatient_client, message, pinned, repository, tagged,
};
use crate::server::{Reply, Server, ok, status, with};

const CONTENT: &[u8] = b"{\"config\": 1}";
/// What the buffers on both sides of a connection may hold in addition.
const BUFFERS: u64 = 48 << 20;

/// The n-th reply to the n-th request; the last one repeats.
fn in_turn(replies: Vec<Reply>) -> impl Fn(&crate::server::Request) -> Reply + Send + Sync {
    move |request| replies[request.nth.min(replies.len() - 1)].clone()
}

#[tokio::test]
async fn invalid_manifests() {
    let cut = || Reply::Cut(100, CONTENT.to_vec());
    let wrong = format!(
        "cannot get IMAGE from HOST: the content has the digest sha256:{}, not sha256:{}",
        hex(b"other"),
        hex(CONTENT)
    );
    let too_big = "cannot get IMAGE from HOST: it has more than 4194304 bytes";
    let disconnected =
        "cannot get IMAGE from HOST: the connection broke before the response was complete";
    for (name, replies, expected, requests) in [
        ("good", vec![ok(CONTENT)], Ok(()), 1),
        (
            "good in chunks",
            vec![Reply::Chunked(CONTENT.to_vec())],
            Ok(()),
            1,
        ),
        ("wrong digest", vec![ok("other")], Err(wrong.as_str()), 1),
        (
            "1 GB announced",
            vec![Reply::Flood(Some(1 << 30))],
            Err(too_big),
            1,
        ),
        ("1 GB in chunks", vec![Reply::Flood(None)], Err(too_big), 1),
        (
            "one byte too many",
            vec![ok(vec![0; (4 << 20) + 1])],
            Err(too_big),
            1,
        ),
        ("always cut", vec![cut()], Err(disconnected), 3),
        ("cut twice", vec![cut(), cut(), ok(CONTENT)], Ok(()), 3),
        (
            "hung up at once",
            vec![Reply::Raw(vec![])],
            Err(disconnected),
            3,
        ),
        (
            "no HTTP",
            vec![Reply::Raw(b"SSH-2.0-x\r\n\r\n".to_vec())],
            Err(disconnected),
            3,
        ),
        (
            "cut chunk",
            vec![Reply::Raw(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nx".to_vec(),
            )],
            Err(disconnected),
            3,
        ),
        (
            "mad chunk",
            vec![Reply::Raw(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx".to_vec(),
            )],
            Err(disconnected),
            3,
        ),
        (
            "two lengths",
            vec![Reply::Raw(
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx".to_vec(),
            )],
            Err(disconnected),
            3,
        ),
        (
            "endless header",
            vec![Reply::Raw(
                [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &[b'x'; 2 << 20]].concat(),
            )],
            Err(disconnected),
            3,
        ),
    ] {
        let server = Server::start(in_turn(replies)).await;
        let image = pinned(&server.host, CONTENT);
        let outcome = client(&server.host).manifest(&image).await;
        let names = [(image.to_string(), "IMAGE"), (server.host.clone(), "HOST")];
        let names = names.each_ref().map(|(text, name)| (text.as_str(), *name));
        let outcome = outcome.map(|document| assert_eq!(document.bytes, CONTENT));
        let outcome = outcome.map_err(|error| message(&error, &names));
        assert_eq!(outcome, expected.map_err(str::to_owned), "{name}");
        assert_eq!(server.count(), requests, "{name}");
        assert!(server.sent() < BUFFERS, "{name}: {} bytes", server.sent());
    }
}

#[tokio::test]
async fn slow_responses_time_out() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n".to_vec();
    for (name, reply, limit) in [
        ("no reply", Reply::Stall(vec![]), "300ms"),
        ("half a head", Reply::Stall(head[..20].to_vec()), "300ms"),
        ("no body", Reply::Stall(head.clone()), "300ms"),
        (
            "half a body",
            Reply::Stall([head, b"x".to_vec()].concat()),
            "300ms",
        ),
        ("a byte now and then", Reply::Drip, "600ms"),
    ] {
        let server = Server::start(in_turn(vec![reply])).await;
        let image = pinned(&server.host, CONTENT);
        let error = impatient_client(&server.host)
            .manifest(&image)
            .await
            .unwrap_err();
        let names = [(server.host.as_str(), "HOST")];
        let expected = format!(
            "cannot get HOST/team/scx@{} from HOST: no response within {limit}",
            image.digest()
        );
        assert_eq!(message(&error, &names), expected, "{name}");
        assert_eq!(server.count(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_blob_that_does_not_match_its_descriptor() {
    let wrong_length =
        |found| format!("cannot get BLOB from HOST: the content has {found} bytes, not 13");
    let wrong_digest = format!(
        "cannot get BLOB from HOST: the content has the digest sha256:{}, not sha256:{}",
        hex(b"0123456789abc"),
        hex(CONTENT)
    );
    for (name, reply, expected, requests) in [
        ("announces less", ok("short"), wrong_length(5), 1),
        (
            "announces more",
            Reply::Flood(Some(1 << 30)),
            wrong_length(1 << 30),
            1,
        ),
        (
            "sends less",
            Reply::Chunked(b"short".to_vec()),
            wrong_length(5),
            1,
        ),
        (
            "sends more",
            Reply::Chunked(b"longer than that".to_vec()),
            wrong_length(16),
            1,
        ),
        (
            "sends more and more",
            Reply::Flood(None),
            wrong_length(0),
            1,
        ),
        ("sends other", ok("0123456789abc"), wrong_digest, 1),
        (
            "says its length and cuts",
            Reply::Cut(13, b"short".to_vec()),
            "cannot get BLOB from HOST: the connection broke before the response was complete"
                .to_owned(),
            3,
        ),
        (
            "is gone",
            status(404),
            "cannot get BLOB from HOST: it was not found: check the name".to_owned(),
            1,
        ),
    ] {
        let server = Server::start(in_turn(vec![reply])).await;
        let repository = repository(&server.host);
        let client = client(&server.host);
        let blob = descriptor(CONTENT);
        let error = client.blob(&repository, &blob, 100).await.unwrap_err();
        let what = format!("blob {} of {repository}", blob.digest);
        let message = message(&error, &[(&what, "BLOB"), (&server.host, "HOST")]);
        match error.problem() {
            // How much of a flood arrives in one chunk depends on the system.
            Problem::WrongLength { found, .. } if name == "sends more and more" => {
                assert!((14..=1 << 20).contains(found), "{found}");
            }
            _ => assert_eq!(message, expected, "{name}"),
        }
        assert_eq!(server.count(), requests, "{name}");
        assert!(server.sent() < BUFFERS, "{name}: {} bytes", server.sent());
    }
}

#[tokio::test]
async fn a_blob_above_the_limit_is_not_requested() {
    let server = Server::start(|_| ok(CONTENT)).await;
    let repository = repository(&server.host);
    let client = client(&server.host);
    let blob = descriptor(CONTENT);
    let error = client.blob(&repository, &blob, 12).await.unwrap_err();
    assert!(matches!(error.problem(), Problem::TooBig { limit: 12 }));
    assert_eq!(server.count(), 0);
    let bytes = client.blob(&repository, &blob, 13).await.unwrap();
    assert_eq!(bytes, CONTENT);
}

#[tokio::test]
async fn a_blob_in_a_file_starts_again_after_a_disconnect() {
    let content = vec![b'x'; 300_000];
    let replies = vec![Reply::Cut(300_000, vec![b'y'; 200_000]), ok(&content)];
    let server = Server::start(in_turn(replies)).await;
    let mut file = tokio::fs::File::from_std(tempfile::tempfile().unwrap());
    let mut progress = Vec::new();
    let client = client(&server.host);
    let blob = descriptor(&content);
    let repository = repository(&server.host);
    let fetched = client.fetch(&repository, &blob, 1 << 20, &mut file, |now| {
        progress.push(now);
    });
    fetched.await.unwrap();
    let mut kept = Vec::new();
    file.rewind().await.unwrap();
    file.read_to_end(&mut kept).await.unwrap();
    assert_eq!(kept, content);
    let begin = Progress {
        received: 0,
        total: 300_000,
    };
    assert_eq!(progress[0], begin);
    assert_eq!(progress.iter().filter(|now| **now == begin).count(), 2);
    assert_eq!(progress.last().unwrap().received, 300_000);
    let again = progress.iter().rposition(|now| *now == begin).unwrap();
    assert!(progress[again..].is_sorted_by_key(|now| now.received));
}

#[tokio::test]
async fn a_digest_comes_from_the_header_else_from_the_content() {
    const HEADER: &str = "Docker-Content-Digest";
    let named = |content: &[u8]| with(200, HEADER, digest(content).to_string());
    let bad = || with(200, HEADER, "sha512:00");
    let malformed = "cannot get HOST/team/scx:1 from HOST: the response cannot be used: its header Docker-Content-Digest holds no SHA-256 digest";
    for (name, head, expected, requests) in [
        ("in the header", named(CONTENT), Ok(()), vec!["HEAD"]),
        ("in the content", ok(""), Ok(()), vec!["HEAD", "GET"]),
        ("no digest", bad(), Err(malformed), vec!["HEAD"]),
        (
            "gone",
            status(404),
            Err("cannot get HOST/team/scx:1 from HOST: it was not found: check the name"),
            vec!["HEAD"],
        ),
    ] {
        let server = Server::start(move |request| match request.is("HEAD ") {
            true => head.clone(),
            false => ok(CONTENT),
        })
        .await;
        let outcome = client(&server.host).head(&tagged(&server.host)).await;
        let outcome = outcome.map(|found| assert_eq!(found, digest(CONTENT)));
        let outcome = outcome.map_err(|error| message(&error, &[(&server.host, "HOST")]));
        assert_eq!(outcome, expected.map_err(str::to_owned), "{name}");
        let sent = server.requests();
        let expected = requests
            .iter()
            .map(|method| format!("{method} /v2/team/scx/manifests/1"));
        assert!(
            sent.iter().map(|request| request.line.clone()).eq(expected),
            "{name}"
        );
    }
    // A request by digest accepts no other digest, neither in the header nor of the content.
    for head in [named(b"other"), ok("")] {
        let server = Server::start(move |request| match request.is("HEAD ") {
            true => head.clone(),
            false => ok("other"),
        })
        .await;
        let image = pinned(&server.host, CONTENT).into();
        let error = client(&server.host).head(&image).await.unwrap_err();
        assert!(
            matches!(error.problem(), Problem::WrongDigest { .. }),
            "{error}"
        );
    }
}

#[tokio::test]
async fn successive_requests_share_a_connection() {
    let server = Server::start(|_| ok(CONTENT)).await;
    let client = client(&server.host);
    for _ in 0..5 {
        client
            .manifest(&pinned(&server.host, CONTENT))
            .await
            .unwrap();
        client.document(&tagged(&server.host)).await.unwrap();
    }
    assert_eq!((server.count(), server.connections()), (10, 1));
}
