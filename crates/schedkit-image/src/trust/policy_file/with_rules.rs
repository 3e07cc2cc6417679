//! A policy file with `version: 2`: named signers, and rules that say which images need which of them.
//!
//! Whatever could be understood in two ways is an error: a rule for a scope that has one already, a
//! name that is unknown or repeated, a value that can never be met or that is missing.

mod rules;
mod signers;
mod with_values;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use rules::YamlRule;
use signers::{Signers, YamlSigner};
use with_values::WithValues;

use super::fault::{LocatedFault, PolicyFault};
use super::{PolicyFile, from_yaml};
use crate::trust::policy::Contents;
use crate::trust::signer_policy::LogForKeys;

const VERSION: u64 = 2;

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
    let rules = rules::rules(yaml.rules.unwrap_or_default(), &signers)?;
    let denied = rules::digests(yaml.denied_digests.unwrap_or_default())?;
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

#[cfg(test)]
mod tests;
