//! The trust policy as a file: YAML, strict, with the line of whatever is wrong.
//!
//! `PolicyFile::parse` takes text and judges all that text can tell; `Policy::read` also reads the
//! key files and the trusted root that it names. Relative paths are relative to the policy file.

mod fault;

use std::path::{Path, PathBuf};

pub use fault::{Fault, KeyFileError, Misplaced, PolicyError, RootFileError};
use serde::Deserialize;
use serde_saphyr::{Location, MergeKeyPolicy, Spanned};

use super::key::PublicKey;
use super::pattern::Pattern;
use super::policy::{Identity, LogForKeys, NamedKey, Policy, Warning};
use super::root::{RootOrigin, TrustRoot};
use crate::foreign::{brief, read_file};

const LARGEST_POLICY: usize = 64 << 10;
const LARGEST_KEY: usize = 64 << 10;
const LARGEST_ROOT: usize = 1 << 20;
const MOST_RULES: usize = 64;
const PUBLIC_REKOR: &str = "https://rekor.sigstore.dev";

/// What is trusted when nobody says otherwise: images that workflows of the schedkit organisation
/// on GitHub built and signed, on the public Sigstore instance.
const BUILT_IN: &str = r"
identities:
  - issuer: https://token.actions.githubusercontent.com
    subjectRegExp: ^https://github\.com/schedkit/
";

/// A policy whose text is in order, and whose files have not been read yet.
#[derive(Debug)]
pub struct PolicyFile {
    keys: Vec<Spanned<String>>,
    identities: Vec<Identity>,
    log_for_keys: LogForKeys,
    rekor_url: Option<Spanned<String>>,
    trusted_root: Option<Spanned<String>>,
    noticed: Vec<Warning>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wire {
    keys: Option<Vec<WireKey>>,
    identities: Option<Vec<Spanned<WireIdentity>>>,
    #[serde(rename = "rekorURL")]
    rekor_url: Option<Spanned<String>>,
    trusted_root: Option<Spanned<String>>,
    require_transparency_log: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireKey {
    path: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireIdentity {
    issuer: Option<Spanned<String>>,
    #[serde(rename = "issuerRegExp")]
    issuer_reg_exp: Option<Spanned<String>>,
    subject: Option<Spanned<String>>,
    #[serde(rename = "subjectRegExp")]
    subject_reg_exp: Option<Spanned<String>>,
}

impl Policy {
    /// The policy that holds when nobody gives another one.
    ///
    /// # Errors
    /// Never with what is built in; a test holds it to that.
    pub fn built_in() -> Result<Self, PolicyError> {
        let path = Path::new("(built in)");
        let load = || PolicyFile::parse(BUILT_IN)?.load(Path::new(""));
        load().map_err(|source| wrong(path, source))
    }

    /// Reads a policy and the files that it names.
    ///
    /// # Errors
    /// When any of them cannot be read, or says what a policy must not say.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let text = read_file(path, LARGEST_POLICY).map_err(|source| PolicyError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let load = || PolicyFile::parse(&text)?.load(folder);
        load().map_err(|source| wrong(path, source))
    }
}

impl PolicyFile {
    /// Reads the text of a policy. No file is opened.
    ///
    /// # Errors
    /// When the text alone is wrong.
    pub fn parse(text: &str) -> Result<Self, Misplaced> {
        let options = serde_saphyr::options! {
            strict_booleans: true,
            with_snippet: false,
            merge_keys: MergeKeyPolicy::Error,
        };
        let wire: Option<Wire> =
            serde_saphyr::from_str_with_options(text, options).map_err(|error| yaml(&error))?;
        let wire = wire.ok_or_else(|| Fault::Empty.at_the_top())?;
        let noticed = wire.log_not_asked().into_iter().collect();
        let keys = wire.keys.unwrap_or_default();
        let identities = wire.identities.unwrap_or_default();
        for (what, size) in [("keys", keys.len()), ("identities", identities.len())] {
            if size > MOST_RULES {
                return Err(Fault::TooMany(what).at_the_top());
            }
        }
        if keys.is_empty() && identities.is_empty() {
            return Err(Fault::Empty.at_the_top());
        }
        let log_for_keys = log_for_keys(wire.require_transparency_log, keys.is_empty())?;
        check_rekor(wire.rekor_url.as_ref(), wire.trusted_root.as_ref())?;
        Ok(Self {
            keys: keys.into_iter().map(|key| key.path).collect(),
            identities: identities.iter().map(identity).collect::<Result<_, _>>()?,
            log_for_keys,
            rekor_url: wire.rekor_url,
            trusted_root: wire.trusted_root,
            noticed,
        })
    }

    /// Reads the files that the policy names, relative ones from `folder`.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn load(self, folder: &Path) -> Result<Policy, Misplaced> {
        let keys = self
            .keys
            .iter()
            .map(|path| read_key(folder, path))
            .collect::<Result<_, _>>()?;
        let root = read_root(folder, self.trusted_root.as_ref())?;
        if let (Some(url), Some(_)) = (&self.rekor_url, &self.trusted_root)
            && !root.log_urls().any(|known| same_url(known, &url.value))
        {
            return Err(Fault::RekorNotInRoot.at(url));
        }
        if let Some(path) = &self.trusted_root {
            if !self.identities.is_empty() && !root.serves_identities() {
                let lacks = "certificate authorities, certificate logs or transparency logs";
                return Err(Fault::RootLacks(lacks).at(path));
            }
            if self.log_for_keys == LogForKeys::Required && !root.serves_logs() {
                return Err(Fault::RootLacks("transparency logs").at(path));
            }
        }
        let Self {
            identities,
            log_for_keys,
            noticed,
            ..
        } = self;
        Ok(Policy::new(keys, identities, log_for_keys, root, noticed))
    }
}

impl Wire {
    /// Whoever names a log and keys may think that the keys now need the log.
    fn log_not_asked(&self) -> Option<Warning> {
        let keys = self.keys.as_ref().is_some_and(|keys| !keys.is_empty());
        let unsaid = self.rekor_url.is_some() && self.require_transparency_log.is_none();
        (keys && unsaid).then_some(Warning::LogNotAsked)
    }
}

fn wrong(path: &Path, source: Misplaced) -> PolicyError {
    let path = path.to_owned();
    PolicyError::Wrong { path, source }
}

fn yaml(error: &serde_saphyr::Error) -> Misplaced {
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let text = error.without_snippet().to_string();
    // The place is told once, and by us.
    let why = text.split(" at line ").next().unwrap_or(&text);
    Fault::Yaml(brief(why)).placed(location)
}

fn log_for_keys(asked: Option<Spanned<bool>>, no_keys: bool) -> Result<LogForKeys, Misplaced> {
    match asked {
        Some(asked) if asked.value => Ok(LogForKeys::Required),
        Some(asked) if no_keys => Err(Fault::LogAlwaysRequired.at(&asked)),
        _ => Ok(LogForKeys::NotAsked),
    }
}

fn check_rekor(
    url: Option<&Spanned<String>>,
    root: Option<&Spanned<String>>,
) -> Result<(), Misplaced> {
    let Some(url) = url else { return Ok(()) };
    let rest = url
        .value
        .strip_prefix("https://")
        .or(url.value.strip_prefix("http://"));
    if !rest
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        return Err(Fault::RekorUrl.at(url));
    }
    if root.is_none() && !same_url(&url.value, PUBLIC_REKOR) {
        return Err(Fault::RekorNeedsRoot.at(url));
    }
    Ok(())
}

