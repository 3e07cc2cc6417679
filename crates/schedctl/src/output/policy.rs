//! What `schedctl policy check` and `schedctl policy explain` print.

use schedkit_core::ImageRef;
use schedkit_image::catalog::Resolution;
use schedkit_image::trust::{Considered, Policy, Relevance};
use serde::Serialize;

use super::document::Document;
use super::image_source::ImageSource;
use super::policy_document::{PolicyDocument, RuleDocument, SignerDocument, format_name};
use super::table;
use crate::settings::PolicySource;

/// A valid policy.
#[derive(Serialize)]
pub(crate) struct PolicyCheck {
    policy: PolicyDocument,
    format: &'static str,
    signers: Vec<SignerDocument>,
    rules: Vec<RuleDocument>,
}

/// What a policy asks of one image.
#[derive(Serialize)]
pub(crate) struct PolicyExplanation {
    scheduler: String,
    source: ImageSource,
    image_ref: String,
    policy: PolicyDocument,
    #[serde(flatten)]
    verdict: ExplainedVerdict,
    considered: Vec<ConsideredDocument>,
}

#[derive(Serialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
enum ExplainedVerdict {
    /// The image needs what the rule asks for.
    Requires {
        rule: String,
        requirements: RuleDocument,
        /// What the image's title must be, if it has one.
        expected_title: Option<String>,
    },
    /// Whoever signed it.
    Refuses {
        rule: Option<String>,
        reason: String,
    },
}

#[derive(Serialize)]
struct ConsideredDocument {
    rule: String,
    applies: bool,
    reason: String,
}

impl PolicyCheck {
    pub(crate) fn new(source: &PolicySource, policy: &Policy) -> Self {
        let rules = policy.rules().iter();
        Self {
            policy: PolicyDocument::new(source, policy),
            format: format_name(policy),
            signers: SignerDocument::all(policy),
            rules: rules.map(|rule| RuleDocument::new(rule, policy)).collect(),
        }
    }
}

impl PolicyExplanation {
    pub(crate) fn new(found: &Resolution, source: &PolicySource, policy: &Policy) -> Self {
        let repository = found.image().repository();
        let considered = policy.consider(repository);
        let name = policy.name_to_check(repository, found.catalog_name());
        Self {
            scheduler: found.scheduler().to_owned(),
            source: found.into(),
            image_ref: found.image().to_string(),
            policy: PolicyDocument::new(source, policy),
            verdict: ExplainedVerdict::new(found.image(), policy, name),
            considered: considered.iter().map(ConsideredDocument::from).collect(),
        }
    }

    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.verdict, ExplainedVerdict::Refuses { .. })
    }
}

impl ExplainedVerdict {
    fn new(image: &ImageRef, policy: &Policy, name: Option<&str>) -> Self {
        let Some(rule) = policy.rule_for(image.repository()) else {
            let reason = "no rule covers its repository".to_owned();
            return Self::Refuses { rule: None, reason };
        };
        let is_denied = image
            .digest()
            .is_some_and(|digest| rule.denied.contains(digest) || policy.denied().contains(digest));
        let reason = match (rule.requirements(), is_denied) {
            (None, _) => "the rule refuses every image",
            (Some(_), true) => "the policy denies its digest",
            (Some(_), false) => {
                return Self::Requires {
                    rule: rule.to_string(),
                    requirements: RuleDocument::new(rule, policy),
                    expected_title: name.map(str::to_owned),
                };
            }
        };
        Self::Refuses {
            rule: Some(rule.to_string()),
            reason: reason.to_owned(),
        }
    }
}

impl From<&Considered<'_>> for ConsideredDocument {
    fn from(considered: &Considered<'_>) -> Self {
        let reason = match considered.relevance {
            Relevance::Applies => "of the rules that cover the repository, it is the most specific",
            Relevance::LessSpecific => {
                "it covers the repository, and a more specific rule does, too"
            }
            Relevance::OtherScope => "its scope does not cover the repository",
        };
        Self {
            rule: considered.rule.to_string(),
            applies: considered.relevance == Relevance::Applies,
            reason: reason.to_owned(),
        }
    }
}

fn policy_rows(policy: &PolicyDocument) -> [(&'static str, Option<String>); 3] {
    [
        ("Policy", Some(policy.name().to_owned())),
        ("Fingerprint", Some(policy.fingerprint().to_owned())),
        ("Trusted root", Some(policy.trusted_root.to_string())),
    ]
}

impl Document for PolicyCheck {
    fn text(&self) -> String {
        let signers = self.signers.iter().map(SignerDocument::cells);
        let rule = |rule: &RuleDocument| [rule.scope().to_owned(), rule.needs().join("\n")];
        let rules = self.rules.iter().map(rule);
        format!(
            "{}\n{}\n{}",
            table::fields(&policy_rows(&self.policy)),
            table::columns(["SIGNER", "WHO", "ONLY WITH"], signers),
            table::columns(["SCOPE", "AN IMAGE NEEDS"], rules),
        )
    }
}

impl Document for PolicyExplanation {
    fn text(&self) -> String {
        let mut rows = vec![("Image", Some(self.image_ref.clone()))];
        rows.extend(policy_rows(&self.policy));
        match &self.verdict {
            ExplainedVerdict::Requires {
                rule,
                requirements,
                expected_title,
            } => rows.extend([
                ("Rule", Some(rule.clone())),
                ("It needs", Some(requirements.needs().join("\n"))),
                ("Name", expected_title.clone()),
            ]),
            ExplainedVerdict::Refuses { rule, reason } => rows.extend([
                (
                    "Rule",
                    Some(rule.clone().unwrap_or_else(|| "none".to_owned())),
                ),
                ("Refused", Some(reason.clone())),
            ]),
        }
        let considered = self.considered.iter();
        let considered = considered.map(|one| [one.rule.clone(), one.reason.clone()]);
        let considered = table::columns(["CONSIDERED", "RESULT"], considered);
        format!("{}\n{considered}", table::fields(&rows))
    }
}
