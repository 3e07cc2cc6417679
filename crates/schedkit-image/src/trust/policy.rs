//! A trust policy, ready for use: whose signatures are accepted, for which images, and what else an
//! image needs.
//!
//! ```text
//! repository ──the most specific scope──▶ ScopedRule ──▶ Requirements
//!                                                          ├─ signers, and how many of them
//!                                                          ├─ attestations, and by whom
//!                                                          └─ version, title, denied digests
//! ```
//!
//! Created by `policy_file` only, used by `signature`. A file without rules is a policy of one rule
//! for every repository: one of its keys or identities suffices. A policy always names a key or an
//! identity, and an image that no rule covers is refused: leaving something out never makes it trust
//! everybody.

mod claims;
mod fingerprint;
mod quorum;
mod scope;
mod scoped_rule;
mod signer;

use std::collections::BTreeSet;
use std::fmt;

use schedkit_core::{Digest, Repository};

pub use claims::{CertificateClaims, Claim, ClaimError, RequiredClaim};
pub use scope::{Scope, ScopeError};
pub use scoped_rule::{Decision, RequiredAttestation, Requirements, ScopedRule, TitleRule};
pub use signer::{Authority, PolicySigner, SignerMismatch, Validity};

pub(crate) use quorum::distinct_signers;
pub(crate) use signer::{ProvenIdentity, ProvenSigner};

use super::pattern::Pattern;
use super::root::TrustRoot;
use super::rule::Rule;
use super::signer_policy::{Identity, LogForKeys, NamedKey, SignerPolicy};

#[derive(Debug)]
pub struct Policy {
    signers: SignerPolicy,
    contents: Contents,
    format: PolicyFormat,
    /// Found while the file was parsed.
    parse_warnings: Vec<PolicyWarning>,
    fingerprint: Digest,
}

#[derive(Debug)]
pub(super) struct Contents {
    pub(super) signers: Vec<PolicySigner>,
    pub(super) rules: Vec<ScopedRule>,
    /// Refused whatever the rules say.
    pub(super) denied: BTreeSet<Digest>,
}

/// How the file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyFormat {
    /// `keys` and `identities`, for every image.
    Signers,
    /// `version: 2`.
    Rules,
}

/// Something that is allowed and probably a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyWarning {
    /// A regular expression that may match in the middle of a text.
    Unanchored {
        rule: Rule,
        /// `issuerRegExp` or `subjectRegExp`.
        field: String,
    },
    /// A prefix that ends in the middle of a name.
    OpenPrefix { rule: Rule, field: String },
    /// The URL of a log, and keys whose signatures need no log entry.
    LogNotRequired,
}

impl Policy {
    /// A policy of one rule for every repository.
    pub(super) fn of_signers(signers: SignerPolicy, parse_warnings: Vec<PolicyWarning>) -> Self {
        let keys = (0..signers.keys.len()).map(|at| (Rule::Key(at), Authority::Key(at)));
        let identities = 0..signers.identities.len();
        let identities = identities.map(|at| (Rule::Identity(at), Authority::Identity(at)));
        let listed = keys
            .chain(identities)
            .map(|(name, authority)| PolicySigner {
                name,
                authority,
                claims: Vec::new(),
                validity: Validity::default(),
            });
        let listed: Vec<_> = listed.collect();
        let rule = ScopedRule {
            position: 0,
            scope: Scope::everything(),
            decision: Decision::Require(Requirements {
                signers: (0..listed.len()).collect(),
                needed: 1,
                attestations: Vec::new(),
                minimum_version: None,
                title: TitleRule::AsInCatalog,
            }),
            denied: BTreeSet::new(),
        };
        let contents = Contents {
            signers: listed,
            rules: vec![rule],
            denied: BTreeSet::new(),
        };
        Self::new(signers, contents, PolicyFormat::Signers, parse_warnings)
    }

    pub(super) fn new(
        signers: SignerPolicy,
        contents: Contents,
        format: PolicyFormat,
        parse_warnings: Vec<PolicyWarning>,
    ) -> Self {
        let fingerprint = match format {
            PolicyFormat::Signers => fingerprint::of_signers(&signers),
            PolicyFormat::Rules => fingerprint::of_rules(&signers, &contents),
        };
        Self {
            signers,
            contents,
            format,
            parse_warnings,
            fingerprint,
        }
    }

    pub fn format(&self) -> PolicyFormat {
        self.format
    }

