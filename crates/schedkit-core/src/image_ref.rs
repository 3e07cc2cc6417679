//! Where an image lives: `HOST[:PORT]/PATH[:TAG][@DIGEST]`.
//!
//! ```text
//! registry.example:5000/team/scx_lavd:1.0.2@sha256:…
//! └── RegistryHost ───┘ └─ path ────┘ └Tag┘ └Digest┘
//! └── Repository ─────────────────────┘
//! ```
//!
//! Decisions that are ours:
//! - The host is always written. Docker's short names (`nginx`, `library/nginx`) are refused: which
//!   registry they mean depends on a machine's settings, and what runs as the CPU scheduler must
//!   not. `docker.io/NAME` is taken and means `docker.io/library/NAME`, as everywhere else.
//! - The host is compared without regard to case and kept in lower case; a path in upper case is
//!   an error, as the registries have it.
//! - Neither tag nor digest means the tag `latest`; it is added when the reference is parsed, so
//!   that what we print is what we ask for.
//! - An IPv6 host stands in brackets.

mod host;
mod repository;
mod tag;

use std::fmt;
use std::str::FromStr;

pub use host::RegistryHost;
pub use repository::Repository;
pub use tag::Tag;

use crate::digest::{Digest, DigestError};

/// The longest text that is looked at: a host, a path, a tag and a digest at their longest.
const LONGEST: usize = 1024;

/// A reference to an image: a repository with a tag, a digest, or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageRef {
    repository: Repository,
    version: Version,
}

/// At least one of the two is always there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Version {
    Tag(Tag),
    Digest(Digest),
    Both(Tag, Digest),
}

/// An image by its digest: always the same bytes. The only thing that may be pulled or run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinnedRef {
    repository: Repository,
    digest: Digest,
}

/// Why a text is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageRefError {
    /// Nothing at all.
    #[error("an image reference is empty")]
    Empty,
    /// More than any registry takes.
    #[error("an image reference has at most {LONGEST} characters")]
    TooLong,
    /// Without a host: a short name.
    #[error(
        "an image reference begins with its registry's host, as in ghcr.io/schedkit/scx_lavd (short names are not taken)"
    )]
    NoHost,
    /// The part before the first `/` is no host.
    #[error("{0:?} is no registry host")]
    Host(String),
    /// The path.
    #[error(
        "{0:?} is no image path: lower-case letters, digits and single separators ('.', '_', '__', '-') between them, parts divided by '/'"
    )]
    Path(String),
    /// The tag.
    #[error(
        "{0:?} is no tag: up to 128 letters, digits, '.', '_' and '-', not beginning with '.' or '-'"
    )]
    Tag(String),
    /// The digest.
    #[error("the digest after '@' is wrong")]
    Digest(#[source] DigestError),
}

impl ImageRef {
    /// The newest of a repository under this tag.
    pub fn tagged(repository: Repository, tag: Tag) -> Self {
        let version = Version::Tag(tag);
        Self {
            repository,
            version,
        }
    }

    /// Where it lives.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The tag, unless there is only a digest.
    pub fn tag(&self) -> Option<&Tag> {
        match &self.version {
            Version::Tag(tag) | Version::Both(tag, _) => Some(tag),
            Version::Digest(_) => None,
        }
    }

    /// The digest, when the reference names one.
    pub fn digest(&self) -> Option<&Digest> {
        match &self.version {
            Version::Digest(digest) | Version::Both(_, digest) => Some(digest),
            Version::Tag(_) => None,
        }
    }

    /// The same reference under another tag; a digest is dropped, for it named other content.
    #[must_use]
    pub fn with_tag(self, tag: Tag) -> Self {
        Self::tagged(self.repository, tag)
    }
}

impl PinnedRef {
    /// This content in that repository.
    pub fn new(repository: Repository, digest: Digest) -> Self {
        Self { repository, digest }
    }

    /// Where it lives.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// What it is.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }
}

impl From<PinnedRef> for ImageRef {
    fn from(pinned: PinnedRef) -> Self {
        Self {
            repository: pinned.repository,
            version: Version::Digest(pinned.digest),
        }
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        match &self.version {
            Version::Tag(tag) => write!(f, ":{tag}"),
            Version::Digest(digest) => write!(f, "@{digest}"),
            Version::Both(tag, digest) => write!(f, ":{tag}@{digest}"),
        }
    }
}

impl fmt::Display for PinnedRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.repository, self.digest)
    }
}

impl FromStr for ImageRef {
    type Err = ImageRefError;

    fn from_str(text: &str) -> Result<Self, ImageRefError> {
        if text.is_empty() {
            return Err(ImageRefError::Empty);
        }
        if text.len() > LONGEST {
            return Err(ImageRefError::TooLong);
        }
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => (named, Some(digest.parse().map_err(ImageRefError::Digest)?)),
            None => (text, None),
        };
        let (repository, tag) = split_tag(named);
        let repository = repository.parse()?;
        let tag = tag.map(str::parse).transpose()?;
        let version = match (tag, digest) {
            (Some(tag), Some(digest)) => Version::Both(tag, digest),
            (Some(tag), None) => Version::Tag(tag),
            (None, Some(digest)) => Version::Digest(digest),
            (None, None) => Version::Tag(Tag::latest()),
        };
        Ok(Self {
            repository,
            version,
        })
    }
}

/// A colon after the last `/` begins a tag; one before it belongs to the host.
fn split_tag(named: &str) -> (&str, Option<&str>) {
    match named.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') && repository.contains('/') => {
            (repository, Some(tag))
        }
        _ => (named, None),
    }
}

#[cfg(test)]
mod tests;
