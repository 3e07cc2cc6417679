//! The trust policy: its keys and identities, and the trusted roots that identities are verified
//! with.
//!
//! A policy is read once, checked completely, and never changes afterwards. Nothing here uses the
//! network or reads an image: `signature` does that.

mod go_syntax;
mod key;
mod pattern;
mod policy;
mod policy_file;
mod root;

pub use go_syntax::SyntaxError;
pub use key::{KeyError, KeyKind, PublicKey, WrongSignature};
pub use pattern::{Pattern, PatternError};
pub use policy::{Identity, LogForKeys, NamedKey, Policy, PolicyWarning, Rule};
pub use policy_file::{
    KeyFileError, LocatedFault, PolicyError, PolicyFault, PolicyFile, RootFileError,
};
pub use root::{RootError, RootOrigin, TrustRoot};

pub(crate) use root::{NarrowError, certificate_time};
