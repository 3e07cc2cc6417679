//! What is wrong with a TUF repository, in our words.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;
use sigstore_tuf::Error as LibraryError;

use super::mirror::MirrorError;
use crate::trust::root::RootError;
use crate::untrusted::shortened;

/// Roots from the pinned one to the newest.
pub(super) const MAX_ROOTS: usize = 64;
const MAX_REASON: usize = 300;

#[derive(Debug, thiserror::Error)]
pub enum TufFault {
    #[error(transparent)]
    Mirror(MirrorError),
    #[error("the mirror took more than {} s", .0.as_secs())]
    Timeout(Duration),
    #[error(
        "its `{role}` has version {offered}, and version {seen} was there before: the mirror was rolled \
         back, or is an old copy"
    )]
    RolledBack {
        role: String,
        seen: u64,
        offered: u64,
    },
    #[error(
        "its `{role}` expired at {at}: the mirror is frozen or an old copy, or the clock of this machine is \
         wrong"
    )]
    Expired { role: String, at: Timestamp },
    #[error("its `{role}` has {found} valid signatures and needs {needed}")]
    NotSigned {
        role: String,
        found: usize,
        needed: usize,
    },
    #[error(
        "its roots lead further than {MAX_ROOTS} versions from the pinned one: pin a newer one"
    )]
    TooManyRoots,
    /// Its signature would count as those of two.
    #[error("its root of version {version} has one key under two names for `{role}`")]
    SharedKey { version: u64, role: String },
    /// The reason is the library's, short and printable.
    #[error("it cannot be verified: {0}")]
    Invalid(String),
    #[error("its trusted root cannot be used; a newer schedkit may be able to")]
    TrustedRoot(#[source] RootError),
}

impl TufFault {
    pub(super) fn invalid(reason: &str) -> Self {
        Self::Invalid(shortened(reason, MAX_REASON))
    }
}

impl From<LibraryError> for TufFault {
    fn from(error: LibraryError) -> Self {
        match error {
            // `targets.json (via snapshot)` is a version that the snapshot names.
            LibraryError::Rollback { role, trusted, new } => Self::RolledBack {
                role: role.split(['.', ' ']).next().unwrap_or_default().to_owned(),
                seen: trusted,
                offered: new,
            },
            LibraryError::Expired { role, expires } => Self::Expired { role, at: expires },
            LibraryError::ThresholdNotMet {
                role,
                found,
                threshold,
            } => Self::NotSigned {
                role,
                found,
                needed: threshold,
            },
            LibraryError::Transport {
                source: Some(source),
                message,
            } => match source.downcast() {
                Ok(error) => Self::Mirror(*error),
                Err(_) => Self::invalid(&message),
            },
            // All of ours have a source; the library has one for what is not there, which is an error
            // of the mirror before, and one for too many roots.
            LibraryError::Transport { source: None, .. } => Self::TooManyRoots,
            other => Self::invalid(&with_causes(&other)),
        }
    }
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
