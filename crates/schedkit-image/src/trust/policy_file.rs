//! The trust policy as a YAML file, parsed strictly; errors name line and column.
//!
//! A file with `version: 2` has signers and rules (`with_rules`); one without it has keys and
//! identities, and means what it has always meant. `PolicyFile::parse` checks the text alone;
//! `Policy::read` also reads the key files and the trusted root that it names. Relative paths are
//! relative to the policy file.

mod fault;
mod with_rules;

use std::path::Path;

pub use fault::{KeyFileError, LocatedFault, PolicyError, PolicyFault, RootFileError};
use fault::{MAX_ENTRIES, PUBLIC_REKOR};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::{DuplicateKeyPolicy, Location, MergeKeyPolicy, Spanned};

use super::built_in::BuiltIn;
use super::key::PublicKey;
use super::pattern::Pattern;
use super::policy::{Authority, Contents, Policy, PolicyFormat, PolicyWarning, Validity};
use super::root::{RootOrigin, TrustRoot};
use super::root_source::RootSource;
use super::signer_policy::{Identity, LogForKeys, NamedKey, SignerPolicy};
use crate::untrusted::{Reader, brief, read_trusted_file};

const MAX_POLICY_BYTES: usize = 256 << 10;
const MAX_KEY_BYTES: usize = 64 << 10;
const MAX_ROOT_BYTES: usize = 1 << 20;

/// A policy whose text is valid and whose files have not been read yet.
#[derive(Debug)]
pub struct PolicyFile {
    keys: Vec<Spanned<String>>,
    identities: Vec<Identity>,
    log_for_keys: LogForKeys,
    rekor_url: Option<Spanned<String>>,
    trusted_root: Option<Spanned<String>>,
    warnings: Vec<PolicyWarning>,
    /// Signers and rules; `None` in a file that has none.
    contents: Option<Contents>,
}