fn same_url(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn identity(wire: &Spanned<WireIdentity>) -> Result<Identity, Misplaced> {
    let WireIdentity {
        issuer,
        issuer_reg_exp,
        subject,
        subject_reg_exp,
    } = &wire.value;
    let issuer = one_of(
        wire,
        ["issuer", "issuerRegExp"],
        issuer.as_ref(),
        issuer_reg_exp.as_ref(),
    )?;
    let subject = one_of(
        wire,
        ["subject", "subjectRegExp"],
        subject.as_ref(),
        subject_reg_exp.as_ref(),
    )?;
    Ok(Identity { issuer, subject })
}

fn one_of(
    identity: &Spanned<WireIdentity>,
    [plain, regexp]: [&'static str; 2],
    exact: Option<&Spanned<String>>,
    pattern: Option<&Spanned<String>>,
) -> Result<Pattern, Misplaced> {
    let (field, text, made) = match (exact, pattern) {
        (Some(text), None) => (plain, text, Pattern::exact(&text.value)),
        (None, Some(text)) => (regexp, text, Pattern::regexp(&text.value)),
        (Some(_), Some(second)) => return Err(Fault::Both(plain).at(second)),
        (None, None) => return Err(Fault::Neither(plain).at(identity)),
    };
    made.map_err(|source| Fault::Pattern { field, source }.at(text))
}

fn read_key(folder: &Path, place: &Spanned<String>) -> Result<NamedKey, Misplaced> {
    let path = folder.join(&place.value);
    let read = || -> Result<PublicKey, KeyFileError> {
        Ok(PublicKey::parse(&read_file(&path, LARGEST_KEY)?)?)
    };
    match read() {
        Ok(key) => Ok(NamedKey { path, key }),
        Err(source) => Err(Fault::Key { path, source }.at(place)),
    }
}

fn read_root(folder: &Path, place: Option<&Spanned<String>>) -> Result<TrustRoot, Misplaced> {
    let Some(place) = place else {
        return TrustRoot::public_good().map_err(|error| {
            let path = PathBuf::from("(built in)");
            let source = error.into();
            Fault::Root { path, source }.at_the_top()
        });
    };
    let path = folder.join(&place.value);
    let read = || -> Result<TrustRoot, RootFileError> {
        let text = read_file(&path, LARGEST_ROOT)?;
        Ok(TrustRoot::parse(&text, RootOrigin::File(path.clone()))?)
    };
    read().map_err(|source| {
        Fault::Root {
            path: path.clone(),
            source,
        }
        .at(place)
    })
}

#[cfg(test)]
mod tests;
