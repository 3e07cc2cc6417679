//! Tests of where a catalog comes from, with a small server on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::*;

const FIRST: &str = r#"{"first": {"imageURI": "a.example/first"}}"#;

/// Gives one answer a connection and tells which version the caller had.
struct Server {
    url: CatalogUrl,
    had: Receiver<Option<String>>,
}

impl Server {
    fn answering(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/c.json", listener.local_addr().unwrap());
        let (sender, had) = channel();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let head = request(&stream);
                let had = head
                    .iter()
                    .find_map(|line| line.strip_prefix("if-none-match: "));
                sender.send(had.map(str::to_owned)).unwrap();
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let url = url.parse().unwrap();
        Self { url, had }
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
fn what_has_not_changed_is_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().join("made/when/needed"));
    let answers = vec![ok(FIRST, "\"1\""), status("304 Not Modified")];
    let server = Server::answering(answers);
    let source = Source::Given(Location::Url(server.url.clone()));
    for had in [None, Some("\"1\"")] {
        let loaded = load_now(&source, &cache).unwrap();
        assert_eq!(names(&loaded), ["first"]);
        assert!(loaded.warning.is_none());
        assert_eq!(server.had.recv().unwrap().as_deref(), had);
    }
}

#[test]
fn the_published_one_gives_way_to_the_kept_and_that_to_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().to_owned());
    let answers = vec![
        status("500 Oops"),
        ok("{\n]", "\"0\""),
        ok(FIRST, "\"1\""),
        status("500 Oops"),
        ok("{\n]", "\"2\""),
    ];
    let server = Server::answering(answers);
    let source = Source::Published(server.url.clone());
    for (had, origin, why) in [
        (None, Origin::Snapshot, "500"),
        (None, Origin::Snapshot, "is broken: line 2, column 1"),
        (
            None,
            Origin::Location(Location::Url(server.url.clone())),
            "",
        ),
        (Some("\"1\""), Origin::Cache(server.url.clone()), "500"),
        (Some("\"1\""), Origin::Cache(server.url.clone()), "line 2"),
    ] {
        let loaded = load_now(&source, &cache).unwrap();
        assert_eq!(server.had.recv().unwrap().as_deref(), had);
        assert_eq!(loaded.origin, origin);
        let said = loaded.warning.as_ref().map(|warning| chain(warning));
        let said = said.unwrap_or_default();
        assert_eq!(said.is_empty(), why.is_empty(), "{said}");
        assert!(said.contains(why), "{said}");
        assert_eq!(names(&loaded) == ["first"], origin != Origin::Snapshot);
    }
}

#[test]
fn nothing_stands_in_for_a_catalog_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().to_owned());
    let answers = vec![ok(FIRST, "\"1\""), status("404 Gone"), ok("[]", "\"2\"")];
    let server = Server::answering(answers);
    let source = Source::Given(Location::Url(server.url.clone()));
    assert!(load_now(&source, &cache).is_ok());
    assert!(matches!(
        load_now(&source, &cache),
        Err(SourceError::Url { .. })
    ));
    assert!(matches!(
        load_now(&source, &cache),
        Err(SourceError::Broken { .. })
    ));

    let path = folder.path().join("none.json");
    let source = Source::Given(Location::File(path.clone()));
    assert!(matches!(
        load_now(&source, &cache),
        Err(SourceError::File { .. })
    ));
    std::fs::write(&path, "{\n\n]").unwrap();
    let said = chain(&load_now(&source, &cache).unwrap_err());
    assert!(
        said.contains("none.json is broken: line 3, column 1"),
        "{said}"
    );
    std::fs::write(&path, FIRST).unwrap();
    assert_eq!(names(&load_now(&source, &cache).unwrap()), ["first"]);
}

#[test]
fn a_download_has_an_end() {
    let endless = ok(&" ".repeat(LARGEST + 1), "\"1\"");
    let nowhere =
        "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let answers = [vec![endless], vec![nowhere.to_owned(); 5]].concat();
    let server = Server::answering(answers);
    let source = Source::Given(Location::Url(server.url.clone()));
    for why in ["more than 1048576 bytes", "redirect"] {
        let said = chain(&load_now(&source, &Cache::Off).unwrap_err());
        assert!(said.contains(why), "{said}");
    }
}

/// Nothing but the limit ends this: the server has all the time in the world.
#[test]
fn a_server_that_stops_talking_is_left_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/c.json", listener.local_addr().unwrap());
    let source = Source::Given(Location::Url(url.parse().unwrap()));
    let talker = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request(&stream);
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{";
        stream.write_all(head.as_bytes()).unwrap();
        stream
    });
    let said = chain(&load_now(&source, &Cache::Off).unwrap_err());
    assert!(said.contains("timed out"), "{said}");
    drop(talker.join());
}

#[test]
fn a_kept_file_that_is_damaged_is_as_good_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::Folder(folder.path().to_owned());
    let server = Server::answering(vec![ok(FIRST, "\"1\""), status("500 Oops")]);
    let source = Source::Published(server.url.clone());
    load_now(&source, &cache).unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), r#"{"etag": "x", "catalog": "[]"}"#).unwrap();
    }
    assert_eq!(load_now(&source, &cache).unwrap().origin, Origin::Snapshot);
    assert_eq!(server.had.try_iter().collect::<Vec<_>>(), [None, None]);
}

#[test]
fn an_address_and_a_path_are_told_apart() {
    let url: Location = "https://example.org/c.json".parse().unwrap();
    assert!(matches!(url, Location::Url(_)));
    let file: Location = "catalog/manifest.json".parse().unwrap();
    assert_eq!(file, Location::File("catalog/manifest.json".into()));
    assert_eq!("ftp://a/b".parse::<Location>(), Err(UrlError::NotHttp));
}
