//! What can be wrong with a policy file: where, and why, in sentences for whoever wrote it.

use std::path::PathBuf;

use serde_saphyr::{Location, Spanned};

use super::{MOST_RULES, PUBLIC_REKOR};
use crate::foreign::ReadError;
use crate::trust::key::KeyError;
use crate::trust::pattern::PatternError;
use crate::trust::root::RootError;

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file itself.
    #[error("the trust policy {path} is not used")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is the matter with it.
        #[source]
        source: ReadError,
    },
    /// Something in it.
    #[error("the trust policy {path} is wrong")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Misplaced,
    },
}

/// Where a policy is wrong.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, column {column}")]
pub struct Misplaced {
    /// Counted from 1.
    pub line: u64,
    /// Counted from 1.
    pub column: u64,
    /// And why.
    #[source]
    pub fault: Fault,
}

/// Why a policy is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No YAML, an unknown name, a value of the wrong kind.
    #[error("{0}")]
    Yaml(String),
    /// It would trust nobody, or, read carelessly, everybody.
    #[error("the policy names neither a key nor an identity")]
    Empty,
    /// A list without an end.
    #[error("more than {MOST_RULES} {0}")]
    TooMany(&'static str),
    /// Which of the two would count?
    #[error("an identity has either `{0}` or `{0}RegExp`, not both")]
    Both(&'static str),
    /// Half an identity trusts too many.
    #[error("an identity needs `{0}` or `{0}RegExp`")]
    Neither(&'static str),
    /// A text that is not taken as an issuer or a subject.
    #[error("`{field}` is not taken")]
    Pattern {
        /// Which of the four.
        field: &'static str,
        /// Why.
        #[source]
        source: PatternError,
    },
    /// A key that cannot be used.
    #[error("the key {path} is not used")]
    Key {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        source: KeyFileError,
    },
    /// A root that cannot be used.
    #[error("the trusted root {path} is not used")]
    Root {
        /// Its file; the embedded one has none.
        path: PathBuf,
        /// Why.
        #[source]
        source: RootFileError,
    },
    /// Not an address.
    #[error("`rekorURL` is no address that begins with https:// or http://")]
    RekorUrl,
    /// Another log's entries cannot be verified with the public instance's keys.
    #[error("a `rekorURL` other than {PUBLIC_REKOR} needs `trustedRoot` with that log's key")]
    RekorNeedsRoot,
    /// The two do not belong together.
    #[error("the `trustedRoot` has no log at this `rekorURL`")]
    RekorNotInRoot,
    /// There is nothing that this could switch off.
    #[error(
        "signatures by identity always need the log; `requireTransparencyLog: false` is for keys"
    )]
    LogAlwaysRequired,
    /// Nothing could ever be accepted.
    #[error("the `trustedRoot` lacks {0}, so that no such signature could be verified")]
    RootLacks(&'static str),
}

/// Why a key's file is not used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file itself.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What is in it.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Why a root's file is not used.
#[derive(Debug, thiserror::Error)]
pub enum RootFileError {
    /// The file itself.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What is in it.
    #[error(transparent)]
    Root(#[from] RootError),
}

impl Fault {
    pub(super) fn at<T>(self, place: &Spanned<T>) -> Misplaced {
        self.placed(place.referenced)
    }

    pub(super) fn at_the_top(self) -> Misplaced {
        self.placed(Location::UNKNOWN)
    }

    pub(super) fn placed(self, location: Location) -> Misplaced {
        Misplaced {
            line: location.line().max(1),
            column: location.column().max(1),
            fault: self,
        }
    }
}
