//! Whether Podman shows a registry the login that we give it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use schedkit_core::PinnedRef;
use schedkit_image::registry::Credentials;
use schedkit_image::signature::waive;
use schedkit_runtime::{Driver, DriverError, Podman};
use serde_json::json;

use testkit::podman::podman_service;

/// A registry that wants a password and has nothing; it tells which ones it was shown.
fn registry() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (shown, passwords) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head = lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty());
            let login = head.filter_map(|line| {
                let (name, value) = line.split_once(": ")?;
                (name == "Authorization").then(|| value.to_owned())
            });
            let answer = match login.last() {
                Some(login) => {
                    shown.send(login).unwrap();
                    "404 Not Found"
                }
                None => "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"",
            };
            let rest = "Content-Length: 0\r\nConnection: close";
            // Whoever hung up has tried TLS first.
            let _ = write!(stream, "HTTP/1.1 {answer}\r\n{rest}\r\n\r\n");
        }
    });
    (address, passwords)
}

#[tokio::test]
async fn a_login_of_ours_reaches_the_registry() {
    let service = podman_service();
    let (address, passwords) = registry();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auth.json");
    let coded = "dTpodW50ZXIy";
    let auths = json!({"auths": {address.as_str(): {"auth": coded}}});
    std::fs::write(&file, auths.to_string()).unwrap();
    let hosts = json!({address.as_str(): {"security": "plain-http"}});
    let hosts = serde_json::from_value(hosts).unwrap();
    let podman = Podman::new(service.socket(), hosts, Credentials::from_file(file));
    let repository = format!("{address}/private").parse().unwrap();
    let digest = format!("sha256:{:064}", 6).parse().unwrap();
    let image = waive(PinnedRef::new(repository, digest), "a test").into();
    let pulled = podman.pull(&image, &mut |_| {}).await;
    assert!(
        matches!(pulled, Err(DriverError::Refused { .. })),
        "{pulled:?}"
    );
    assert_eq!(passwords.try_recv().unwrap(), format!("Basic {coded}"));
}
