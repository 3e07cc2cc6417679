//! Keys and certificates of one lab: one authority, and everybody known by a certificate of it.
//!
//! Made anew for every lab by `openssl`; nothing of it outlives the lab.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, CommandError};
use crate::network;

/// The folder that holds them.
#[derive(Clone, Debug)]
pub struct Pki {
    folder: PathBuf,
}

/// Somebody's certificate and key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate's file.
    pub certificate: PathBuf,
    /// The key's file.
    pub key: PathBuf,
}

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// `openssl` failed.
    #[error("cannot make the lab's certificates")]
    Command(#[from] CommandError),
    /// The folder cannot be used.
    #[error("cannot keep the lab's certificates")]
    Io(#[from] io::Error),
}

impl Pki {
    /// Makes the authority, and the key that service account tokens are signed with.
    pub fn make(folder: PathBuf) -> Result<Self, PkiError> {
        fs::create_dir_all(&folder)?;
        let pki = Self { folder };
        let authority = [
            "basicConstraints=critical,CA:TRUE",
            "keyUsage=critical,keyCertSign,cRLSign,digitalSignature",
        ];
        pki.openssl("ca", "/CN=lab-ca", &authority, None)?;
        let (key, public) = (pki.service_account_key(), pki.service_account_public_key());
        command::read(
            Command::new("openssl")
                .args([
                    "ecparam",
                    "-name",
                    "prime256v1",
                    "-genkey",
                    "-noout",
                    "-out",
                ])
                .arg(&key),
        )?;
        command::read(
            Command::new("openssl")
                .args(["ec", "-pubout", "-in"])
                .arg(&key)
                .arg("-out")
                .arg(public),
        )?;
        Ok(pki)
    }

    /// Somebody who asks: `group` is the organisation, as Kubernetes reads it.
    pub fn client(&self, file: &str, name: &str, group: &str) -> Result<Identity, PkiError> {
        let subject = format!("/O={group}/CN={name}");
        self.openssl(file, &subject, &["extendedKeyUsage=clientAuth"], Some(self))?;
        Ok(self.identity(file))
    }

    /// Somebody who answers at these addresses.
    pub fn server(
        &self,
        file: &str,
        names: &[&str],
        addresses: &[Ipv4Addr],
    ) -> Result<Identity, PkiError> {
        let alternatives: Vec<_> = names
            .iter()
            .map(|name| format!("DNS:{name}"))
            .chain(addresses.iter().map(|address| format!("IP:{address}")))
            .collect();
        let alternatives = format!("subjectAltName={}", alternatives.join(","));
        let subject = format!("/CN={file}");
        self.openssl(
            file,
            &subject,
            &[&alternatives, "extendedKeyUsage=serverAuth"],
            Some(self),
        )?;
        Ok(self.identity(file))
    }

    /// The API server: known inside, outside and by its Service.
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

    /// The authority's certificate, which everybody trusts.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// Signs service account tokens.
    pub fn service_account_key(&self) -> PathBuf {
        self.folder.join("service-account.key")
    }

    /// Checks service account tokens.
    pub fn service_account_public_key(&self) -> PathBuf {
        self.folder.join("service-account.pub")
    }

    fn identity(&self, file: &str) -> Identity {
        Identity {
            certificate: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        }
    }

    fn openssl(
        &self,
        file: &str,
        subject: &str,
        extensions: &[&str],
        signed_by: Option<&Self>,
    ) -> Result<(), PkiError> {
        let identity = self.identity(file);
        let mut openssl = Command::new("openssl");
        openssl.args([
            "req", "-x509", "-nodes", "-days", "30", "-newkey", "ec", "-pkeyopt",
        ]);
        openssl.args(["ec_paramgen_curve:prime256v1", "-subj", subject, "-keyout"]);
        openssl
            .arg(&identity.key)
            .arg("-out")
            .arg(&identity.certificate);
        if let Some(authority) = signed_by {
            let authority = authority.identity("ca");
            openssl
                .arg("-CA")
                .arg(authority.certificate)
                .arg("-CAkey")
                .arg(authority.key);
            openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        }
        for extension in extensions {
            openssl.args(["-addext", extension]);
        }
        command::read(&mut openssl)?;
        Ok(())
    }
}

/// A kubeconfig for `who`, with everything inside it.
pub fn kubeconfig(server: &str, authority: &Path, who: &Identity) -> io::Result<String> {
    let pem = |path: &Path| fs::read(path).map(|bytes| base64(&bytes));
    let (ca, certificate, key) = (pem(authority)?, pem(&who.certificate)?, pem(&who.key)?);
    Ok(format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n- name: lab\n  cluster:\n    server: {server}\n    certificate-authority-data: {ca}\n\
         users:\n- name: lab\n  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n\
         contexts:\n- name: lab\n  context: {{cluster: lab, user: lab}}\n\
         current-context: lab\n"
    ))
}

/// Base64 as RFC 4648 has it; a kubeconfig is the only place that needs it.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place > chunk.len() {
                text.push('=');
            } else {
                text.push(char::from(
                    ALPHABET[(word >> (18 - 6 * place)) as usize & 63],
                ));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_server_certificate_verifies_for_its_addresses_only() {
        let folder = tempfile::tempdir().unwrap();
        let pki = Pki::make(folder.path().join("pki")).unwrap();
        let server = pki.api_server().unwrap();
        let verify = |address: &str| {
            command::read(
                Command::new("openssl")
                    .args(["verify", "-x509_strict", "-verify_ip", address, "-CAfile"])
                    .arg(pki.authority())
                    .arg(&server.certificate),
            )
        };
        verify("10.96.0.1").unwrap();
        verify("127.0.0.1").unwrap();
        assert!(verify("10.96.0.2").is_err());
    }
}
