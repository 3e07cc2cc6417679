//! The certificate of the metrics: made up at start, or mounted and read again when it changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// How often mounted files are looked at. A certificate is replaced long before it ends.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// A mounted file.
    #[error("cannot read {0}: --metrics-cert-path wants tls.crt and tls.key")]
    Read(PathBuf, #[source] std::io::Error),
    /// Not what it should be.
    #[error("{0} is not PEM")]
    Pem(PathBuf, #[source] rustls::pki_types::pem::Error),
    /// They do not fit each other.
    #[error("the certificate and the key of the metrics do not fit")]
    Unusable(#[from] rustls::Error),
    /// None could be made up.
    #[error("cannot make up a certificate for the metrics")]
    MakeUp(#[from] rcgen::Error),
}

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The TLS side of the server. With a folder, its files are followed from now on.
pub(super) fn tls(folder: Option<PathBuf>, http2: bool) -> Result<RustlsConfig, CertificateError> {
    let Some(folder) = folder else {
        return Ok(RustlsConfig::from_config(config(made_up()?, http2)?));
    };
    let first = config(mounted(&folder)?, http2)?;
    let tls = RustlsConfig::from_config(first);
    tokio::spawn(follow(folder, http2, tls.clone()));
    Ok(tls)
}

async fn follow(folder: PathBuf, http2: bool, tls: RustlsConfig) {
    let look = |folder: &Path| fs::read(folder.join("tls.crt")).ok();
    let mut known = look(&folder);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = look(&folder);
        if now == known {
            continue;
        }
        // Between two files of a pair: the next look finds both.
        match mounted(&folder).and_then(|pair| config(pair, http2)) {
            Ok(config) => {
                tls.reload_from_config(config);
                known = now;
                tracing::info!("the certificate of the metrics was replaced");
            }
            Err(error) => tracing::warn!(
                "the old certificate of the metrics stays: {}",
                crate::retry::chain(&error)
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

fn made_up() -> Result<Pair, CertificateError> {
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
    fn mounted_files_are_used_and_what_is_wrong_with_them_is_said() {
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
            config(made_up().unwrap(), http2)
                .unwrap()
                .alpn_protocols
                .clone()
        };
        assert!(!offered(false).contains(&b"h2".to_vec()));
        assert!(offered(true).contains(&b"h2".to_vec()));
    }
}
