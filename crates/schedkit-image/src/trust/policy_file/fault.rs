//! What can be wrong with a policy file, and at which line.

use std::path::PathBuf;
use std::sync::Arc;

use serde_saphyr::{Location, Spanned};

use crate::trust::built_in::BuiltInError;
use crate::trust::key::KeyError;
use crate::trust::pattern::PatternError;
use crate::trust::policy::{ClaimError, ScopeError};
use crate::trust::root::RootError;
use crate::trust::root_source::NoRootError;
use crate::trust::version::VersionError;
use crate::untrusted::ReadError;

pub(super) const MAX_ENTRIES: usize = 64;
pub(super) const MAX_NAME: usize = 63;
pub(super) const MAX_PREDICATE_TYPE: usize = 512;
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
    #[error(transparent)]
    NoBuiltIn(#[from] BuiltInError),
    #[error(transparent)]
    NoRoot(Arc<NoRootError>),
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
    #[error("{what}: at most {limit}, and there are more")]
    MoreThan { what: &'static str, limit: usize },
    #[error("`version` is 2, or absent for a policy of keys and identities alone")]
    Version,
    #[error("the policy has no rules, so that it would refuse every image")]
    NoRules,
    #[error("a signer has either a `key` or an identity (`issuer` and `subject`), and not both")]
    KeyOrIdentity,
    #[error("`claims` are in certificates, so a signer with a `key` has none")]
    ClaimsOfKey,
    #[error("a signer's name has 1 to {MAX_NAME} letters, digits, `-`, `_` and `.`")]
    SignerName,
    #[error("`{field}` is set twice: exactly, as a prefix or as a regular expression, but once")]
    SetTwice { field: String },
    #[error("a signer needs `{0}`, `{0}Prefix` or `{0}RegExp`")]
    NotSet(&'static str),
    #[error("`{name}` is unknown")]
    Claim {
        name: String,
        #[source]
        source: ClaimError,
    },
    #[error("is not a time such as 2026-12-31T23:59:59Z")]
    Time,
    #[error("`notAfter` is before `notBefore`, so the signer would never be accepted")]
    NeverValid,
    #[error("the policy has no signer `{0}`")]
    NoSigner(String),
    #[error("`{0}` is named twice")]
    NamedTwice(String),
    #[error("two signers have this key: one signature would count for both")]
    SameKey,
    #[error("the scope {text}")]
    Scope {
        text: String,
        #[source]
        source: ScopeError,
    },
    /// Neither would be more specific.
    #[error(
        "the scope {scope} has a rule already, at line {line}: two rules for it would contradict each other"
    )]
    SameScope { scope: String, line: u64 },
    #[error("the rule names no signer; to refuse every image of its scope, write `refuse: true`")]
    NoSignerInRule,
    #[error("a rule with `refuse: true` refuses everything, and has nothing else but its scope")]
    RefuseAndMore,
    #[error("`refuse` is true or absent")]
    RefuseFalse,
    #[error("`require` is any, all or a number from 1 to {0}, the number of the rule's signers")]
    Require(usize),
    #[error(
        "`require` can never be met: two of the rule's signers are one identity, which counts once"
    )]
    SameIdentity,
    #[error("`title` is asked or any")]
    Title,
    #[error("`minimumVersion`")]
    MinimumVersion(#[source] VersionError),
    #[error("is not a digest such as sha256:… with 64 hexadecimal digits in lower case")]
    Digest,
    #[error("`predicateType` has 1 to {MAX_PREDICATE_TYPE} printable characters without spaces")]
    PredicateType,
    #[error("`predicateType` is the one of signatures, which are asked for with `signers`")]
    SignaturePredicate,
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
    #[error(transparent)]
    NoRoot(Arc<NoRootError>),
    #[error("`rekorURL` is not a URL with https:// or http://")]
    RekorUrl,
    /// Entries of another log cannot be verified with the public instance's keys.
    #[error("a `rekorURL` other than {PUBLIC_REKOR} needs `trustedRoot` with that log's key")]
    RekorNeedsRoot,
    #[error("the `trustedRoot` has no log at this `rekorURL`")]
    RekorNotInRoot,
    #[error(
        "`rekorURL` would restrict nothing: without `requireTransparencyLog: true`, signatures by key need no log; \
         set that, or remove `rekorURL`"
    )]
    RekorNotKept,
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
    pub(super) fn more_than(what: &'static str, limit: usize) -> Self {
        Self::MoreThan { what, limit }
    }

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
