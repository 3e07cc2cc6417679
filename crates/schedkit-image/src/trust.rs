//! The trust policy: its signers, the rules for which images they are needed, and the trusted roots
//! that identities are verified with.
//!
//! A policy is read once, checked completely, and never changes afterwards. Nothing here reads an
//! image: `signature` does that. Nothing but `refresh`, which fetches a newer root, uses the network.

mod advice;
mod built_in;
mod go_syntax;
mod key;
mod pattern;
mod policy;
mod policy_file;
mod root;
mod root_source;
mod rule;
mod signer_policy;
mod tuf;
mod version;

pub use advice::{Considered, Relevance};
pub use built_in::{BuiltIn, BuiltInError};
pub use go_syntax::SyntaxError;
pub use key::{KeyError, KeyKind, PublicKey, WrongSignature};
pub use pattern::{Pattern, PatternError};
pub use policy::{
    Authority, CertificateClaims, Claim, ClaimError, Decision, Policy, PolicyFormat, PolicySigner,
    PolicyWarning, RequiredAttestation, RequiredClaim, Requirements, Scope, ScopeError, ScopedRule,
    SignerMismatch, TitleRule, Validity,
};
pub use policy_file::{
    KeyFileError, LocatedFault, PolicyError, PolicyFault, PolicyFile, RootFileError,
};
pub use root::{ChainFault, RootError, RootOrigin, TrustRoot};
pub use root_source::{NoRootError, RootAgeError, RootSource, RootWarning};
pub use rule::Rule;
pub use signer_policy::{Identity, LogForKeys, NamedKey, SignerPolicy};
pub use tuf::{
    Anchor, AnchorError, FailedRefresh, KeptRoot, KeptRootError, Mirror, MirrorError, MirrorUrl,
    MirrorUrlError, RoleState, RootStore, RootStoreError, TufError, TufFault, UpdateLock, refresh,
};
pub use version::{Version, VersionError};

pub(crate) use policy::{ProvenIdentity, ProvenSigner, distinct_signers};
pub(crate) use root::{NarrowError, certificate_time};
