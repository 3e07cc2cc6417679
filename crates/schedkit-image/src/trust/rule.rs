//! The name of an entry of a policy.

use std::fmt;

/// The entry of a policy that accepted a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `keys[N]`.
    Key(usize),
    /// `identities[N]`.
    Identity(usize),
    /// `signers.NAME`.
    Signer(String),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(position) => write!(f, "keys[{position}]"),
            Self::Identity(position) => write!(f, "identities[{position}]"),
            Self::Signer(name) => write!(f, "signers.{name}"),
        }
    }
}
