//! The signers of a policy with rules.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::trust::pattern::Pattern;
use crate::trust::policy::{Authority, Claim, PolicySigner, RequiredClaim, Validity};
use crate::trust::policy_file::fault::{LocatedFault, MAX_ENTRIES, MAX_NAME, PolicyFault};
use crate::trust::rule::Rule;
use crate::trust::signer_policy::Identity;
use crate::untrusted::brief;

/// Of the whole policy: a regular expression may need a megabyte.
pub(super) const MAX_REGEXPS: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct YamlSigner {
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

/// What is collected from the signers.
#[derive(Default)]
pub(super) struct Signers {
    pub(super) keys: Vec<Spanned<String>>,
    pub(super) identities: Vec<Identity>,
    pub(super) listed: Vec<PolicySigner>,
    regexps: usize,
}

/// How a text of the file is compared with one of a certificate.
#[derive(Clone, Copy)]
enum Comparison {
    Exact,
    Prefix,
    Regexp,
}

impl Signers {
    pub(super) fn parse(
        listed: BTreeMap<String, Spanned<YamlSigner>>,
    ) -> Result<Self, LocatedFault> {
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
    pub(super) fn different(&self, positions: &[usize]) -> usize {
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
            let (prefix, regexp) = (field.strip_suffix("Prefix"), field.strip_suffix("RegExp"));
            let (name, comparison) = match (prefix, regexp) {
                (Some(name), _) => (name, Comparison::Prefix),
                (_, Some(name)) => (name, Comparison::Regexp),
                (None, None) => (field.as_str(), Comparison::Exact),
            };
            let claim: Claim = name.parse().map_err(|source| {
                let name = brief(field);
                PolicyFault::Claim { name, source }.at(value)
            })?;
            if required.iter().any(|one| one.claim == claim) {
                let field = claim.name().to_owned();
                return Err(PolicyFault::SetTwice { field }.at(value));
            }
            let value = self.pattern(claim.name(), comparison, value)?;
            required.push(RequiredClaim { claim, value });
        }
        Ok((Identity { issuer, subject }, required))
    }

    /// The values are in the order of [`Comparison::ALL`].
    fn one_of(
        &mut self,
        field: &'static str,
        values: [Option<&Spanned<String>>; 3],
        signer: &Spanned<YamlSigner>,
    ) -> Result<Pattern, LocatedFault> {
        let set = Comparison::ALL.into_iter().zip(values);
        let mut set = set.filter_map(|(comparison, value)| Some((comparison, value?)));
        let (comparison, value) = set
            .next()
            .ok_or_else(|| PolicyFault::NotSet(field).at(signer))?;
        if let Some((_, second)) = set.next() {
            let field = field.to_owned();
            return Err(PolicyFault::SetTwice { field }.at(second));
        }
        self.pattern(field, comparison, value)
    }

    fn pattern(
        &mut self,
        field: &'static str,
        comparison: Comparison,
        value: &Spanned<String>,
    ) -> Result<Pattern, LocatedFault> {
        let parsed = match comparison {
            Comparison::Exact => Pattern::exact(&value.value),
            Comparison::Prefix => Pattern::prefix(&value.value),
            Comparison::Regexp => {
                self.regexps += 1;
                if self.regexps > MAX_REGEXPS {
                    return Err(
                        PolicyFault::more_than("regular expressions", MAX_REGEXPS).at(value)
                    );
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

impl Comparison {
    const ALL: [Self; 3] = [Self::Exact, Self::Prefix, Self::Regexp];
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(allowed)
}
