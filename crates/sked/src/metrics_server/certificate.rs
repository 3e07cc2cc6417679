//! The certificate of the metrics server: created at start, or read from mounted files and read
//! again when they change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// How often mounted files are checked. Certificates are replaced long before they expire.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    #[error("cannot read {0}: --metrics-cert-path needs tls.crt and tls.key")]
    Read(PathBuf, #[source] std::io::Error),
    #[error("{0} is not PEM")]
    Pem(PathBuf, #[source] rustls::pki_types::pem::Error),
    #[error("the certificate and the key of the metrics server do not match")]
    Unusable(#[from] rustls::Error),
    #[error("cannot create a certificate for the metrics server")]
    Create(#[from] rcgen::Error),
}

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// With a folder, a task watches its files from now on.
pub(super) fn tls(folder: Option<PathBuf>, http2: bool) -> Result<RustlsConfig, CertificateError> {
    let Some(folder) = folder else {
        return Ok(RustlsConfig::from_config(config(self_signed()?, http2)?));
    };
    let first = config(mounted(&folder)?, http2)?;
    let tls = RustlsConfig::from_config(first);
    tokio::spawn(follow(folder, http2, tls.clone()));
    Ok(tls)
}

async fn follow(folder: PathBuf, http2: bool, tls: RustlsConfig) {
    let read = |folder: &Path| fs::read(folder.join("tls.crt")).ok();
    let mut known = read(&folder);
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let now = read(&folder);
        if now == known {
            continue;
        }
        // If only one of the two files was replaced yet, the next check finds both.
        match mounted(&folder).and_then(|pair| config(pair, http2)) {
            Ok(config) => {
                tls.reload_from_config(config);
                known = now;
                tracing::info!("the certificate of the metrics was replaced");
            }
            Err(error) => tracing::warn!(
                "the old certificate of the metrics stays: {}",
                crate::error_chain::chain(&error)
            ),
        }
    }
}

fn config((chain, key): Pair, http2: bool) -> Result<Arc<ServerConfig>, CertificateError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = match http2 {
        true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        false => vec![b"http/1.1".to_vec()],
    };
    Ok(Arc::new(config))
}

fn self_signed() -> Result<Pair, CertificateError> {
    let names = vec![
        "sked-controller-manager-metrics-service".to_owned(),
        "localhost".to_owned(),
    ];
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

fn mounted(folder: &Path) -> Result<Pair, CertificateError> {
    let read = |name: &str| {
        let file = folder.join(name);
        match fs::read(&file) {
            Ok(bytes) => Ok((file, bytes)),
            Err(error) => Err(CertificateError::Read(file, error)),
        }
    };
    let (file, bytes) = read("tls.crt")?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let chain = chain.map_err(|error| CertificateError::Pem(file, error))?;
    let (file, bytes) = read("tls.key")?;
    let key = PrivateKeyDer::from_pem_slice(&bytes);
    Ok((
        chain,
        key.map_err(|error| CertificateError::Pem(file, error))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounted_files_are_used_and_their_errors_reported() {
        let folder = tempfile::tempdir().unwrap();
        let missing = mounted(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("tls.crt"), "{missing}");
        let made = rcgen::generate_simple_self_signed(vec!["here".to_owned()]).unwrap();
        fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
        fs::write(folder.path().join("tls.key"), "no key").unwrap();
        let wrong = mounted(folder.path()).unwrap_err().to_string();
        assert!(
            wrong.contains("tls.key") && wrong.contains("not PEM"),
            "{wrong}"
        );
        fs::write(
            folder.path().join("tls.key"),
            made.signing_key.serialize_pem(),
        )
        .unwrap();
        config(mounted(folder.path()).unwrap(), false).unwrap();
    }

    #[test]
    fn http2_is_offered_only_when_asked_for() {
        let offered = |http2| {
            config(self_signed().unwrap(), http2)
                .unwrap()
                .alpn_protocols
                .clone()
        };
        assert!(!offered(false).contains(&b"h2".to_vec()));
        assert!(offered(true).contains(&b"h2".to_vec()));
    }
}
