//! The rules of a policy: which images need which of its signers, and what else.

use std::collections::{BTreeMap, BTreeSet};

use schedkit_core::Digest;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::signers::Signers;
use crate::trust::policy::{
    Decision, PolicySigner, RequiredAttestation, Requirements, Scope, ScopedRule, TitleRule,
};
use crate::trust::policy_file::fault::{LocatedFault, MAX_PREDICATE_TYPE, PolicyFault};
use crate::trust::rule::Rule;
use crate::untrusted::brief;

pub(super) const MAX_RULES: usize = 512;
const MAX_ATTESTATIONS: usize = 16;
const MAX_DIGESTS: usize = 1024;
const SIGNATURE_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct YamlRule {
    scope: Spanned<String>,
    refuse: Option<Spanned<bool>>,
    signers: Option<Vec<Spanned<String>>>,
    require: Option<Spanned<String>>,
    attestations: Option<Vec<YamlAttestation>>,
    minimum_version: Option<Spanned<String>>,
    denied_digests: Option<Vec<Spanned<String>>>,
    title: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct YamlAttestation {
    predicate_type: Spanned<String>,
    signers: Option<Vec<Spanned<String>>>,
}

pub(super) fn rules(
    listed: Vec<Spanned<YamlRule>>,
    signers: &Signers,
) -> Result<Vec<ScopedRule>, LocatedFault> {
    if listed.is_empty() {
        return Err(PolicyFault::NoRules.without_position());
    }
    if listed.len() > MAX_RULES {
        return Err(PolicyFault::more_than("rules", MAX_RULES).without_position());
    }
    let mut lines = BTreeMap::new();
    let mut rules = Vec::new();
    for (position, yaml) in listed.into_iter().enumerate() {
        let (text, line) = (yaml.value.scope.clone(), yaml.value.scope.referenced.line());
        let rule = rule(position, yaml, signers)?;
        if let Some(line) = lines.insert(rule.scope.clone(), line) {
            let scope = rule.scope.to_string();
            return Err(PolicyFault::SameScope { scope, line }.at(&text));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn rule(
    position: usize,
    yaml: Spanned<YamlRule>,
    signers: &Signers,
) -> Result<ScopedRule, LocatedFault> {
    let scope = scope(&yaml.value.scope)?;
    if let Some(refuse) = &yaml.value.refuse {
        if !refuse.value {
            return Err(PolicyFault::RefuseFalse.at(refuse));
        }
        if !yaml.value.has_only_scope() {
            return Err(PolicyFault::RefuseAndMore.at(refuse));
        }
        return Ok(ScopedRule {
            position,
            scope,
            decision: Decision::Refuse,
            denied: BTreeSet::new(),
        });
    }
    let listed = &signers.listed;
    let named = named(yaml.value.signers.as_deref().unwrap_or_default(), listed)?;
    if named.is_empty() {
        return Err(PolicyFault::NoSignerInRule.at(&yaml));
    }
    let YamlRule {
        require,
        attestations,
        minimum_version,
        denied_digests,
        title,
        ..
    } = yaml.value;
    let minimum_version = minimum_version.map(|text| {
        let parsed = text.value.parse();
        parsed.map_err(|source| PolicyFault::MinimumVersion(source).at(&text))
    });
    let requirements = Requirements {
        needed: needed(require.as_ref(), &named, signers)?,
        attestations: required_attestations(attestations.unwrap_or_default(), &named, listed)?,
        minimum_version: minimum_version.transpose()?,
        title: title_rule(title.as_ref())?,
        signers: named,
    };
    Ok(ScopedRule {
        position,
        scope,
        decision: Decision::Require(requirements),
        denied: digests(denied_digests.unwrap_or_default())?,
    })
}

impl YamlRule {
    fn has_only_scope(&self) -> bool {
        let Self {
            scope: _,
            refuse: _,
            signers,
            require,
            attestations,
            minimum_version,
            denied_digests,
            title,
        } = self;
        signers.is_none()
            && require.is_none()
            && attestations.is_none()
            && minimum_version.is_none()
            && denied_digests.is_none()
            && title.is_none()
    }
}

fn scope(text: &Spanned<String>) -> Result<Scope, LocatedFault> {
    text.value.parse().map_err(|source| {
        let fault = PolicyFault::Scope {
            text: brief(&text.value),
            source,
        };
        fault.at(text)
    })
}

/// The positions of the signers with these names, ascending.
fn named(names: &[Spanned<String>], signers: &[PolicySigner]) -> Result<Vec<usize>, LocatedFault> {
    let mut positions = BTreeSet::new();
    for name in names {
        let wanted = Rule::Signer(name.value.clone());
        let position = signers.iter().position(|signer| signer.name == wanted);
        let position =
            position.ok_or_else(|| PolicyFault::NoSigner(brief(&name.value)).at(name))?;
        if !positions.insert(position) {
            return Err(PolicyFault::NamedTwice(brief(&name.value)).at(name));
        }
    }
    Ok(positions.into_iter().collect())
}

fn needed(
    require: Option<&Spanned<String>>,
    named: &[usize],
    signers: &Signers,
) -> Result<usize, LocatedFault> {
    let Some(require) = require else { return Ok(1) };
    let number = match require.value.as_str() {
        "any" => 1,
        "all" => named.len(),
        other => other.parse().unwrap_or(0),
    };
    if !(1..=named.len()).contains(&number) {
        return Err(PolicyFault::Require(named.len()).at(require));
    }
    if number > signers.different(named) {
        return Err(PolicyFault::SameIdentity.at(require));
    }
    Ok(number)
}

fn required_attestations(
    listed: Vec<YamlAttestation>,
    of_rule: &[usize],
    signers: &[PolicySigner],
) -> Result<Vec<RequiredAttestation>, LocatedFault> {
    let mut required: Vec<RequiredAttestation> = Vec::new();
    for YamlAttestation {
        predicate_type,
        signers: names,
    } in listed
    {
        let text = &predicate_type.value;
        if text.is_empty()
            || text.len() > MAX_PREDICATE_TYPE
            || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(PolicyFault::PredicateType.at(&predicate_type));
        }
        if text == SIGNATURE_PREDICATE {
            return Err(PolicyFault::SignaturePredicate.at(&predicate_type));
        }
        if required.iter().any(|one| &one.predicate_type == text) {
            return Err(PolicyFault::NamedTwice(text.clone()).at(&predicate_type));
        }
        if required.len() == MAX_ATTESTATIONS {
            return Err(
                PolicyFault::more_than("attestations of a rule", MAX_ATTESTATIONS)
                    .at(&predicate_type),
            );
        }
        let signers = match names {
            Some(names) if names.is_empty() => {
                return Err(PolicyFault::NoSignerInRule.at(&predicate_type));
            }
            Some(names) => named(&names, signers)?,
            None => of_rule.to_vec(),
        };
        required.push(RequiredAttestation {
            predicate_type: predicate_type.value,
            signers,
        });
    }
    Ok(required)
}

fn title_rule(title: Option<&Spanned<String>>) -> Result<TitleRule, LocatedFault> {
    match title.map(|title| (title, title.value.as_str())) {
        None | Some((_, "asked")) => Ok(TitleRule::AsAsked),
        Some((_, "any")) => Ok(TitleRule::Any),
        Some((title, _)) => Err(PolicyFault::Title.at(title)),
    }
}

pub(super) fn digests(listed: Vec<Spanned<String>>) -> Result<BTreeSet<Digest>, LocatedFault> {
    let mut digests = BTreeSet::new();
    for text in listed {
        let digest = text
            .value
            .parse()
            .map_err(|_| PolicyFault::Digest.at(&text))?;
        if !digests.insert(digest) {
            return Err(PolicyFault::NamedTwice(text.value.clone()).at(&text));
        }
        if digests.len() > MAX_DIGESTS {
            return Err(PolicyFault::more_than("denied digests", MAX_DIGESTS).at(&text));
        }
    }
    Ok(digests)
}
