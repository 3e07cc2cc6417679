//! Who gets the metrics and how, and what probes say: a manager as the cluster around it sees it.

#![cfg(test)]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use support::{Cluster, free_port};

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::bare("test-sked-metrics"));

async fn ask(port: u16, token: Option<&str>) -> (u16, String) {
    let client = reqwest::Client::builder().danger_accept_invalid_certs(true);
    let client = client.build().unwrap();
    let mut request = client.get(format!("https://127.0.0.1:{port}/metrics"));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_reader_sees_the_metrics_and_nobody_else_does() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let cluster = &*CLUSTER;
    cluster.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    }));
    for account in ["reader", "other"] {
        cluster.kubectl(&["create", "serviceaccount", account]);
    }
    cluster.kubectl(&[
        "create",
        "clusterrolebinding",
        "reader",
        "--clusterrole=reader",
        "--serviceaccount=default:reader",
    ]);
    let token = |account: &str| {
        cluster
            .kubectl(&["create", "token", account])
            .trim()
            .to_owned()
    };
    let port = free_port();
    let manager = cluster.manager(&[&format!("--metrics-bind-address=127.0.0.1:{port}")]);
    let missing = || manager.log().matches("install the CRD").count();
    manager.eventually("it says what is missing: both kinds", || missing() == 2);
    assert_eq!(manager.probe("readyz"), Some(503));
    assert_eq!(manager.probe("healthz"), Some(200));
    cluster.install();
    manager.eventually("it is ready", || manager.probe("readyz") == Some(200));
    assert_eq!(missing(), 2, "each is said once");
    cluster.schedext("default", "a", &json!({"sched": "a:1"}));
    manager.eventually("it is made", || {
        cluster.get("default", "daemonset/a").is_some()
    });

    assert_eq!(ask(port, None).await.0, 401);
    assert_eq!(ask(port, Some("made-up")).await.0, 401);
    assert_eq!(ask(port, Some(&token("other"))).await.0, 403);
    let (status, text) = ask(port, Some(&token("reader"))).await;
    assert_eq!(status, 200);
    for name in [
        "controller_runtime_reconcile_total{controller=\"schedext\",result=\"success\"}",
        "controller_runtime_reconcile_time_seconds_bucket",
        "workqueue_depth{name=\"schedext\"",
        "sked_schedexts{state=",
        "sked_nodes{state=",
    ] {
        assert!(text.contains(name), "{name} in\n{text}");
    }
    manager.stop();
}

/// What begins HTTP/2 on a connection, and a first frame without settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const SETTINGS: u8 = 4;

/// A certificate for this name in a folder, as a secret is mounted.
fn mount(folder: &Path, name: &str) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    made.cert.der().clone()
}

/// A connection to whoever holds this certificate, if that is who answers.
fn reach(
    port: u16,
    name: &'static str,
    certificate: &CertificateDer<'static>,
    offered: &[&str],
) -> Option<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = offered.iter().map(|one| one.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name).unwrap();
    let mut session = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.set_read_timeout(Some(support::PATIENCE)).unwrap();
    while session.is_handshaking() {
        session.complete_io(&mut socket).ok()?;
    }
    Some(StreamOwned::new(session, socket))
}

/// The kind of the first frame that answers HTTP/2, or whatever stands there in HTTP/1.1.
fn answer_to_http2(mut stream: StreamOwned<ClientConnection, TcpStream>) -> Option<u8> {
    stream.write_all(PREFACE).unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).ok()?;
    Some(frame[3])
}

#[test]
fn a_mounted_certificate_is_used_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    let first = mount(folder.path(), "first.example");
    let port = free_port();
    let manager = CLUSTER.manager(&[
        &format!("--metrics-bind-address=127.0.0.1:{port}"),
        &format!("--metrics-cert-path={}", folder.path().display()),
        "--enable-http2",
    ]);
    let first = || reach(port, "first.example", &first, &["h2", "http/1.1"]);
    manager.eventually("it is presented", || first().is_some());
    assert_eq!(first().unwrap().conn.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(answer_to_http2(first().unwrap()), Some(SETTINGS));

    // A pair is two files: between the two writes it does not fit.
    let other = tempfile::tempdir().unwrap();
    let second = mount(other.path(), "second.example");
    let replace = |file: &str| {
        std::fs::copy(other.path().join(file), folder.path().join(file)).unwrap();
    };
    replace("tls.crt");
    manager.eventually("half a pair is not used", || {
        manager
            .log()
            .contains("the old certificate of the metrics stays")
    });
    assert!(first().is_some());
    replace("tls.key");
    let second = || reach(port, "second.example", &second, &["h2", "http/1.1"]);
    manager.eventually("the new one is presented", || second().is_some());
    assert_eq!(second().unwrap().conn.alpn_protocol(), Some(&b"h2"[..]));
    assert!(first().is_none());
}

#[test]
fn a_server_that_was_not_asked_for_http2_does_not_speak_it() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = mount(folder.path(), "here.example");
    let port = free_port();
    let manager = CLUSTER.manager(&[
        &format!("--metrics-bind-address=127.0.0.1:{port}"),
        &format!("--metrics-cert-path={}", folder.path().display()),
    ]);
    let reached = |offered: &[&str]| reach(port, "here.example", &certificate, offered);
    manager.eventually("it answers", || reached(&[]).is_some());
    let chosen = reached(&["h2", "http/1.1"]).unwrap();
    assert_eq!(chosen.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    // Nor to a client that does not ask first.
    assert_ne!(answer_to_http2(reached(&[]).unwrap()), Some(SETTINGS));
}

#[tokio::test]
async fn a_server_without_tls_shows_them_to_everybody() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let port = free_port();
    let manager = CLUSTER.manager(&[
        &format!("--metrics-bind-address=127.0.0.1:{port}"),
        "--metrics-secure=false",
    ]);
    let url = format!("http://127.0.0.1:{port}/metrics");
    manager.eventually("it answers", || ureq::get(&url).call().is_ok());
    let answer = reqwest::get(&url).await.unwrap();
    assert_eq!(answer.status(), 200);
    let text = answer.text().await.unwrap();
    assert!(text.contains("workqueue_depth"), "{text}");
}

#[test]
fn a_certificate_that_is_not_there_is_said_and_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut manager = CLUSTER.manager(&[
        &format!("--metrics-bind-address=127.0.0.1:{}", free_port()),
        &format!("--metrics-cert-path={}", folder.path().display()),
    ]);
    assert!(!manager.ends().success());
    let log = manager.log();
    assert!(
        log.contains("--metrics-cert-path needs tls.crt and tls.key"),
        "{log}"
    );
}
