//! A trusted root together with everything that proves it, as text that can be kept.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use jiff::Timestamp;
use schedkit_core::Digest;
use serde::{Deserialize, Serialize};

use super::anchor::Anchor;
use super::fault::TufFault;
use super::files::{StoredRepository, TufFiles};
use super::walk::{RoleState, Walked, walk};
use crate::trust::root::{RootOrigin, TrustRoot};
use crate::untrusted::brief;

/// Created by `refresh` and `parse`, which verify it.
#[derive(Debug, Clone)]
pub struct KeptRoot {
    files: TufFiles,
    roles: Vec<RoleState>,
    checked_at: Timestamp,
    mirror: String,
    anchor: Digest,
    root: TrustRoot,
}

/// Why text is no kept root.
#[derive(Debug, thiserror::Error)]
pub enum KeptRootError {
    #[error("is not a kept trusted root: {0}")]
    Malformed(String),
    #[error("begins at another TUF root than the pinned one")]
    OtherAnchor,
    #[error("is not accepted any more")]
    Tuf(#[source] TufFault),
}

/// The file. Unknown fields are ignored, so that an older program can read it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    checked_at: Timestamp,
    mirror: String,
    anchor: String,
    #[serde(flatten)]
    files: TufFiles,
}

impl KeptRoot {
    /// Verifies it again as of the time when it was checked: what has expired since is old, not wrong.
    ///
    /// # Errors
    /// When it was not written by `text`, was changed since, or begins at another anchor.
    pub fn parse(text: &str, anchor: &Anchor) -> Result<Self, KeptRootError> {
        let malformed = |text: String| KeptRootError::Malformed(brief(&text));
        let document: Document =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if document.anchor != anchor.digest().to_string() {
            return Err(KeptRootError::OtherAnchor);
        }
        let repository = StoredRepository::new(document.files, anchor);
        let walking = walk(repository, None, anchor, document.checked_at);
        let walked = without_waiting(walking)
            .ok_or_else(|| malformed("it cannot be read at once".to_owned()))?;
        let walked = walked.map_err(KeptRootError::Tuf)?;
        let mirror = brief(&document.mirror);
        Self::new(walked, anchor, mirror, document.checked_at).map_err(KeptRootError::Tuf)
    }

    pub(super) fn new(
        walked: Walked,
        anchor: &Anchor,
        mirror: String,
        checked_at: Timestamp,
    ) -> Result<Self, TufFault> {
        let Walked { files, roles } = walked;
        let origin = RootOrigin::Tuf {
            checked_at,
            mirror: mirror.clone(),
        };
        let root = TrustRoot::parse(&files.trusted_root, origin).map_err(TufFault::TrustedRoot)?;
        Ok(Self {
            files,
            roles,
            checked_at,
            mirror,
            anchor: anchor.digest().clone(),
            root,
        })
    }

    /// What `parse` reads.
    ///
    /// # Errors
    /// Never in practice: it is text already.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Document {
            checked_at: self.checked_at,
            mirror: self.mirror.clone(),
            anchor: self.anchor.to_string(),
            files: self.files.clone(),
        })
    }

    pub fn root(&self) -> &TrustRoot {
        &self.root
    }

    /// When a mirror last confirmed it.
    pub fn checked_at(&self) -> Timestamp {
        self.checked_at
    }

    pub fn mirror(&self) -> &str {
        &self.mirror
    }

    /// `root`, `timestamp`, `snapshot`, `targets`.
    pub fn roles(&self) -> &[RoleState] {
        &self.roles
    }

    /// When the first of its roles does; after that only a refresh can confirm it.
    pub fn expires(&self) -> Timestamp {
        let times = self.roles.iter().map(|role| role.expires);
        times.min().unwrap_or(self.checked_at)
    }

    pub(super) fn is_of(&self, anchor: &Anchor) -> bool {
        self.anchor == *anchor.digest()
    }

    pub(super) fn files(&self) -> &TufFiles {
        &self.files
    }
}

/// For a future that waits for nothing; `None` if it does.
fn without_waiting<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
