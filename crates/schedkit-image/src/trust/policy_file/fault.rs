//! What can be wrong with a policy file, and at which line.

use std::path::PathBuf;

use serde_saphyr::{Location, Spanned};

use crate::trust::key::KeyError;
use crate::trust::pattern::PatternError;
use crate::trust::root::RootError;
use crate::untrusted::ReadError;

pub(super) const MAX_ENTRIES: usize = 64;
pub(super) const PUBLIC_REKOR: &str = "https://rekor.sigstore.dev";

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("the trust policy {path} cannot be used")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("the trust policy {path} is invalid")]
    Invalid {
        path: PathBuf,
        #[source]
        source: LocatedFault,
    },
}

/// A fault and its position.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, column {column}")]
pub struct LocatedFault {
    /// Counted from 1.
    pub line: u64,
    /// Counted from 1.
    pub column: u64,
    #[source]
    pub fault: PolicyFault,
}

/// What is wrong with a policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFault {
    /// A syntax error, an unknown name, a value of the wrong type.
    #[error("{0}")]
    Yaml(String),
    #[error("the policy names neither a key nor an identity")]
    Empty,
    #[error("more than {MAX_ENTRIES} {0}")]
    TooMany(&'static str),
    #[error("an identity has either `{0}` or `{0}RegExp`, not both")]
    Both(&'static str),
    #[error("an identity needs `{0}` or `{0}RegExp`")]
    Neither(&'static str),
    #[error("`{field}` is invalid")]
    Pattern {
        field: &'static str,
        #[source]
        source: PatternError,
    },
    #[error("the key {path} cannot be used")]
    Key {
        path: PathBuf,
        #[source]
        source: KeyFileError,
    },
    #[error("the trusted root {path} cannot be used")]
    Root {
        path: PathBuf,
        #[source]
        source: RootFileError,
    },
    #[error("`rekorURL` is not a URL with https:// or http://")]
    RekorUrl,
    /// Entries of another log cannot be verified with the public instance's keys.
    #[error("a `rekorURL` other than {PUBLIC_REKOR} needs `trustedRoot` with that log's key")]
    RekorNeedsRoot,
    #[error("the `trustedRoot` has no log at this `rekorURL`")]
    RekorNotInRoot,
    #[error(
        "signatures by identity always need the log; `requireTransparencyLog: false` is for keys"
    )]
    LogAlwaysRequired,
    #[error("the `trustedRoot` lacks {0}, so no such signature can be verified")]
    RootLacks(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Key(#[from] KeyError),
}

#[derive(Debug, thiserror::Error)]
pub enum RootFileError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Root(#[from] RootError),
}

impl PolicyFault {
    pub(super) fn at<T>(self, value: &Spanned<T>) -> LocatedFault {
        self.at_location(value.referenced)
    }

    pub(super) fn without_position(self) -> LocatedFault {
        self.at_location(Location::UNKNOWN)
    }

    pub(super) fn at_location(self, location: Location) -> LocatedFault {
        LocatedFault {
            line: location.line().max(1),
            column: location.column().max(1),
            fault: self,
        }
    }
}
