//! What `schedctl policy` tells about a policy's rules: which ones were considered for a repository,
//! and which probably mean something else than they say.

use std::fmt;

use schedkit_core::Repository;

use super::policy::{Policy, Requirements, ScopedRule};
use super::rule::Rule;

/// A rule, and what it means for one repository.
#[derive(Debug)]
pub struct Considered<'a> {
    pub rule: &'a ScopedRule,
    pub relevance: Relevance,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relevance {
    Applies,
    /// It covers the repository, and the scope of the rule that applies is more specific.
    LessSpecific,
    /// It is about other repositories.
    OtherScope,
}

/// Something that the rules do not say and that an author may believe they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Advice {
    /// For its images, the first rule replaces the second one, and does not ask for these.
    Loses {
        narrow: String,
        wide: String,
        what: String,
    },
    Unused(Rule),
    /// `docker.io/nginx` is short for `docker.io/library/nginx` in a reference, and not in a scope.
    Unofficial {
        scope: String,
        image: String,
    },
}

impl Policy {
    /// Every rule, in the file's order.
    pub fn consider(&self, repository: &Repository) -> Vec<Considered<'_>> {
        let applies = self.rule_for(repository).map(|rule| rule.position);
        let relevance = |rule: &ScopedRule| match rule.scope.covers(repository) {
            _ if applies == Some(rule.position) => Relevance::Applies,
            true => Relevance::LessSpecific,
            false => Relevance::OtherScope,
        };
        let rules = self.rules().iter();
        let considered = rules.map(|rule| Considered {
            rule,
            relevance: relevance(rule),
        });
        considered.collect()
    }

    /// One sentence for each wider rule of which a rule loses something, for each unused signer, and for
    /// each scope that may be meant for an official image of Docker Hub.
    pub fn advice(&self) -> Vec<String> {
        let narrower = self.rules().iter().flat_map(|narrow| {
            let wider = self.rules().iter();
            let wider = wider.filter(|wide| wide.scope != narrow.scope);
            let wider = wider.filter(|wide| wide.scope.includes(&narrow.scope));
            wider.filter_map(|wide| lost(narrow, wide))
        });
        let used = |position: usize| {
            let requirements = self.rules().iter().filter_map(ScopedRule::requirements);
            requirements.into_iter().any(|one| one.names(position))
        };
        let unused = self.signers().iter().enumerate();
        let unused = unused.filter(|(position, _)| !used(*position));
        let unused = unused.map(|(_, signer)| Advice::Unused(signer.name.clone()));
        let unofficial = self.rules().iter().filter_map(|rule| {
            Some(Advice::Unofficial {
                scope: rule.scope.to_string(),
                image: rule.scope.unofficial_image()?.to_owned(),
            })
        });
        let advice = narrower.chain(unused).chain(unofficial);
        advice.map(|one| one.to_string()).collect()
    }
}

impl Requirements {
    fn names(&self, signer: usize) -> bool {
        let attestations = self.attestations.iter();
        self.signers.contains(&signer)
            || attestations
                .into_iter()
                .any(|one| one.signers.contains(&signer))
    }
}

fn lost(narrow: &ScopedRule, wide: &ScopedRule) -> Option<Advice> {
    // A rule that refuses everything needs nothing else.
    let kept = narrow.requirements()?;
    let mut what = Vec::new();
    // That a rule accepts something of what a wider one refuses is what it is for.
    if let Some(asked) = wide.requirements() {
        let has = |predicate: &str| {
            let mut attestations = kept.attestations.iter();
            attestations.any(|one| one.predicate_type == predicate)
        };
        let attestations = asked.attestations.iter().map(|one| &one.predicate_type);
        let missing = attestations.filter(|predicate| !has(predicate));
        what.extend(missing.map(|predicate| format!("the attestation {predicate}")));
        if let Some(minimum) = &asked.minimum_version
            && kept
                .minimum_version
                .as_ref()
                .is_none_or(|own| own < minimum)
        {
            what.push(format!("the minimum version {minimum}"));
        }
        if kept.needed < asked.needed {
            what.push(format!("signatures of {} signers", asked.needed));
        }
    }
    let denied = wide.denied.difference(&narrow.denied).count();
    if denied > 0 {
        what.push(format!("{denied} denied digests"));
    }
    (!what.is_empty()).then(|| Advice::Loses {
        narrow: narrow.to_string(),
        wide: wide.to_string(),
        what: what.join(", "),
    })
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loses { narrow, wide, what } => write!(
                f,
                "for its images {narrow} replaces {wide} and does not ask for {what}; rules do not add up"
            ),
            Self::Unused(signer) => write!(f, "no rule names {signer}"),
            Self::Unofficial { scope, image } => write!(
                f,
                "{scope} covers {scope}/…, and not the official image {image} of Docker Hub, whose scope is \
                 docker.io/library/{image}"
            ),
        }
    }
}
