//! A trust policy, ready for use: who may have signed what we run.
//!
//! Made by `policy_file` only, asked by `signature`. One matching key or identity suffices; an
//! image signed by nobody in it does not run. There is no way to make a policy that trusts
//! everybody by leaving something out.

use std::fmt;
use std::path::{Path, PathBuf};

use schedkit_core::Digest;

use super::key::PublicKey;
use super::pattern::Pattern;
use super::root::TrustRoot;
use crate::hash::Hasher;

/// Who is trusted.
#[derive(Debug)]
pub struct Policy {
    keys: Vec<NamedKey>,
    identities: Vec<Identity>,
    log_for_keys: LogForKeys,
    root: TrustRoot,
    /// What only the file's text shows.
    noticed: Vec<Warning>,
    fingerprint: Digest,
}

/// A key and the file that it was read from.
#[derive(Debug)]
pub struct NamedKey {
    /// As the policy names it.
    pub path: PathBuf,
    /// The key.
    pub key: PublicKey,
}

/// Someone whom an identity provider vouches for.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Who vouches.
    pub issuer: Pattern,
    /// For whom.
    pub subject: Pattern,
}

/// Whether a signature made with a key must be in a transparency log. One made with a certificate
/// always must: the log is what proves that it was made while the certificate was valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForKeys {
    /// The key alone decides.
    NotAsked,
    /// Without an entry that verifies, the signature does not count.
    Required,
}

/// Which line of a policy accepted a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `keys[N]`.
    Key(usize),
    /// `identities[N]`.
    Identity(usize),
}

/// Something that is allowed and probably not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A regular expression that may match in the middle of a text.
    Unanchored {
        /// Which identity.
        rule: Rule,
        /// `issuerRegExp` or `subjectRegExp`.
        field: &'static str,
    },
    /// An address of a log, and keys whose signatures need none.
    LogNotAsked,
}

impl Policy {
    pub(super) fn new(
        keys: Vec<NamedKey>,
        identities: Vec<Identity>,
        log_for_keys: LogForKeys,
        root: TrustRoot,
        noticed: Vec<Warning>,
    ) -> Self {
        let fingerprint = fingerprint(&keys, &identities, log_for_keys, &root);
        Self {
            keys,
            identities,
            log_for_keys,
            root,
            noticed,
            fingerprint,
        }
    }

    /// The keys, in the file's order.
    pub fn keys(&self) -> &[NamedKey] {
        &self.keys
    }

    /// The identities, in the file's order.
    pub fn identities(&self) -> &[Identity] {
        &self.identities
    }

    /// Whether signatures made with a key need a log entry.
    pub fn log_for_keys(&self) -> LogForKeys {
        self.log_for_keys
    }

    /// The Sigstore instance that it rests on.
    pub fn root(&self) -> &TrustRoot {
        &self.root
    }

    /// One name for what decides: keys, identities, the log rule, and the root where any of them
    /// rests on it. The order of the lines and the names of the files do not change it. Policies
    /// with the same name decide alike; two that decide alike may have two names.
    pub fn fingerprint(&self) -> &Digest {
        &self.fingerprint
    }

    /// What its author should look at again.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.noticed.clone();
        for (position, identity) in self.identities.iter().enumerate() {
            let fields = [
                ("issuerRegExp", &identity.issuer),
                ("subjectRegExp", &identity.subject),
            ];
            for (field, pattern) in fields {
                if pattern.is_unanchored() {
                    let rule = Rule::Identity(position);
                    warnings.push(Warning::Unanchored { rule, field });
                }
            }
        }
        warnings
    }

    /// The first identity that a certificate's two names fit.
    pub(crate) fn identity_of(&self, issuer: &str, subject: &str) -> Option<Rule> {
        self.identities
            .iter()
            .position(|one| one.issuer.matches(issuer) && one.subject.matches(subject))
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
    /// The file.
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

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanchored { rule, field } => write!(
                f,
                "{field} of {rule} has no `^` at its beginning: it also matches in the middle of somebody else's name"
            ),
            Self::LogNotAsked => f.write_str(
                "rekorURL does not make signatures by key need a log entry; say `requireTransparencyLog`",
            ),
        }
    }
}

/// Sorted lines, each with its length written before every free text, so that no two policies that
/// decide differently can be written alike.
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
        LogForKeys::NotAsked => "keys without log".to_owned(),
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
