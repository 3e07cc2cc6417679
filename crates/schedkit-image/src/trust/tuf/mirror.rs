//! Where a TUF repository is read: a web server with https, or a folder with a copy.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::str::FromStr;

use reqwest::Url;
use sigstore_tuf::transport::FetchFuture;
use sigstore_tuf::{Error as LibraryError, Repository};

use crate::registry::{FileClient, RegistryError};
use crate::untrusted::{ReadError, brief, read_file};

const PUBLIC_GOOD: &str = "https://tuf-repo-cdn.sigstore.dev";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mirror {
    Url(MirrorUrl),
    Folder(PathBuf),
}

/// With `https`, without user, query and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorUrl(Url);

/// Why a text is no URL of a mirror.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MirrorUrlError {
    #[error("the URL of a mirror starts with https:// and a host")]
    NotHttps,
    #[error("the URL of a mirror has neither a user nor a password, a query or a fragment")]
    MoreThanPath,
}

/// Why a file of a mirror was not read.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    #[error(transparent)]
    Http(RegistryError),
    #[error("the file {} {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    /// It would be outside of the repository.
    #[error("it refers to a file with the name {0:?}")]
    Name(String),
}

impl Mirror {
    /// Of the public Sigstore instance.
    ///
    /// # Errors
    /// Never with the embedded URL, which a test checks.
    pub fn public_good() -> Result<Self, MirrorUrlError> {
        PUBLIC_GOOD.parse()
    }
}

/// A text with `://` is a URL, any other a folder.
impl FromStr for Mirror {
    type Err = MirrorUrlError;

    fn from_str(text: &str) -> Result<Self, MirrorUrlError> {
        match text.contains("://") {
            true => text.parse().map(Self::Url),
            false => Ok(Self::Folder(text.into())),
        }
    }
}

impl FromStr for MirrorUrl {
    type Err = MirrorUrlError;

    fn from_str(text: &str) -> Result<Self, MirrorUrlError> {
        // `join` replaces what follows the last slash.
        let url = Url::parse(&format!("{}/", text.trim_end_matches('/')));
        let url = url.map_err(|_| MirrorUrlError::NotHttps)?;
        if url.scheme() != "https" || !url.has_host() {
            return Err(MirrorUrlError::NotHttps);
        }
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.query().is_some() || url.fragment().is_some() {
            return Err(MirrorUrlError::MoreThanPath);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(MirrorUrl(url)) => f.write_str(&brief(url.as_str().trim_end_matches('/'))),
            Self::Folder(path) => f.write_str(&brief(&path.display().to_string())),
        }
    }
}

/// The library's view of a mirror.
pub(super) struct MirrorRepository {
    mirror: Mirror,
    client: FileClient,
}

impl MirrorRepository {
    pub(super) fn new(mirror: Mirror, client: FileClient) -> Self {
        Self { mirror, client }
    }

    /// `folder` is empty or ends with a slash; the name is of metadata or a hash that others wrote.
    async fn read(&self, folder: &str, name: &str, limit: u64) -> Result<Vec<u8>, MirrorError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(MirrorError::Name(brief(name)));
        }
        let name = format!("{folder}{name}");
        match &self.mirror {
            Mirror::Url(MirrorUrl(base)) => {
                let url = base.join(&name);
                let url = url.map_err(|_| MirrorError::Name(name.clone()))?;
                let body = self.client.get(&url, &name, limit).await;
                Ok(body.map_err(MirrorError::Http)?.into())
            }
            Mirror::Folder(folder) => {
                let path = folder.join(&name);
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                let text = read_file(&path, limit);
                let text = text.map_err(|source| MirrorError::File { path, source })?;
                Ok(text.into_bytes())
            }
        }
    }
}

impl Repository for MirrorRepository {
    fn fetch_metadata<'a>(&'a self, name: &'a str, max_length: u64) -> FetchFuture<'a> {
        Box::pin(async move {
            // The roots end somewhere; nothing else may be missing.
            let is_root = name.ends_with(".root.json");
            match self.read("", name, max_length).await {
                Err(error) if is_root && error.is_not_there() => Ok(None),
                read => read.map(Some).map_err(library_error),
            }
        })
    }

    fn fetch_target<'a>(&'a self, path: &'a str, max_length: u64) -> FetchFuture<'a> {
        Box::pin(async move {
            let read = self.read("targets/", path, max_length).await;
            read.map(Some).map_err(library_error)
        })
    }
}

impl MirrorError {
    fn is_not_there(&self) -> bool {
        match self {
            Self::Http(error) => error.is_not_found(),
            Self::File {
                source: ReadError::Io(error),
                ..
            } => error.kind() == ErrorKind::NotFound,
            Self::File { .. } | Self::Name(_) => false,
        }
    }
}

fn library_error(error: MirrorError) -> LibraryError {
    LibraryError::transport_with_source("the mirror", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_a_folder_or_has_https() {
        assert!(matches!(Mirror::public_good(), Ok(Mirror::Url(_))));
        assert_eq!("/srv/tuf".parse(), Ok(Mirror::Folder("/srv/tuf".into())));
        for text in ["https://a.b:1/tuf", "https://a.b:1/tuf/"] {
            let mirror: Mirror = text.parse().unwrap();
            assert_eq!(mirror.to_string(), "https://a.b:1/tuf");
            let Mirror::Url(MirrorUrl(url)) = mirror else {
                panic!("{text}");
            };
            let joined = url.join("targets/x.json").unwrap();
            assert_eq!(joined.as_str(), "https://a.b:1/tuf/targets/x.json");
        }
        for (text, error) in [
            ("http://a.b", MirrorUrlError::NotHttps),
            ("ftp://a.b", MirrorUrlError::NotHttps),
            ("https://", MirrorUrlError::NotHttps),
            ("https://me:secret@a.b", MirrorUrlError::MoreThanPath),
            ("https://a.b/?token=x", MirrorUrlError::MoreThanPath),
            ("https://a.b/#x", MirrorUrlError::MoreThanPath),
        ] {
            assert_eq!(text.parse::<Mirror>(), Err(error), "{text}");
        }
    }
}
