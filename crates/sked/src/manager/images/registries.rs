//! Parses the file of `--registries`: how to reach registries.
//!
//! ```yaml
//! registry.example:5000: {security: plain-http}
//! ghcr.io: {mirrors: [mirror.example/ghcr], ca: /etc/sked/ca.pem}
//! ```

use std::path::{Path, PathBuf};

use schedkit_image::registry::Hosts;
use schedkit_image::untrusted;

const MAX_SIZE: usize = 1024 * 1024;

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
}

/// Without a file no host is configured.
pub(crate) fn registries(path: Option<&Path>) -> Result<Hosts, RegistriesError> {
    let Some(path) = path else {
        return Ok(Hosts::default());
    };
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
        let hosts = registries(Some(&file))?;
        Ok(hosts.names().map(ToString::to_string).collect())
    }

    #[test]
    fn a_file_names_hosts() {
        let text = "registry.example:5000: {security: plain-http}\nghcr.io: {mirrors: [mirror.example/ghcr], ca: /etc/sked/ca.pem}\n";
        assert_eq!(read(text).unwrap(), ["ghcr.io", "registry.example:5000"]);
        assert_eq!(registries(None).unwrap().names().count(), 0);
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
        let missing = registries(Some(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(chain(&missing).contains("--registries names"), "{missing}");
    }
}
