//! A policy file with `version: 2`: named signers, and rules that say which images need which of them.
//!
//! Whatever could be understood in two ways is an error: a rule for a scope that has one already, a
//! name that is unknown or repeated, a value that can never be met.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use schedkit_core::Digest;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::fault::{LocatedFault, MAX_ENTRIES, MAX_NAME, MAX_PREDICATE_TYPE, PolicyFault};
use super::{PolicyFile, from_yaml};
use crate::trust::pattern::Pattern;
use crate::trust::policy::{
    Authority, Claim, Contents, Decision, PolicySigner, RequiredAttestation, RequiredClaim,
    Requirements, Scope, ScopedRule, TitleRule, Validity,
};
use crate::trust::rule::Rule;
use crate::trust::signer_policy::{Identity, LogForKeys};
use crate::untrusted::brief;

const VERSION: u64 = 2;
const MAX_RULES: usize = 512;
const MAX_ATTESTATIONS: usize = 16;
const MAX_DIGESTS: usize = 1024;
/// Of the whole policy: a regular expression may need a megabyte.
const MAX_REGEXPS: usize = 64;
const SIGNATURE_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct YamlPolicy {
    version: Spanned<u64>,
    signers: Option<BTreeMap<String, Spanned<YamlSigner>>>,
    rules: Option<Vec<Spanned<YamlRule>>>,
    denied_digests: Option<Vec<Spanned<String>>>,
    #[serde(rename = "rekorURL")]
    rekor_url: Option<Spanned<String>>,
    trusted_root: Option<Spanned<String>>,
    require_transparency_log: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct YamlSigner {
    key: Option<Spanned<String>>,
    issuer: Option<Spanned<String>>,
    issuer_prefix: Option<Spanned<String>>,
    #[serde(rename = "issuerRegExp")]
    issuer_reg_exp: Option<Spanned<String>>,
    subject: Option<Spanned<String>>,
    subject_prefix: Option<Spanned<String>>,
    #[serde(rename = "subjectRegExp")]
    subject_reg_exp: Option<Spanned<String>>,
    /// The names are those of claims, with `Prefix` or `RegExp` behind them or nothing.
    claims: Option<BTreeMap<String, Spanned<String>>>,
    not_before: Option<Spanned<String>>,
    not_after: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct YamlRule {
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

/// What is collected from the signers.
#[derive(Default)]
struct Signers {
    keys: Vec<Spanned<String>>,
    identities: Vec<Identity>,
    listed: Vec<PolicySigner>,
    regexps: usize,
}

/// YAML in which every name has a value. One without is probably a mistake, and would otherwise count
/// as if it were not there: what it asks for would not be asked.
struct WithValues;

impl<'de> Deserialize<'de> for WithValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

/// The other kinds of values are an error: nothing at all.
impl<'de> Visitor<'de> for WithValues {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value; leave out what has none")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }
}

pub(super) fn parse(text: &str) -> Result<PolicyFile, LocatedFault> {
    from_yaml::<WithValues>(text, DuplicateKeyPolicy::Error)?;
    let yaml: YamlPolicy = from_yaml(text, DuplicateKeyPolicy::Error)?;
    if yaml.version.value != VERSION {
        return Err(PolicyFault::Version.at(&yaml.version));
    }
    let signers = Signers::parse(yaml.signers.unwrap_or_default())?;
    if signers.listed.is_empty() {
        return Err(PolicyFault::Empty.without_position());
    }
    let rules = rules(yaml.rules.unwrap_or_default(), &signers)?;
    let denied = digests(yaml.denied_digests.unwrap_or_default())?;
    PolicyFile {
        keys: signers.keys,
        identities: signers.identities,
        log_for_keys: LogForKeys::Optional,
        rekor_url: yaml.rekor_url,
        trusted_root: yaml.trusted_root,
        warnings: Vec::new(),
        contents: Some(Contents {
            signers: signers.listed,
            rules,
            denied,
        }),
    }
    .with_log_rule(yaml.require_transparency_log.as_ref())
}

impl Signers {
    fn parse(listed: BTreeMap<String, Spanned<YamlSigner>>) -> Result<Self, LocatedFault> {
        if listed.len() > MAX_ENTRIES {
            return Err(PolicyFault::TooMany("signers").without_position());
        }
        let mut signers = Self::default();
        for (name, yaml) in listed {
            signers.add(name, yaml)?;
        }
        Ok(signers)
    }

    fn add(&mut self, name: String, yaml: Spanned<YamlSigner>) -> Result<(), LocatedFault> {
        if !is_name(&name) {
            return Err(PolicyFault::SignerName.at(&yaml));
        }
        let validity = validity(&yaml)?;
        let is_identity = yaml.value.has_identity();
        if yaml.value.key.is_some() == is_identity {
            return Err(PolicyFault::KeyOrIdentity.at(&yaml));
        }
        let (authority, claims) = match is_identity {
            true => {
                let (identity, claims) = self.identity(&yaml)?;
                self.identities.push(identity);
                (Authority::Identity(self.identities.len() - 1), claims)
            }
            false => {
                if yaml.value.claims.is_some() {
                    return Err(PolicyFault::ClaimsOfKey.at(&yaml));
                }
                self.keys.extend(yaml.value.key);
                (Authority::Key(self.keys.len() - 1), Vec::new())
            }
        };
        self.listed.push(PolicySigner {
            name: Rule::Signer(name),
            authority,
            claims,
            validity,
        });
        Ok(())
    }

    /// How many of these can sign one image. Whoever fits two of them counts once, and only one fits an
    /// issuer and a subject that are written in full.
    fn different(&self, positions: &[usize]) -> usize {
        let mut seen = BTreeSet::new();
        let signers = positions.iter().filter_map(|at| self.listed.get(*at));
        let counted = signers.filter(|signer| match signer.authority {
            Authority::Key(_) => true,
            Authority::Identity(at) => {
                let identity = self.identities.get(at).and_then(Identity::in_full);
                identity.is_none_or(|identity| seen.insert(identity))
            }
        });
        counted.count()
    }

    fn identity(
        &mut self,
        yaml: &Spanned<YamlSigner>,
    ) -> Result<(Identity, Vec<RequiredClaim>), LocatedFault> {
        let YamlSigner {
            issuer,
            issuer_prefix,
            issuer_reg_exp,
            subject,
            subject_prefix,
            subject_reg_exp,
            claims,
            ..
        } = &yaml.value;
        let issuer = [issuer, issuer_prefix, issuer_reg_exp];
        let subject = [subject, subject_prefix, subject_reg_exp];
        let issuer = self.one_of("issuer", issuer.map(Option::as_ref), yaml)?;
        let subject = self.one_of("subject", subject.map(Option::as_ref), yaml)?;
        let mut required: Vec<RequiredClaim> = Vec::new();
        for (field, value) in claims.iter().flatten() {
            let (name, kind) = match (field.strip_suffix("Prefix"), field.strip_suffix("RegExp")) {
                (Some(name), _) => (name, 1),
                (_, Some(name)) => (name, 2),
                (None, None) => (field.as_str(), 0),
            };
            let claim: Claim = name.parse().map_err(|source| {
                let name = brief(field);
                PolicyFault::Claim { name, source }.at(value)
            })?;
            if required.iter().any(|one| one.claim == claim) {
                let field = claim.name().to_owned();
                return Err(PolicyFault::SetTwice { field }.at(value));
            }
            let value = self.pattern(claim.name(), kind, value)?;
            required.push(RequiredClaim { claim, value });
        }
        Ok((Identity { issuer, subject }, required))
    }

    /// The values are exact, a prefix and a regular expression.
    fn one_of(
        &mut self,
        field: &'static str,
        values: [Option<&Spanned<String>>; 3],
        signer: &Spanned<YamlSigner>,
    ) -> Result<Pattern, LocatedFault> {
        let set = values.into_iter().enumerate();
        let mut set = set.filter_map(|(kind, value)| Some((kind, value?)));
        let (kind, value) = set
            .next()
            .ok_or_else(|| PolicyFault::NotSet(field).at(signer))?;
        if let Some((_, second)) = set.next() {
            let field = field.to_owned();
            return Err(PolicyFault::SetTwice { field }.at(second));
        }
        self.pattern(field, kind, value)
    }

    fn pattern(
        &mut self,
        field: &'static str,
        kind: usize,
        value: &Spanned<String>,
    ) -> Result<Pattern, LocatedFault> {
        let parsed = match kind {
            0 => Pattern::exact(&value.value),
            1 => Pattern::prefix(&value.value),
            _ => {
                self.regexps += 1;
                if self.regexps > MAX_REGEXPS {
                    return Err(more_than("regular expressions", MAX_REGEXPS).at(value));
                }
                Pattern::regexp(&value.value)
            }
        };
        parsed.map_err(|source| PolicyFault::Pattern { field, source }.at(value))
    }
}

impl YamlSigner {
    fn has_identity(&self) -> bool {
        let Self {
            issuer,
            issuer_prefix,
            issuer_reg_exp,
            subject,
            subject_prefix,
            subject_reg_exp,
            ..
        } = self;
        let issuer = [issuer, issuer_prefix, issuer_reg_exp];
        let subject = [subject, subject_prefix, subject_reg_exp];
        issuer.into_iter().chain(subject).any(Option::is_some)
    }
}

fn validity(yaml: &Spanned<YamlSigner>) -> Result<Validity, LocatedFault> {
    let time = |text: &Option<Spanned<String>>| {
        let parse = |text: &Spanned<String>| {
            let parsed = text.value.parse::<Timestamp>();
            parsed.map_err(|_| PolicyFault::Time.at(text))
        };
        text.as_ref().map(parse).transpose()
    };
    let (not_before, not_after) = (time(&yaml.value.not_before)?, time(&yaml.value.not_after)?);
    if let (Some(start), Some(end)) = (not_before, not_after)
        && end < start
    {
        return Err(PolicyFault::NeverValid.at(yaml));
    }
    Ok(Validity {
        not_before,
        not_after,
    })
}

fn rules(
    listed: Vec<Spanned<YamlRule>>,
    signers: &Signers,
) -> Result<Vec<ScopedRule>, LocatedFault> {
    if listed.is_empty() {
        return Err(PolicyFault::NoRules.without_position());
    }
    if listed.len() > MAX_RULES {
        return Err(more_than("rules", MAX_RULES).without_position());
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
            return Err(more_than("attestations of a rule", MAX_ATTESTATIONS).at(&predicate_type));
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

fn digests(listed: Vec<Spanned<String>>) -> Result<BTreeSet<Digest>, LocatedFault> {
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
            return Err(more_than("denied digests", MAX_DIGESTS).at(&text));
        }
    }
    Ok(digests)
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(allowed)
}

fn more_than(what: &'static str, limit: usize) -> PolicyFault {
    PolicyFault::MoreThan { what, limit }
}

#[cfg(test)]
mod tests;
