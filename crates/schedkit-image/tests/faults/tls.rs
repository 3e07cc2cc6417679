//! Certificates that are trusted, and that are not.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use schedkit_image::registry::{
    Client, ClientConfig, HostConfig, Hosts, Problem, Registry, Security,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::client::{client_config, message, tagged};
use crate::server::{Server, no_server, ok, with};

/// A certificate authority, and a server with its certificate for this name.
pub(crate) fn authority_and_server(name: &str) -> (String, ServerConfig) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (issuer.pem(), config)
}

fn client(host: &str, security: Security, ca: Option<PathBuf>) -> Client {
    let config = HostConfig {
        security,
        ca,
        ..HostConfig::default()
    };
    Client::new(ClientConfig {
        hosts: Hosts::new([(host.parse().unwrap(), config)]).unwrap(),
        ..client_config(host)
    })
}

#[tokio::test]
async fn a_certificate_needs_a_trusted_authority_and_the_right_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Some(path)
    };
    let (ca, config) = authority_and_server("127.0.0.1");
    let (other_ca, misnamed) = authority_and_server("other.invalid");
    let ours = file("ours.pem", &ca);
    let theirs = file("theirs.pem", &other_ca);
    for (name, config, security, ca, trusted) in [
        ("by our CA", &config, Security::Tls, &ours, true),
        ("by the system's", &config, Security::Tls, &None, false),
        ("by another's CA", &config, Security::Tls, &theirs, false),
        (
            "under another name",
            &misnamed,
            Security::Tls,
            &theirs,
            false,
        ),
        ("by nobody", &misnamed, Security::UnverifiedTls, &None, true),
    ] {
        let server = Server::start_tls(config.clone(), |_| ok("{}")).await;
        let client = client(&server.host, security, ca.clone());
        let outcome = client.document(&tagged(&server.host)).await;
        match outcome {
            Ok(_) => assert!(trusted, "{name}"),
            Err(error) => {
                let is_tls = matches!(error.problem(), Problem::Tls { .. });
                assert!(is_tls && !trusted, "{name}: {error:?}");
            }
        }
        assert_eq!(server.count(), usize::from(trusted), "{name}");
        // A wrong certificate is not retried.
        assert_eq!(server.connections(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_redirect_from_tls_to_plain_http_is_not_followed() {
    let open = Server::start(|_| ok("{}")).await;
    let (_, config) = authority_and_server("127.0.0.1");
    let there = format!("http://{}/content?signature=t0ken", open.host);
    let server = Server::start_tls(config, move |_| with(307, "Location", there.clone())).await;
    let client = client(&server.host, Security::UnverifiedTls, None);
    let error = client.document(&tagged(&server.host)).await.unwrap_err();
    assert_eq!(
        message(&error, &[(&server.host, "HOST"), (&open.host, "OPEN")]),
        "cannot get HOST/team/scx:1 from HOST: it refers to OPEN, which has no TLS: not followed"
    );
    assert_eq!((server.count(), open.count()), (1, 0));
}

#[tokio::test]
async fn an_invalid_ca_file_is_an_error_before_the_first_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    let host = no_server().await;
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (text, expected) in [
        ("", "holds no certificate"),
        (
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            "is no PEM file",
        ),
        (broken, "holds a certificate that cannot be read"),
    ] {
        std::fs::write(&path, text).unwrap();
        let client = client(&host, Security::Tls, Some(path.clone()));
        let error = client.head(&tagged(&host)).await.unwrap_err();
        let names = [(host.as_str(), "HOST"), (path.to_str().unwrap(), "FILE")];
        let expected = format!(
            "cannot get HOST/team/scx:1 from HOST: cannot prepare the connection: FILE with its certificate authority {expected}"
        );
        assert_eq!(message(&error, &names), expected);
    }
}

#[tokio::test]
async fn an_unreadable_ca_file_is_an_error_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let gone = folder.path().join("gone.pem");
    let why = std::fs::read(&gone).unwrap_err();
    for (path, expected) in [
        (gone, format!("cannot be read: {why}")),
        (file("der", &[0xff]), "is not UTF-8 text".to_owned()),
        (
            file("big", &vec![b' '; (1 << 20) + 1]),
            "has more than 1048576 bytes".to_owned(),
        ),
    ] {
        let host = no_server().await;
        let client = client(&host, Security::Tls, Some(path.clone()));
        let error = client.head(&tagged(&host)).await.unwrap_err();
        let names = [(host.as_str(), "HOST"), (path.to_str().unwrap(), "FILE")];
        let expected = format!(
            "cannot get HOST/team/scx:1 from HOST: cannot prepare the connection: cannot use FILE with its certificate authority: {expected}"
        );
        assert_eq!(message(&error, &names), expected);
    }
}
