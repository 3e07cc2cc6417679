//! Image references: `HOST[:PORT]/PATH[:TAG][@DIGEST]`.
//!
//! ```text
//! registry.example:5000/team/scx_lavd:1.0.2@sha256:…
//! └── RegistryHost ───┘ └─ path ────┘ └Tag┘ └Digest┘
//! └── Repository ─────────────────────┘
//! ```
//!
//! Decisions that the specification leaves open:
//! - The host is required. Docker's short names (`nginx`, `library/nginx`) are refused: their
//!   registry depends on a machine's configuration, and what runs as the CPU scheduler must not.
//!   `docker.io/NAME` is accepted and means `docker.io/library/NAME`, as in other tools.
//! - The host is case-insensitive and kept in lower case; a path in upper case is an error, as
//!   registries treat it.
//! - A reference with neither tag nor digest gets the tag `latest` when it is parsed, so that the
//!   printed reference is the requested one.
//! - An IPv6 host is in brackets.

mod error;
mod host;
mod repository;
mod tag;

use std::fmt;
use std::str::FromStr;

pub use error::ImageRefError;
pub use host::RegistryHost;
pub use repository::Repository;
pub use tag::Tag;

use self::error::MAX_LENGTH;
use crate::digest::Digest;

/// A reference to an image: a repository with a tag, a digest, or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageRef {
    repository: Repository,
    tag_or_digest: TagOrDigest,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum TagOrDigest {
    Tag(Tag),
    Digest(Digest),
    Both(Tag, Digest),
}

/// An image by its digest: always the same bytes. Only a pinned image is pulled or run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinnedRef {
    repository: Repository,
    digest: Digest,
}

impl ImageRef {
    pub fn tagged(repository: Repository, tag: Tag) -> Self {
        Self {
            repository,
            tag_or_digest: TagOrDigest::Tag(tag),
        }
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// `None` when there is only a digest.
    pub fn tag(&self) -> Option<&Tag> {
        match &self.tag_or_digest {
            TagOrDigest::Tag(tag) | TagOrDigest::Both(tag, _) => Some(tag),
            TagOrDigest::Digest(_) => None,
        }
    }

    pub fn digest(&self) -> Option<&Digest> {
        match &self.tag_or_digest {
            TagOrDigest::Digest(digest) | TagOrDigest::Both(_, digest) => Some(digest),
            TagOrDigest::Tag(_) => None,
        }
    }

    /// The same repository with another tag; a digest is dropped, since it names other content.
    #[must_use]
    pub fn with_tag(self, tag: Tag) -> Self {
        Self::tagged(self.repository, tag)
    }
}

impl PinnedRef {
    pub fn new(repository: Repository, digest: Digest) -> Self {
        Self { repository, digest }
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn digest(&self) -> &Digest {
        &self.digest
    }
}

impl From<PinnedRef> for ImageRef {
    fn from(pinned: PinnedRef) -> Self {
        Self {
            repository: pinned.repository,
            tag_or_digest: TagOrDigest::Digest(pinned.digest),
        }
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        match &self.tag_or_digest {
            TagOrDigest::Tag(tag) => write!(f, ":{tag}"),
            TagOrDigest::Digest(digest) => write!(f, "@{digest}"),
            TagOrDigest::Both(tag, digest) => write!(f, ":{tag}@{digest}"),
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
        if text.len() > MAX_LENGTH {
            return Err(ImageRefError::TooLong);
        }
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => (named, Some(digest.parse().map_err(ImageRefError::Digest)?)),
            None => (text, None),
        };
        let (repository, tag) = split_tag(named);
        let repository = repository.parse()?;
        let tag = tag.map(str::parse).transpose()?;
        let tag_or_digest = match (tag, digest) {
            (Some(tag), Some(digest)) => TagOrDigest::Both(tag, digest),
            (Some(tag), None) => TagOrDigest::Tag(tag),
            (None, Some(digest)) => TagOrDigest::Digest(digest),
            (None, None) => TagOrDigest::Tag(Tag::latest()),
        };
        Ok(Self {
            repository,
            tag_or_digest,
        })
    }
}

/// A colon after the last `/` starts a tag; one before it belongs to the host.
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
