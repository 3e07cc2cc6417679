//! A trust policy, ready for use: whose signatures are accepted.
//!
//! Created by `policy_file` only, used by `signature`. One matching key or identity suffices. A
//! policy always names at least one: leaving something out never makes it trust everybody.

use std::fmt;
use std::path::{Path, PathBuf};

use schedkit_core::Digest;

use super::key::PublicKey;
use super::pattern::Pattern;
use super::root::TrustRoot;
use crate::hash::Hasher;

#[derive(Debug)]
pub struct Policy {
    keys: Vec<NamedKey>,
    identities: Vec<Identity>,
    log_for_keys: LogForKeys,
    root: TrustRoot,
    /// Found while the file was parsed.
    parse_warnings: Vec<PolicyWarning>,
    fingerprint: Digest,
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
    /// A signature without a valid entry is refused.
    Required,
}

/// The entry of a policy that accepted a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `keys[N]`.
    Key(usize),
    /// `identities[N]`.
    Identity(usize),
}

/// Something that is allowed and probably a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyWarning {
    /// A regular expression that may match in the middle of a text.
    Unanchored {
        rule: Rule,
        /// `issuerRegExp` or `subjectRegExp`.
        field: &'static str,
    },
    /// The URL of a log, and keys whose signatures need no log entry.
    LogNotRequired,
}

impl Policy {
    pub(super) fn new(
        keys: Vec<NamedKey>,
        identities: Vec<Identity>,
        log_for_keys: LogForKeys,
        root: TrustRoot,
        parse_warnings: Vec<PolicyWarning>,
    ) -> Self {
        let fingerprint = fingerprint(&keys, &identities, log_for_keys, &root);
        Self {
            keys,
            identities,
            log_for_keys,
            root,
            parse_warnings,
            fingerprint,
        }
    }

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

    /// A digest of everything that decides: keys, identities, the log rule, and the root where it is
    /// used. The order of the entries and the names of the files do not change it. Policies with
    /// the same fingerprint decide alike; two that decide alike may have different fingerprints.
    pub fn fingerprint(&self) -> &Digest {
        &self.fingerprint
    }

    pub fn warnings(&self) -> Vec<PolicyWarning> {
        let mut warnings = self.parse_warnings.clone();
        for (position, identity) in self.identities.iter().enumerate() {
            let fields = [
                ("issuerRegExp", &identity.issuer),
                ("subjectRegExp", &identity.subject),
            ];
            for (field, pattern) in fields {
                if pattern.is_unanchored() {
                    let rule = Rule::Identity(position);
                    warnings.push(PolicyWarning::Unanchored { rule, field });
                }
            }
        }
        warnings
    }

    /// The first identity that matches a certificate's issuer and subject.
    pub(crate) fn identity_of(&self, issuer: &str, subject: &str) -> Option<Rule> {
        self.identities
            .iter()
            .position(|identity| {
                identity.issuer.matches(issuer) && identity.subject.matches(subject)
            })
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

impl NamedKey {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(position) => write!(f, "keys[{position}]"),
            Self::Identity(position) => write!(f, "identities[{position}]"),
        }
    }
}

impl fmt::Display for PolicyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanchored { rule, field } => write!(
                f,
                "{field} of {rule} has no `^` at its start: it also matches in the middle of other names"
            ),
            Self::LogNotRequired => f.write_str(
                "rekorURL alone does not require a log entry for signatures by key; set `requireTransparencyLog`",
            ),
        }
    }
}

/// The digest of sorted lines, each text with its length before it, so that no two policies that
/// decide differently have the same lines.
fn fingerprint(
    keys: &[NamedKey],
    identities: &[Identity],
    log_for_keys: LogForKeys,
    root: &TrustRoot,
) -> Digest {
    let mut lines: Vec<String> = keys
        .iter()
        .map(|named| format!("key {}", named.key.fingerprint()))
        .chain(identities.iter().map(identity_line))
        .collect();
    lines.sort();
    lines.dedup();
    if !identities.is_empty() || log_for_keys == LogForKeys::Required {
        lines.push(format!("root {}", root.digest()));
    }
    lines.push(match log_for_keys {
        LogForKeys::Optional => "keys without log".to_owned(),
        LogForKeys::Required => "keys with log".to_owned(),
    });
    let mut hasher = Hasher::new();
    hasher.update(b"schedkit trust policy 1\n");
    for line in &lines {
        hasher.update(format!("{}:{line}\n", line.len()).as_bytes());
    }
    hasher.finish()
}

fn identity_line(identity: &Identity) -> String {
    let (issuer_kind, issuer) = identity.issuer.canonical();
    let (subject_kind, subject) = identity.subject.canonical();
    format!(
        "identity {issuer_kind} {}:{issuer} {subject_kind} {}:{subject}",
        issuer.len(),
        subject.len()
    )
}