/// Says how the rest is to be read.
#[derive(Deserialize)]
struct YamlVersion {
    version: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct YamlPolicy {
    keys: Option<Vec<YamlKey>>,
    identities: Option<Vec<Spanned<YamlIdentity>>>,
    #[serde(rename = "rekorURL")]
    rekor_url: Option<Spanned<String>>,
    trusted_root: Option<Spanned<String>>,
    require_transparency_log: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct YamlKey {
    path: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct YamlIdentity {
    issuer: Option<Spanned<String>>,
    #[serde(rename = "issuerRegExp")]
    issuer_reg_exp: Option<Spanned<String>>,
    subject: Option<Spanned<String>>,
    #[serde(rename = "subjectRegExp")]
    subject_reg_exp: Option<Spanned<String>>,
}

impl Policy {
    /// The default policy.
    ///
    /// # Errors
    /// Never with the built-in text, which a test checks.
    pub fn built_in() -> Result<Self, PolicyError> {
        BuiltIn::default().policy()
    }

    /// Reads a policy and the files that it names; `builtin:NAME` is one inside the program. One that
    /// names no trusted root has the embedded one.
    ///
    /// # Errors
    /// When any of them cannot be read or is invalid, or when others may change what root reads.
    pub fn read(path: &Path, reader: Reader) -> Result<Self, PolicyError> {
        Self::read_with(path, reader, &RootSource::Embedded)
    }

    /// The same, with this root for policies that name none.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when it needs a root and there is none.
    pub fn read_with(path: &Path, reader: Reader, roots: &RootSource) -> Result<Self, PolicyError> {
        if let Some(built_in) = BuiltIn::named(path) {
            return built_in?.policy_with(roots);
        }
        let text = read_trusted_file(path, MAX_POLICY_BYTES, reader).map_err(|source| {
            PolicyError::Unreadable {
                path: path.to_owned(),
                source,
            }
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let load = || PolicyFile::parse(&text)?.load_with(folder, reader, roots);
        load().map_err(|source| invalid(path, source))
    }
}

impl BuiltIn {
    /// # Errors
    /// Never with the built-in texts, which a test checks.
    pub fn policy(self) -> Result<Policy, PolicyError> {
        self.policy_with(&RootSource::Embedded)
    }

    fn policy_with(self, roots: &RootSource) -> Result<Policy, PolicyError> {
        let load = || PolicyFile::parse(self.text())?.load_with(Path::new(""), Reader::User, roots);
        load().map_err(|source| invalid(Path::new(self.name()), source))
    }
}

impl PolicyFile {
    /// Parses the text of a policy. No file is opened.
    ///
    /// # Errors
    /// When the text is invalid.
    pub fn parse(text: &str) -> Result<Self, LocatedFault> {
        // A text that is no YAML at all gets its error below.
        let version = from_yaml::<Option<YamlVersion>>(text, DuplicateKeyPolicy::FirstWins);
        let version = version.ok().flatten();
        if version.is_some_and(|outline| outline.version.is_some()) {
            return with_rules::parse(text);
        }
        let yaml: Option<YamlPolicy> = from_yaml(text, DuplicateKeyPolicy::Error)?;
        let yaml = yaml.ok_or_else(|| PolicyFault::Empty.without_position())?;
        let keys = yaml.keys.unwrap_or_default();
        let identities = yaml.identities.unwrap_or_default();
        for (what, size) in [("keys", keys.len()), ("identities", identities.len())] {
            if size > MAX_ENTRIES {
                return Err(PolicyFault::TooMany(what).without_position());
            }
        }
        if keys.is_empty() && identities.is_empty() {
            return Err(PolicyFault::Empty.without_position());
        }
        let identities = identities.iter().map(identity);
        Self {
            keys: keys.into_iter().map(|key| key.path).collect(),
            identities: identities.collect::<Result<_, _>>()?,
            log_for_keys: LogForKeys::Optional,
            rekor_url: yaml.rekor_url,
            trusted_root: yaml.trusted_root,
            warnings: Vec::new(),
            contents: None,
        }
        .with_log_rule(yaml.require_transparency_log.as_ref())
    }

    /// What both formats say about logs: `requireTransparencyLog`, with `rekorURL`.
    fn with_log_rule(self, required: Option<&Spanned<bool>>) -> Result<Self, LocatedFault> {
        let (has_keys, has_identities) = (!self.keys.is_empty(), !self.identities.is_empty());
        let log_for_keys = match required {
            Some(required) if required.value => LogForKeys::Required,
            Some(required) if !has_keys => {
                return Err(PolicyFault::LogAlwaysRequired.at(required));
            }
            Some(_) | None if self.limits_time_of_key() => LogForKeys::ForTime,
            Some(_) | None => LogForKeys::Optional,
        };
        check_rekor(self.rekor_url.as_ref(), self.trusted_root.as_ref())?;
        if let Some(url) = &self.rekor_url
            && !has_identities
            && log_for_keys != LogForKeys::Required
        {
            return Err(PolicyFault::RekorNotKept.at(url));
        }
        // Whoever names a log and keys may think that the keys now need the log.
        let not_set = has_keys && self.rekor_url.is_some() && required.is_none();
        let warnings = not_set.then_some(PolicyWarning::LogNotRequired);
        Ok(Self {
            log_for_keys,
            warnings: warnings.into_iter().collect(),
            ..self
        })
    }

    fn limits_time_of_key(&self) -> bool {
        let mut signers = self.contents.iter().flat_map(|one| &one.signers);
        signers.any(|signer| match signer.authority {
            Authority::Key(_) => signer.validity != Validity::default(),
            Authority::Identity(_) => false,
        })
    }

    /// Reads the files that the policy names; relative paths are relative to `folder`.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn load(self, folder: &Path, reader: Reader) -> Result<Policy, LocatedFault> {
        self.load_with(folder, reader, &RootSource::Embedded)
    }

    fn load_with(
        self,
        folder: &Path,
        reader: Reader,
        roots: &RootSource,
    ) -> Result<Policy, LocatedFault> {
        let keys = self
            .keys
            .iter()
            .map(|path| read_key(folder, path, reader))
            .collect::<Result<_, _>>()?;
        let uses_root = !self.identities.is_empty() || self.log_for_keys != LogForKeys::Optional;
        let roots = match uses_root {
            true => roots,
            false => &RootSource::Embedded,
        };
        let mut root = read_root(folder, self.trusted_root.as_ref(), reader, roots)?;
        if let Some(url) = &self.rekor_url {
            root = root
                .restricted_to(&url.value)
                .ok_or_else(|| PolicyFault::RekorNotInRoot.at(url))?;
        }
        let path = self.trusted_root.as_ref();
        let place = path.map_or(Location::UNKNOWN, |path| path.referenced);
        if !self.identities.is_empty() && !root.serves_identities() {
            let lacks = "certificate authorities, certificate logs or transparency logs";
            return Err(PolicyFault::RootLacks(lacks).at_location(place));
        }
        if self.log_for_keys == LogForKeys::Required && !root.serves_logs() {
            return Err(PolicyFault::RootLacks("transparency logs").at_location(place));
        }
        let Self {
            identities,
            log_for_keys,
            warnings,
            contents,
            ..
        } = self;
        let signers = SignerPolicy {
            keys,
            identities,
            log_for_keys,
            root,
        };
        let Some(contents) = contents else {
            return Ok(Policy::of_signers(signers, warnings));
        };
        check_keys_differ(&signers.keys, &self.keys)?;
        Ok(Policy::new(
            signers,
            contents,
            PolicyFormat::Rules,
            warnings,
        ))
    }
}

/// One signature would count for two signers.
fn check_keys_differ(keys: &[NamedKey], places: &[Spanned<String>]) -> Result<(), LocatedFault> {
    for (position, (named, place)) in keys.iter().zip(places).enumerate() {
        let mut earlier = keys.iter().take(position);
        if earlier.any(|one| one.key.fingerprint() == named.key.fingerprint()) {
            return Err(PolicyFault::SameKey.at(place));
        }
    }
    Ok(())
}

fn from_yaml<'a, T: Deserialize<'a>>(
    text: &'a str,
    duplicate_keys: DuplicateKeyPolicy,
) -> Result<T, LocatedFault> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        merge_keys: MergeKeyPolicy::Error,
        duplicate_keys: duplicate_keys,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| yaml_fault(&error))
}

fn invalid(path: &Path, source: LocatedFault) -> PolicyError {
    match source.fault {
        // The policy is not to blame.
        PolicyFault::NoRoot(error) => PolicyError::NoRoot(error),
        _ => PolicyError::Invalid {
            path: path.to_owned(),
            source,
        },
    }
}

fn yaml_fault(error: &serde_saphyr::Error) -> LocatedFault {
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let text = error.without_snippet().to_string();
    // The position is printed once, by `LocatedFault`.
    let why = text.split(" at line ").next().unwrap_or(&text);
    PolicyFault::Yaml(brief(why)).at_location(location)
}

fn check_rekor(
    url: Option<&Spanned<String>>,
    root: Option<&Spanned<String>>,
) -> Result<(), LocatedFault> {
    let Some(url) = url else { return Ok(()) };
    let rest = url
        .value
        .strip_prefix("https://")
        .or(url.value.strip_prefix("http://"));
    if !rest
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        return Err(PolicyFault::RekorUrl.at(url));
    }
    if root.is_none() && !same_url(&url.value, PUBLIC_REKOR) {
        return Err(PolicyFault::RekorNeedsRoot.at(url));
    }
    Ok(())
}

fn same_url(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn identity(yaml: &Spanned<YamlIdentity>) -> Result<Identity, LocatedFault> {
    let YamlIdentity {
        issuer,
        issuer_reg_exp,
        subject,
        subject_reg_exp,
    } = &yaml.value;
    let issuer = one_of(
        yaml,
        ["issuer", "issuerRegExp"],
        issuer.as_ref(),
        issuer_reg_exp.as_ref(),
    )?;
    let subject = one_of(
        yaml,
        ["subject", "subjectRegExp"],
        subject.as_ref(),
        subject_reg_exp.as_ref(),
    )?;
    Ok(Identity { issuer, subject })
}

fn one_of(
    identity: &Spanned<YamlIdentity>,
    [plain, regexp]: [&'static str; 2],
    exact: Option<&Spanned<String>>,
    pattern: Option<&Spanned<String>>,
) -> Result<Pattern, LocatedFault> {
    let (field, text, parsed) = match (exact, pattern) {
        (Some(text), None) => (plain, text, Pattern::exact(&text.value)),
        (None, Some(text)) => (regexp, text, Pattern::regexp(&text.value)),
        (Some(_), Some(second)) => return Err(PolicyFault::Both(plain).at(second)),
        (None, None) => return Err(PolicyFault::Neither(plain).at(identity)),
    };
    parsed.map_err(|source| PolicyFault::Pattern { field, source }.at(text))
}

fn read_key(
    folder: &Path,
    named: &Spanned<String>,
    reader: Reader,
) -> Result<NamedKey, LocatedFault> {
    let path = folder.join(&named.value);
    let read = || -> Result<PublicKey, KeyFileError> {
        let text = read_trusted_file(&path, MAX_KEY_BYTES, reader)?;
        Ok(PublicKey::parse(&text)?)
    };
    match read() {
        Ok(key) => Ok(NamedKey { path, key }),
        Err(source) => Err(PolicyFault::Key { path, source }.at(named)),
    }
}

fn read_root(
    folder: &Path,
    named: Option<&Spanned<String>>,
    reader: Reader,
    roots: &RootSource,
) -> Result<TrustRoot, LocatedFault> {
    let Some(named) = named else {
        let root = roots.root();
        return root.map_err(|error| PolicyFault::NoRoot(error).without_position());
    };
    let path = folder.join(&named.value);
    let read = || -> Result<TrustRoot, RootFileError> {
        let text = read_trusted_file(&path, MAX_ROOT_BYTES, reader)?;
        Ok(TrustRoot::parse(&text, RootOrigin::File(path.clone()))?)
    };
    read().map_err(|source| {
        PolicyFault::Root {
            path: path.clone(),
            source,
        }
        .at(named)
    })
}

#[cfg(test)]
mod tests;