    /// What proves that one of the policy's signers signed.
    pub fn signer_policy(&self) -> &SignerPolicy {
        &self.signers
    }

    /// In the file's order; of a file with rules in the order of their names.
    pub fn signers(&self) -> &[PolicySigner] {
        &self.contents.signers
    }

    /// In the file's order.
    pub fn rules(&self) -> &[ScopedRule] {
        &self.contents.rules
    }

    /// Refused whatever the rules say, ascending.
    pub fn denied(&self) -> &BTreeSet<Digest> {
        &self.contents.denied
    }

    /// See [`SignerPolicy::keys`].
    pub fn keys(&self) -> &[NamedKey] {
        self.signers.keys()
    }

    /// See [`SignerPolicy::identities`].
    pub fn identities(&self) -> &[Identity] {
        self.signers.identities()
    }

    pub fn log_for_keys(&self) -> LogForKeys {
        self.signers.log_for_keys()
    }

    /// The Sigstore instance that signatures are verified with.
    pub fn root(&self) -> &TrustRoot {
        self.signers.root()
    }

    /// The rule with the most specific scope. Without one, no image of the repository is accepted.
    pub fn rule_for(&self, repository: &Repository) -> Option<&ScopedRule> {
        let rules = self.contents.rules.iter();
        let covering = rules.filter(|rule| rule.scope.covers(repository));
        covering.max_by_key(|rule| rule.scope.depth())
    }

    /// What an image that has a title must be called: `in_catalog` is the name that it was asked for,
    /// if there was one. `None` if any title is accepted.
    pub fn name_to_check<'a>(
        &self,
        repository: &'a Repository,
        in_catalog: Option<&'a str>,
    ) -> Option<&'a str> {
        let requirements = self.rule_for(repository)?.requirements()?;
        match requirements.title {
            TitleRule::Any => None,
            TitleRule::AsInCatalog => in_catalog,
            TitleRule::AsAsked => in_catalog.or_else(|| repository.path().rsplit('/').next()),
        }
    }

    /// A digest of everything that decides: signers, rules, the log rule, and the root where it is
    /// used. The order of the entries and the names of the files do not change it. Policies with
    /// the same fingerprint decide alike; two that decide alike may have different fingerprints.
    pub fn fingerprint(&self) -> &Digest {
        &self.fingerprint
    }

    pub fn warnings(&self) -> Vec<PolicyWarning> {
        let mut warnings = self.parse_warnings.clone();
        for signer in self.signers() {
            for (field, pattern) in self.patterns(signer) {
                let rule = signer.name.clone();
                if pattern.is_unanchored() {
                    let field = format!("{field}RegExp");
                    warnings.push(PolicyWarning::Unanchored { rule, field });
                } else if pattern.is_open_prefix() {
                    let field = format!("{field}Prefix");
                    warnings.push(PolicyWarning::OpenPrefix { rule, field });
                }
            }
        }
        warnings
    }

    fn patterns<'a>(&'a self, signer: &'a PolicySigner) -> Vec<(&'static str, &'a Pattern)> {
        let identity = match signer.authority {
            Authority::Key(_) => None,
            Authority::Identity(position) => self.identities().get(position),
        };
        let claims = signer.claims.iter();
        let claims = claims.map(|required| (required.claim.name(), &required.value));
        let identity = identity
            .into_iter()
            .flat_map(|identity| [("issuer", &identity.issuer), ("subject", &identity.subject)]);
        identity.chain(claims).collect()
    }

    /// Which of these signers a proven signature counts for.
    pub(crate) fn counts_for(
        &self,
        accepted: &[usize],
        proven: &ProvenSigner<'_>,
    ) -> Result<Vec<usize>, Option<SignerMismatch>> {
        let (mut counts, mut mismatch) = (Vec::new(), None);
        for &position in accepted {
            let signer = self.contents.signers.get(position);
            match signer.and_then(|signer| signer.check(&self.signers, proven)) {
                None => {}
                Some(Ok(())) => counts.push(position),
                Some(Err(found)) => mismatch = mismatch.or(Some(found)),
            }
        }
        match counts.is_empty() {
            true => Err(mismatch),
            false => Ok(counts),
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
            Self::OpenPrefix { rule, field } => write!(
                f,
                "{field} of {rule} ends in the middle of a name: it also matches longer names"
            ),
            Self::LogNotRequired => f.write_str(
                "rekorURL alone does not require a log entry for signatures by key; set `requireTransparencyLog`",
            ),
        }
    }
}
