//! TLS configurations, with the crypto provider of the whole program.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::registry::problem::SetupError;
use crate::untrusted;

/// Five times the size of all public certificate authorities together.
const MAX_CA_FILE_BYTES: usize = 1024 * 1024;

/// For connections without TLS: trusts no certificate.
pub(super) fn none() -> Result<ClientConfig, SetupError> {
    verified(RootCertStore::empty())
}

/// Trusts certificates that one of these authorities issued.
pub(super) fn verified(roots: RootCertStore) -> Result<ClientConfig, SetupError> {
    let mut config = versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols();
    Ok(config)
}

/// Trusts every certificate.
pub(super) fn unverified() -> Result<ClientConfig, SetupError> {
    let verifier = Arc::new(AnyCertificate(aws_lc_rs::default_provider()));
    let mut config = versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = protocols();
    Ok(config)
}

/// The certificate authorities of this machine.
pub(super) fn system_roots() -> Result<RootCertStore, SetupError> {
    let roots = readable_system_roots();
    match roots.is_empty() {
        true => Err(SetupError::NoRoots),
        false => Ok(roots),
    }
}

/// The certificate authorities of this machine, if it has any, and those of a file.
pub(super) fn roots_with(ca: &Path) -> Result<RootCertStore, SetupError> {
    let path = || ca.to_owned();
    let invalid = |reason| SetupError::Ca {
        path: path(),
        reason,
    };
    let text = untrusted::read_file(ca, MAX_CA_FILE_BYTES);
    let text = text.map_err(|source| SetupError::CaFile {
        path: path(),
        source,
    })?;
    let mut roots = readable_system_roots();
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|_| invalid("is no PEM file"))?;
        let added = roots.add(certificate);
        added.map_err(|_| invalid("holds a certificate that cannot be read"))?;
    }
    match roots.len() > before {
        true => Ok(roots),
        false => Err(invalid("holds no certificate")),
    }
}

/// Skips certificates that cannot be parsed: one among a hundred is no reason to fail.
fn readable_system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn versions() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, SetupError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Tls(Box::new(error)))
}

/// With HTTP/2, requests that are sent at the same time share one connection.
fn protocols() -> Vec<Vec<u8>> {
    vec![b"h2".to_vec(), b"http/1.1".to_vec()]
}

/// Accepts every certificate; the signature of the handshake is still checked.
#[derive(Debug)]
struct AnyCertificate(CryptoProvider);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
