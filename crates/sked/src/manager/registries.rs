//! Which registries the manager may ask, and how: `--registries`, as a list of hosts and as a file.
//!
//! ```yaml
//! registry.example:5000: {security: plain-http}
//! ghcr.io: {mirrors: [mirror.example/ghcr], ca: /etc/sked/ca.pem}
//! ```
//!
//! Authors of SchedExts name the images. So that they cannot send the manager to hosts of its own
//! network, only hosts with a public address are asked, and those that are named here.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schedkit_core::{ImageRef, RegistryHost};
use schedkit_image::registry::{Client, ClientConfig, Credentials, FileClient, Hosts, Reach};
use schedkit_image::untrusted;

const MAX_SIZE: usize = 1024 * 1024;

/// One value of the flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedRegistries {
    /// With settings.
    File(PathBuf),
    Host(String),
}

impl FromStr for NamedRegistries {
    type Err = Infallible;

    /// The name of a host has no slash.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let is_file = text.contains('/') || text.ends_with(".yaml") || text.ends_with(".yml");
        Ok(match is_file {
            true => Self::File(PathBuf::from(text)),
            false => Self::Host(text.to_owned()),
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistriesError {
    #[error("cannot read {path}, which --registries names")]
    File {
        path: PathBuf,
        #[source]
        source: untrusted::ReadError,
    },
    #[error(
        "{path} is no valid registries file (for example `registry.example:5000: {{security: plain-http}}`)"
    )]
    Content {
        path: PathBuf,
        #[source]
        source: Box<serde_saphyr::Error>,
    },
    #[error("--registries names one file at most, and has two: put both into one")]
    TwoFiles,
    #[error("{0:?} is no registry: --registries takes HOST or HOST:PORT, or the path of a file")]
    Host(String),
}

/// An image of a registry that may not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not asked, because --registries does not name it: name it there, or use another image"
)]
pub(crate) struct NotAllowed(RegistryHost);

/// The registries that may be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registries {
    hosts: Hosts,
    /// Empty: all that have a public address.
    only: Vec<RegistryHost>,
}

impl Registries {
    /// # Errors
    /// When a file cannot be used, or a name is none.
    pub(crate) fn new(named: &[NamedRegistries]) -> Result<Self, RegistriesError> {
        let files = named.iter().filter_map(|one| match one {
            NamedRegistries::File(path) => Some(&**path),
            NamedRegistries::Host(_) => None,
        });
        let files: Vec<&Path> = files.collect();
        let hosts = match &*files {
            [] => Hosts::default(),
            [path] => read(path)?,
            _ => return Err(RegistriesError::TwoFiles),
        };
        let only = named.iter().filter_map(|one| match one {
            NamedRegistries::File(_) => None,
            NamedRegistries::Host(host) => {
                let parsed = host.parse::<RegistryHost>();
                Some(parsed.map_err(|_| RegistriesError::Host(host.clone())))
            }
        });
        Ok(Self {
            hosts,
            only: only.collect::<Result<_, _>>()?,
        })
    }

    /// A new client: connections, tokens and what was read are gone with it.
    pub(crate) fn client(&self, credentials: Credentials) -> Client {
        let config = ClientConfig {
            hosts: self.hosts.clone(),
            credentials,
            ..ClientConfig::default()
        };
        Client::within(Reach::public_and(self.named()), config)
    }

    /// Those that an administrator named, mirrors included: they may have any address.
    fn named(&self) -> impl Iterator<Item = &RegistryHost> {
        self.hosts.with_mirrors().chain(&self.only)
    }

    /// For what the administrator names, with the settings of hosts, wherever they are.
    pub(crate) fn file_client(&self) -> FileClient {
        FileClient::new(ClientConfig {
            hosts: self.hosts.clone(),
            ..ClientConfig::default()
        })
    }

    /// # Errors
    /// When its registry may not be asked.
    pub(crate) fn check(&self, image: &ImageRef) -> Result<(), NotAllowed> {
        let host = image.repository().host();
        match self.only.is_empty() || self.only.contains(host) {
            true => Ok(()),
            false => Err(NotAllowed(host.clone())),
        }
    }
}

fn read(path: &Path) -> Result<Hosts, RegistriesError> {
    let text = untrusted::read_file(path, MAX_SIZE).map_err(|source| RegistriesError::File {
        path: path.to_owned(),
        source,
    })?;
    serde_saphyr::from_str(&text).map_err(|source| RegistriesError::Content {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_chain::chain;

    fn read(text: &str) -> Result<Vec<String>, RegistriesError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("registries.yaml");
        std::fs::write(&file, text).unwrap();
        let registries = Registries::new(&[NamedRegistries::File(file)])?;
        Ok(registries.named().map(ToString::to_string).collect())
    }

    #[test]
    fn a_file_names_hosts() {
        let text = "registry.example:5000: {security: plain-http}\nghcr.io: {mirrors: [mirror.example/ghcr], ca: /etc/sked/ca.pem}\n";
        let named = ["ghcr.io", "registry.example:5000", "mirror.example"];
        assert_eq!(read(text).unwrap(), named);
        assert_eq!(Registries::new(&[]).unwrap().named().count(), 0);
    }

    #[test]
    fn an_invalid_file_is_rejected_with_the_position() {
        for (text, expected) in [
            ("registry.example: {security: none}\n", "plain-http"),
            ("registry.example: {insecure: true}\n", "insecure"),
            ("a b: {}\n", "HOST:PORT"),
            ("- registry.example\n", "line 1"),
        ] {
            let error = chain(&read(text).unwrap_err());
            assert!(error.contains("no valid registries file"), "{error}");
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let missing = "/nowhere/at/all".parse().unwrap();
        let missing = Registries::new(&[missing]).unwrap_err();
        assert!(chain(&missing).contains("--registries names"), "{missing}");
    }

    #[test]
    fn a_list_of_hosts_excludes_all_others() {
        let named = |texts: &[&str]| {
            let named: Vec<_> = texts.iter().map(|text| text.parse().unwrap()).collect();
            Registries::new(&named)
        };
        let check = |registries: &Registries, image: &str| {
            registries.check(&image.parse().unwrap()).is_ok()
        };
        let two = named(&["ghcr.io", "registry.example:5000"]).unwrap();
        assert!(check(&two, "ghcr.io/schedkit/x:1"));
        assert!(check(&two, "registry.example:5000/x:1"));
        for other in ["quay.io/x:1", "registry.example/x:1", "127.0.0.1/x:1"] {
            assert!(!check(&two, other), "{other}");
        }
        assert!(check(&named(&[]).unwrap(), "quay.io/x:1"));
        let error = named(&["a b"]).unwrap_err().to_string();
        assert!(error.contains("no registry"), "{error}");
        let two_files = named(&["a.yaml", "./b"]).unwrap_err();
        assert!(
            matches!(two_files, RegistriesError::TwoFiles),
            "{two_files}"
        );
    }
}
