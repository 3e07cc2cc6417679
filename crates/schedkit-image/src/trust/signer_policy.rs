//! All keys and identities of a policy, and what their signatures are verified with.
//!
//! `signature` proves with it that one of them signed. Which of them an image needs is decided
//! afterwards, by the policy's rules.

use std::path::{Path, PathBuf};

use super::key::PublicKey;
use super::pattern::Pattern;
use super::root::TrustRoot;
use super::rule::Rule;

#[derive(Debug)]
pub struct SignerPolicy {
    pub(super) keys: Vec<NamedKey>,
    pub(super) identities: Vec<Identity>,
    pub(super) log_for_keys: LogForKeys,
    pub(super) root: TrustRoot,
}

#[derive(Debug)]
pub struct NamedKey {
    /// The file that it was read from.
    pub path: PathBuf,
    pub key: PublicKey,
}

/// Someone whom an identity provider authenticates.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The identity provider.
    pub issuer: Pattern,
    pub subject: Pattern,
}

/// Whether a signature made with a key must be in a transparency log. One made with a certificate
/// always must: the log is what proves that it was made while the certificate was valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForKeys {
    /// The key alone decides.
    Optional,
    /// The key alone decides, and a valid entry proves when it signed: the policy limits the time of
    /// one of its keys.
    ForTime,
    /// A signature without a valid entry is refused.
    Required,
}

impl SignerPolicy {
    /// In the file's order.
    pub fn keys(&self) -> &[NamedKey] {
        &self.keys
    }

    /// In the file's order.
    pub fn identities(&self) -> &[Identity] {
        &self.identities
    }

    pub fn log_for_keys(&self) -> LogForKeys {
        self.log_for_keys
    }

    /// The Sigstore instance that signatures are verified with.
    pub fn root(&self) -> &TrustRoot {
        &self.root
    }

    /// The first identity that matches a certificate's issuer and subject.
    pub(crate) fn identity_of(&self, issuer: &str, subject: &str) -> Option<Rule> {
        self.identities
            .iter()
            .position(|identity| identity.matches(issuer, subject))
            .map(Rule::Identity)
    }

    /// The first key that made a signature.
    pub(crate) fn key_of(&self, message: &[u8], signature: &[u8]) -> Option<(Rule, &NamedKey)> {
        self.keys
            .iter()
            .enumerate()
            .find(|(_, named)| named.key.verify(message, signature).is_ok())
            .map(|(position, named)| (Rule::Key(position), named))
    }
}

impl Identity {
    /// Issuer and subject, if only one certificate identity fits.
    pub(super) fn in_full(&self) -> Option<[&str; 2]> {
        Some([self.issuer.exact_text()?, self.subject.exact_text()?])
    }

    pub(super) fn matches(&self, issuer: &str, subject: &str) -> bool {
        self.issuer.matches(issuer) && self.subject.matches(subject)
    }
}

impl NamedKey {
    pub fn path(&self) -> &Path {
        &self.path
    }
}
