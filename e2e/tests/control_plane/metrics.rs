//! The manager's metrics server: who may read them, its certificate, HTTP/2.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use testkit::manager::free_port;
use testkit::wait::TIMEOUT;

const WATCH: &str = "--watch-namespaces=metrics";

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
async fn only_accounts_with_the_right_read_the_metrics() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let cluster = testkit::control_plane();
    cluster.namespace("metrics");
    for account in ["reader", "other"] {
        cluster.kubectl(&["create", "serviceaccount", "-n", "metrics", account]);
    }
    let role = "--clusterrole=sked-metrics-reader";
    let reader = "--serviceaccount=metrics:reader";
    cluster.kubectl(&["create", "clusterrolebinding", "reader", role, reader]);
    let token = |account: &str| {
        let token = cluster.kubectl(&["create", "token", "-n", "metrics", account]);
        token.trim().to_owned()
    };
    let port = free_port();
    let bind = format!("--metrics-bind-address=127.0.0.1:{port}");
    let manager = cluster.ready_manager(&[&bind, WATCH]);
    cluster.schedext("metrics", "a", &json!({"sched": "a:1"}));
    manager.eventually("the DaemonSet is created", || {
        cluster.get("metrics", "daemonset/a").is_some()
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
    cluster.kubectl(&["delete", "clusterrolebinding", "reader"]);
    manager.stop();
}

/// The preface of an HTTP/2 connection and an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const SETTINGS: u8 = 4;

/// Writes a certificate for this name into a folder, with the file names of a mounted Secret.
fn mount(folder: &Path, name: &str) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    made.cert.der().clone()
}

/// A connection, if the server presents this certificate.
fn connect(
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
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    while session.is_handshaking() {
        session.complete_io(&mut socket).ok()?;
    }
    Some(StreamOwned::new(session, socket))
}

/// The type of the first frame that answers HTTP/2, or the byte in its place of HTTP/1.1.
fn answer_to_http2(mut stream: StreamOwned<ClientConnection, TcpStream>) -> Option<u8> {
    stream.write_all(PREFACE).unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).ok()?;
    Some(frame[3])
}

#[test]
fn a_mounted_certificate_is_used_and_reloaded() {
    let cluster = testkit::control_plane();
    let folder = tempfile::tempdir().unwrap();
    let first = mount(folder.path(), "first.example");
    let port = free_port();
    let manager = cluster.manager(&[
        &format!("--metrics-bind-address=127.0.0.1:{port}"),
        &format!("--metrics-cert-path={}", folder.path().display()),
        "--enable-http2",
    ]);
    let first = || connect(port, "first.example", &first, &["h2", "http/1.1"]);
    manager.eventually("it presents the certificate", || first().is_some());
    assert_eq!(first().unwrap().conn.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(answer_to_http2(first().unwrap()), Some(SETTINGS));

    // Between the writes of the two files certificate and key do not match.
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
    let second = || connect(port, "second.example", &second, &["h2", "http/1.1"]);
    manager.eventually("it presents the new certificate", || second().is_some());
    assert_eq!(second().unwrap().conn.alpn_protocol(), Some(&b"h2"[..]));
    assert!(first().is_none());
}

#[test]
fn http2_is_off_by_default() {
    let cluster = testkit::control_plane();
    let folder = tempfile::tempdir().unwrap();
    let certificate = mount(folder.path(), "here.example");
    let port = free_port();
    let manager = cluster.manager(&[
        &format!("--metrics-bind-address=127.0.0.1:{port}"),
        &format!("--metrics-cert-path={}", folder.path().display()),
    ]);
    let connected = |offered: &[&str]| connect(port, "here.example", &certificate, offered);
    manager.eventually("it answers", || connected(&[]).is_some());
    let chosen = connected(&["h2", "http/1.1"]).unwrap();
    assert_eq!(chosen.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    // Nor to a client that speaks it without negotiation.
    assert_ne!(answer_to_http2(connected(&[]).unwrap()), Some(SETTINGS));
}

#[tokio::test]
async fn without_tls_everybody_reads_the_metrics() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let cluster = testkit::control_plane();
    let port = free_port();
    let manager = cluster.manager(&[
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
fn a_missing_certificate_ends_the_manager_with_the_reason() {
    let cluster = testkit::control_plane();
    let folder = tempfile::tempdir().unwrap();
    let mut manager = cluster.manager(&[
        &format!("--metrics-bind-address=127.0.0.1:{}", free_port()),
        &format!("--metrics-cert-path={}", folder.path().display()),
    ]);
    assert!(!manager.wait().success());
    let log = manager.log();
    assert!(
        log.contains("--metrics-cert-path needs tls.crt and tls.key"),
        "{log}"
    );
}
