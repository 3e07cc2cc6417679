//! Whom we believe: the trust policy, its keys and identities, and the roots they rest on.
//!
//! A policy is read once, checked to the last word, and never changes afterwards. Nothing here
//! talks to a network, and nothing here looks at an image: that is `signature`'s work.

mod go_syntax;
mod key;
mod pattern;
mod policy;
mod policy_file;
mod root;

pub use go_syntax::SyntaxError;
pub use key::{KeyError, KeyKind, PublicKey, WrongSignature};
pub use pattern::{Pattern, PatternError};
pub use policy::{Identity, LogForKeys, NamedKey, Policy, Rule, Warning};
pub use policy_file::{Fault, KeyFileError, Misplaced, PolicyError, PolicyFile, RootFileError};
pub use root::{RootError, RootOrigin, TrustRoot};

pub(crate) use root::{NarrowError, moment};
