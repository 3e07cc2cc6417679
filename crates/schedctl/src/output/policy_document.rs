//! A trust policy in JSON documents and texts: which one it is, its signers and its rules.

use std::fmt;

use schedkit_image::trust::{
    Authority, Decision, Policy, PolicyFormat, PolicySigner, RootOrigin, ScopedRule, TitleRule,
};
use serde::Serialize;

use crate::settings::PolicySource;

/// Which policy it is.
#[derive(Serialize)]
pub(super) struct PolicyDocument {
    /// `null` for a built-in policy.
    pub(super) path: Option<String>,
    /// `null` for a file.
    built_in: Option<&'static str>,
    /// Policies with the same fingerprint decide the same.
    fingerprint: String,
    pub(super) trusted_root: RootDocument,
}

/// The Sigstore instance whose signatures the policy accepts.
#[derive(Serialize)]
#[serde(tag = "origin", rename_all = "kebab-case")]
pub(super) enum RootDocument {
    /// The public instance, as of the build of this program.
    PublicGood {
        taken: String,
    },
    /// Fetched by `schedctl trust update`.
    Tuf {
        checked_at: String,
        mirror: String,
    },
    File {
        path: String,
    },
}

#[derive(Serialize)]
pub(super) struct SignerDocument {
    name: String,
    #[serde(flatten)]
    who: WhoDocument,
    claims: Vec<ClaimDocument>,
    not_before: Option<String>,
    not_after: Option<String>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum WhoDocument {
    Key { path: String, fingerprint: String },
    Identity { issuer: String, subject: String },
}

#[derive(Serialize)]
struct ClaimDocument {
    claim: &'static str,
    value: String,
}

#[derive(Serialize)]
pub(super) struct RuleDocument {
    scope: String,
    /// Every image is refused.
    refuses: bool,
    signers: Vec<String>,
    /// How many of the signers must have signed.
    needed: usize,
    attestations: Vec<AttestationDocument>,
    minimum_version: Option<String>,
    /// Whether an image that has a title must have the name that it was asked for.
    title: &'static str,
    denied_digests: Vec<String>,
}

#[derive(Serialize)]
struct AttestationDocument {
    predicate_type: String,
    signers: Vec<String>,
}

impl PolicyDocument {
    pub(super) fn new(source: &PolicySource, policy: &Policy) -> Self {
        let (path, built_in) = match source {
            PolicySource::BuiltIn(built_in) => (None, Some(built_in.name())),
            PolicySource::File(path) => (Some(path.display().to_string()), None),
        };
        let trusted_root = match policy.root().origin() {
            RootOrigin::PublicGood { taken } => RootDocument::PublicGood {
                taken: taken.to_string(),
            },
            RootOrigin::Tuf { checked_at, mirror } => RootDocument::Tuf {
                checked_at: format!("{checked_at:.0}"),
                mirror: mirror.clone(),
            },
            RootOrigin::File(path) => RootDocument::File {
                path: path.display().to_string(),
            },
        };
        Self {
            path,
            built_in,
            fingerprint: policy.fingerprint().to_string(),
            trusted_root,
        }
    }

    /// Its file or its name.
    pub(super) fn name(&self) -> &str {
        self.path.as_deref().or(self.built_in).unwrap_or_default()
    }

    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

impl SignerDocument {
    pub(super) fn all(policy: &Policy) -> Vec<Self> {
        let signers = policy.signers().iter();
        signers
            .filter_map(|signer| Self::new(signer, policy))
            .collect()
    }

    /// `None` never: a signer of a policy is one of its keys or identities.
    fn new(signer: &PolicySigner, policy: &Policy) -> Option<Self> {
        let who = match signer.authority {
            Authority::Key(position) => {
                let named = policy.keys().get(position)?;
                WhoDocument::Key {
                    path: named.path().display().to_string(),
                    fingerprint: named.key.fingerprint().to_string(),
                }
            }
            Authority::Identity(position) => {
                let identity = policy.identities().get(position)?;
                WhoDocument::Identity {
                    issuer: identity.issuer.to_string(),
                    subject: identity.subject.to_string(),
                }
            }
        };
        let claims = signer.claims.iter().map(|required| ClaimDocument {
            claim: required.claim.name(),
            value: required.value.to_string(),
        });
        Some(Self {
            name: signer.name.to_string(),
            who,
            claims: claims.collect(),
            not_before: signer.validity.not_before.map(|time| time.to_string()),
            not_after: signer.validity.not_after.map(|time| time.to_string()),
        })
    }

