//! Keys and certificates of one lab: one certificate authority that signs everything else.
//!
//! They are created for every lab; the authority's own key stays in memory. Certificates have
//! rcgen's default validity (1975 to 4096), so the clock of a node does not matter.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

use crate::network;

/// The certificate authority and the folder of what it has signed.
#[derive(Debug)]
pub struct Pki {
    folder: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// The files of a certificate and its key.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why a certificate could not be created.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    #[error("cannot create the lab's certificates")]
    Create(#[from] rcgen::Error),
    #[error("cannot write the lab's certificates: check that the disk is not full")]
    Io(#[from] io::Error),
}

impl Pki {
    /// Creates the authority, and the key that signs service account tokens.
    pub fn create(folder: PathBuf) -> Result<Self, PkiError> {
        fs::create_dir_all(&folder)?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = subject("lab-ca", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let pki = Self { folder, authority };
        fs::write(pki.authority(), pki.authority.pem())?;
        let service_account = KeyPair::generate()?;
        fs::write(pki.service_account_key(), service_account.serialize_pem())?;
        fs::write(
            pki.service_account_public_key(),
            service_account.public_key_pem(),
        )?;
        Ok(pki)
    }

    /// A client certificate. Kubernetes reads `name` as the user and `group` as their group.
    pub fn client(&self, file: &str, name: &str, group: &str) -> Result<Identity, PkiError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = subject(name, Some(group));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(file, params)
    }

    /// A server certificate for these names and addresses.
    pub fn server(
        &self,
        file: &str,
        names: &[&str],
        addresses: &[Ipv4Addr],
    ) -> Result<Identity, PkiError> {
        let addresses = addresses.iter().map(Ipv4Addr::to_string);
        let names = names.iter().map(|name| (*name).to_owned());
        let mut params = CertificateParams::new(names.chain(addresses).collect::<Vec<_>>())?;
        params.distinguished_name = subject(file, None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(file, params)
    }

    /// The API server's certificate: for the lab's network, this machine's loopback and its Service.
    pub fn api_server(&self) -> Result<Identity, PkiError> {
        let names = [
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        self.server(
            "api-server",
            &names,
            &[network::HOST, network::API_SERVICE, Ipv4Addr::LOCALHOST],
        )
    }

    /// The file of the authority's certificate.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The file of the key that signs service account tokens.
    pub fn service_account_key(&self) -> PathBuf {
        self.folder.join("service-account.key")
    }

    /// The file of the key that verifies service account tokens.
    pub fn service_account_public_key(&self) -> PathBuf {
        self.folder.join("service-account.pub")
    }

    fn issue(&self, file: &str, mut params: CertificateParams) -> Result<Identity, PkiError> {
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.authority)?;
        let identity = Identity {
            certificate: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        };
        fs::write(&identity.certificate, certificate.pem())?;
        fs::write(&identity.key, key.serialize_pem())?;
        Ok(identity)
    }
}

fn subject(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject.push(DnType::CommonName, name);
    subject
}

/// A kubeconfig with certificates and key inside.
pub fn kubeconfig(server: &str, authority: &Path, user: &Identity) -> io::Result<String> {
    let pem = |path: &Path| fs::read(path).map(|bytes| BASE64.encode(bytes));
    let (ca, certificate, key) = (pem(authority)?, pem(&user.certificate)?, pem(&user.key)?);
    Ok(format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n- name: lab\n  cluster:\n    server: {server}\n    certificate-authority-data: {ca}\n\
         users:\n- name: lab\n  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n\
         contexts:\n- name: lab\n  context: {{cluster: lab, user: lab}}\n\
         current-context: lab\n"
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::crypto::aws_lc_rs::default_provider;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::server::WebPkiClientVerifier;

    use super::*;

    fn pki() -> (tempfile::TempDir, Pki) {
        let folder = tempfile::tempdir().unwrap();
        let pki = Pki::create(folder.path().join("pki")).unwrap();
        (folder, pki)
    }

    fn certificate(file: &Path) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(file).unwrap()
    }

    fn roots(pki: &Pki) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&pki.authority())).unwrap();
        Arc::new(roots)
    }

    #[test]
    fn a_server_certificate_verifies_for_its_addresses_only() {
        let (_folder, pki) = pki();
        let server = certificate(&pki.api_server().unwrap().certificate);
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots(&pki), Arc::new(default_provider()))
                .build()
                .unwrap();
        let verify = |name: &'static str| {
            let name = ServerName::try_from(name).unwrap();
            verifier.verify_server_cert(&server, &[], &name, &[], UnixTime::now())
        };
        for name in ["10.96.0.1", "127.0.0.1", "10.77.0.1", "kubernetes.default"] {
            verify(name).unwrap();
        }
        assert!(verify("10.96.0.2").is_err());
    }

    #[test]
    fn a_client_certificate_verifies_as_a_client_only() {
        let (_folder, pki) = pki();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots(&pki), Arc::new(default_provider()))
                .build()
                .unwrap();
        let client = pki.client("admin", "admin", "system:masters").unwrap();
        let client = certificate(&client.certificate);
        let verify = |certificate: &CertificateDer<'_>| {
            verifier.verify_client_cert(certificate, &[], UnixTime::now())
        };
        verify(&client).unwrap();
        let server = certificate(&pki.api_server().unwrap().certificate);
        assert!(verify(&server).is_err());
    }

    #[test]
    fn a_kubeconfig_holds_the_client_certificate() {
        let (_folder, pki) = pki();
        let client = pki.client("admin", "admin", "system:masters").unwrap();
        let text = kubeconfig("https://127.0.0.1:6443", &pki.authority(), &client).unwrap();
        let pem = fs::read(&client.certificate).unwrap();
        assert!(text.contains(&BASE64.encode(pem)), "{text}");
    }
}
