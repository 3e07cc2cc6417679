//! How to reach registries, from a file:
//!
//! ```yaml
//! registry.example:5000: {security: plain-http}
//! ghcr.io: {mirrors: [mirror.example/ghcr], ca: /etc/sked/ca.pem}
//! ```

use std::path::{Path, PathBuf};

use schedkit_image::foreign;
use schedkit_image::registry::Hosts;

const BIGGEST: usize = 1024 * 1024;

/// Why a file does not tell how to reach registries.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistriesError {
    /// It cannot be read.
    #[error("cannot read {path}, which --registries names")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: foreign::ReadError,
    },
    /// It says something else.
    #[error(
        "{path} does not tell how to reach registries (as in `registry.example:5000: {{security: plain-http}}`)"
    )]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
}

/// What the file says; of a file that is not named nothing.
pub(crate) fn registries(path: Option<&Path>) -> Result<Hosts, RegistriesError> {
    let Some(path) = path else {
        return Ok(Hosts::default());
    };
    let text = foreign::read_file(path, BIGGEST).map_err(|source| RegistriesError::File {
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
    use crate::retry::chain;

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
    fn a_file_that_says_something_else_is_refused_with_the_place() {
        for (text, told) in [
            ("registry.example: {security: none}\n", "plain-http"),
            ("registry.example: {insecure: true}\n", "insecure"),
            ("a b: {}\n", "HOST:PORT"),
            ("- registry.example\n", "line 1"),
        ] {
            let error = chain(&read(text).unwrap_err());
            assert!(error.contains("does not tell how"), "{error}");
            assert!(error.contains(told), "{text:?}: {error}");
        }
        let missing = registries(Some(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(chain(&missing).contains("--registries names"), "{missing}");
    }
}
