//! Tests of the sources of a catalog, with a small HTTP server on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::*;

const FIRST: &str = r#"{"first": {"imageURI": "ghcr.io/schedkit/first"}}"#;
/// A name that leads elsewhere.
const ELSEWHERE: &str = r#"{"first": {"imageURI": "a.example/first"}}"#;

/// Sends one response per connection and records the `If-None-Match` of each request.
struct Server {
    url: CatalogUrl,
    known: Receiver<Option<String>>,
}

impl Server {
    fn sending(responses: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/c.json", listener.local_addr().unwrap());
        let (sender, known) = channel();
        thread::spawn(move || {
            for response in responses {
                let (mut stream, _) = listener.accept().unwrap();
                let head = request(&stream);
                let known = head
                    .iter()
                    .find_map(|line| line.strip_prefix("if-none-match: "));
                sender.send(known.map(str::to_owned)).unwrap();
                let _ = stream.write_all(response.as_bytes());
            }
        });
        let url = CatalogUrl::of_test_server(url);
        Self { url, known }
    }
}

/// The lines of a request's head.
fn request(stream: &TcpStream) -> Vec<String> {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn ok(body: &str, etag: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\netag: {etag}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn load_now(source: &Source, cache: &Cache) -> Result<Loaded, SourceError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(load(source, cache))
}

fn names(loaded: &Loaded) -> Vec<&str> {
    let entries = loaded.catalog.entries();
    entries.map(|(name, _)| name.as_str()).collect()
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}

#[test]
fn an_unchanged_catalog_is_not_downloaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().join("created/when/needed"));
    let responses = vec![ok(FIRST, "\"1\""), status("304 Not Modified")];
    let server = Server::sending(responses);
    let source = Source::Given(Location::Url(server.url.clone()));
    for known in [None, Some("\"1\"")] {
        let loaded = load_now(&source, &cache).unwrap();
        assert_eq!(names(&loaded), ["first"]);
        assert!(loaded.warning.is_none());
        assert_eq!(server.known.recv().unwrap().as_deref(), known);
    }
}

#[test]
fn the_cached_copy_then_the_embedded_one_replace_the_published() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().to_owned());
    let responses = vec![
        status("500 Oops"),
        ok("{\n]", "\"0\""),
        ok(FIRST, "\"1\""),
        status("500 Oops"),
        ok("{\n]", "\"2\""),
    ];
    let server = Server::sending(responses);
    let source = Source::Published(server.url.clone());
    for (known, origin, why) in [
        (None, Origin::Snapshot, "500"),
        (None, Origin::Snapshot, "is invalid: line 2, column 1"),
        (
            None,
            Origin::Location(Location::Url(server.url.clone())),
            "",
        ),
        (Some("\"1\""), Origin::Cache(server.url.clone()), "500"),
        (Some("\"1\""), Origin::Cache(server.url.clone()), "line 2"),
    ] {
        let loaded = load_now(&source, &cache).unwrap();
        assert_eq!(server.known.recv().unwrap().as_deref(), known);
        assert_eq!(loaded.origin, origin);
        let message = loaded.warning.as_ref().map(|warning| chain(warning));
        let message = message.unwrap_or_default();
        assert_eq!(message.is_empty(), why.is_empty(), "{message}");
        assert!(message.contains(why), "{message}");
        assert_eq!(names(&loaded) == ["first"], origin != Origin::Snapshot);
    }
}

#[test]
fn the_published_catalog_cannot_lead_a_name_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().to_owned());
    let responses = vec![ok(ELSEWHERE, "\"1\""), ok(ELSEWHERE, "\"1\"")];
    let server = Server::sending(responses);
    let published = Source::Published(server.url.clone());
    let loaded = load_now(&published, &cache).unwrap();
    assert_eq!(loaded.origin, Origin::Snapshot);
    let message = chain(&loaded.warning.unwrap());
    assert!(message.contains("first is a.example/first"), "{message}");
    // The user's own catalog says what the user says, and its copy is not the published one.
    let given = Source::Given(Location::Url(server.url.clone()));
    assert_eq!(names(&load_now(&given, &cache).unwrap()), ["first"]);
    let stored = load_stored(&published, &cache).unwrap();
    assert_eq!(stored, Catalog::snapshot().unwrap());
    let offline = load_now(&published, &cache).unwrap();
    assert_eq!(offline.origin, Origin::Snapshot);
}

#[test]
fn a_catalog_that_the_user_names_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().to_owned());
    let responses = vec![ok(FIRST, "\"1\""), status("404 Gone"), ok("[]", "\"2\"")];
    let server = Server::sending(responses);
    let source = Source::Given(Location::Url(server.url.clone()));
    assert!(load_now(&source, &cache).is_ok());
    assert!(matches!(
        load_now(&source, &cache),
        Err(SourceError::Url { .. })
    ));
    assert!(matches!(
        load_now(&source, &cache),
        Err(SourceError::Invalid { .. })
    ));

    let path = folder.path().join("none.json");
    let source = Source::Given(Location::File(path.clone()));
    assert!(matches!(
        load_now(&source, &cache),
        Err(SourceError::File { .. })
    ));
    std::fs::write(&path, "{\n\n]").unwrap();
    let message = chain(&load_now(&source, &cache).unwrap_err());
    assert!(
        message.contains("none.json is invalid: line 3, column 1"),
        "{message}"
    );
    std::fs::write(&path, FIRST).unwrap();
    assert_eq!(names(&load_now(&source, &cache).unwrap()), ["first"]);
}

#[test]
fn size_and_redirects_of_a_download_are_limited() {
    let endless = ok(&" ".repeat(MAX_BYTES + 1), "\"1\"");
    let nowhere =
        "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let responses = [vec![endless], vec![nowhere.to_owned(); 5]].concat();
    let server = Server::sending(responses);
    let source = Source::Given(Location::Url(server.url.clone()));
    for why in ["more than 1048576 bytes", "redirect"] {
        let message = chain(&load_now(&source, &Cache::Off).unwrap_err());
        assert!(message.contains(why), "{message}");
    }
}

/// The server keeps the connection open; only the timeout ends the download.
#[test]
fn a_server_that_stops_sending_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/c.json", listener.local_addr().unwrap());
    let url = CatalogUrl::of_test_server(url);
    let source = Source::Given(Location::Url(url));
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request(&stream);
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{";
        stream.write_all(head.as_bytes()).unwrap();
        stream
    });
    let message = chain(&load_now(&source, &Cache::Off).unwrap_err());
    assert!(message.contains("timed out"), "{message}");
    drop(server.join());
}

#[test]
fn a_damaged_cache_file_counts_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().to_owned());
    let server = Server::sending(vec![ok(FIRST, "\"1\""), status("500 Oops")]);
    let source = Source::Published(server.url.clone());
    load_now(&source, &cache).unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), r#"{"etag": "x", "catalog": "[]"}"#).unwrap();
    }
    assert_eq!(load_now(&source, &cache).unwrap().origin, Origin::Snapshot);
    assert_eq!(server.known.try_iter().collect::<Vec<_>>(), [None, None]);
}

#[test]
fn urls_and_paths_are_told_apart() {
    let url: Location = "https://example.org/c.json".parse().unwrap();
    assert!(matches!(url, Location::Url(_)));
    let file: Location = "catalog/manifest.json".parse().unwrap();
    assert_eq!(file, Location::File("catalog/manifest.json".into()));
    assert_eq!("ftp://a/b".parse::<Location>(), Err(UrlError::NotHttps));
}