    /// Its name, who it is, and what else its signatures need.
    pub(super) fn cells(&self) -> [String; 3] {
        let who = match &self.who {
            WhoDocument::Key { path, fingerprint } => format!("key {path}\n{fingerprint}"),
            WhoDocument::Identity { issuer, subject } => format!("{subject}\n{issuer}"),
        };
        let claims = self.claims.iter();
        let claims = claims.map(|one| format!("{} {}", one.claim, one.value));
        let ends = [("from", &self.not_before), ("until", &self.not_after)];
        let ends = ends.into_iter().filter_map(|(word, time)| {
            let time = time.as_ref()?;
            Some(format!("{word} {time}"))
        });
        let conditions: Vec<String> = claims.chain(ends).collect();
        [self.name.clone(), who, or_dash(conditions.join("\n"))]
    }
}

impl RuleDocument {
    pub(super) fn new(rule: &ScopedRule, policy: &Policy) -> Self {
        let names = |positions: &[usize]| -> Vec<String> {
            let signers = positions.iter().filter_map(|at| policy.signers().get(*at));
            signers.map(|signer| signer.name.to_string()).collect()
        };
        let denied = rule.denied.iter().chain(policy.denied());
        let denied_digests = denied.map(ToString::to_string).collect();
        let scope = rule.scope.to_string();
        match &rule.decision {
            Decision::Refuse => Self {
                scope,
                refuses: true,
                signers: Vec::new(),
                needed: 0,
                attestations: Vec::new(),
                minimum_version: None,
                title: "any",
                denied_digests,
            },
            Decision::Require(asked) => Self {
                scope,
                refuses: false,
                signers: names(&asked.signers),
                needed: asked.needed,
                attestations: asked
                    .attestations
                    .iter()
                    .map(|one| AttestationDocument {
                        predicate_type: one.predicate_type.clone(),
                        signers: names(&one.signers),
                    })
                    .collect(),
                minimum_version: asked.minimum_version.as_ref().map(ToString::to_string),
                title: match asked.title {
                    TitleRule::AsAsked => "asked",
                    TitleRule::AsInCatalog => "catalog",
                    TitleRule::Any => "any",
                },
                denied_digests,
            },
        }
    }

    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    /// One line for each thing that an image needs.
    pub(super) fn needs(&self) -> Vec<String> {
        if self.refuses {
            return vec!["refuses every image".to_owned()];
        }
        let signers = self.signers.join(", ");
        let mut needs = vec![match (self.needed, self.signers.len()) {
            (1, 1) => format!("signed by {signers}"),
            (1, _) => format!("signed by one of {signers}"),
            (needed, all) if needed == all => format!("signed by all of {signers}"),
            (needed, _) => format!("signed by {needed} of {signers}"),
        }];
        needs.extend(self.attestations.iter().map(|one| {
            let signers = one.signers.join(" or ");
            format!("attestation {} by {signers}", one.predicate_type)
        }));
        let version = self.minimum_version.as_ref();
        needs.extend(version.map(|version| format!("version {version} at least")));
        match self.title {
            "asked" => needs.push("title, if it has one: the name that was asked for".to_owned()),
            "catalog" => needs.push(
                "title, if it has one and a catalog led to it: the catalog's name".to_owned(),
            ),
            _ => {}
        }
        if !self.denied_digests.is_empty() {
            needs.push(format!(
                "none of {} denied digests",
                self.denied_digests.len()
            ));
        }
        needs
    }
}

/// `rules` or `signers`.
pub(super) fn format_name(policy: &Policy) -> &'static str {
    match policy.format() {
        PolicyFormat::Signers => "signers",
        PolicyFormat::Rules => "rules",
    }
}

fn or_dash(text: String) -> String {
    match text.is_empty() {
        true => "-".to_owned(),
        false => text,
    }
}

impl fmt::Display for RootDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PublicGood { taken } => write!(f, "Sigstore's public instance of {taken}"),
            Self::Tuf { checked_at, mirror } => {
                write!(f, "fetched from {mirror}, last checked at {checked_at}")
            }
            Self::File { path } => f.write_str(path),
        }
    }
}
