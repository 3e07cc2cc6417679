//! Whether a verified image is the one that was asked for: its title, its version, its digests.
//!
//! Everything here comes from documents that the signed digest covers.

use std::collections::BTreeSet;

use schedkit_core::Digest;
use serde::Serialize;

use super::asked::AskedImage;
use super::labels::{self, SignedLabels};
use crate::registry::{Registry, RegistryError};
use crate::trust::{Policy, ScopedRule, Version};
use crate::untrusted::brief;

/// Whether an image says that it is what it was asked for as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "check", rename_all = "kebab-case")]
pub enum TitleCheck {
    /// Its title is the name.
    Matches { name: String },
    /// It has no title, so only the reference says what it is.
    NoTitle { name: String },
    /// The policy accepts any title.
    NotChecked,
}

/// What an accepted image says about itself, as far as the policy asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conformity {
    pub(super) title: TitleCheck,
    /// Set if the policy has a minimum version.
    pub(super) version: Option<String>,
}

/// Why a signed image is refused nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Nonconformity {
    #[error(
        "it is signed, but its title is {title:?}, and it was asked for as {asked}: a catalog, a registry \
         or a mirror may have put another image in its place"
    )]
    OtherTitle { title: String, asked: String },
    #[error(
        "it is signed, but the policy asks for version {minimum} at least, and its version is {found}"
    )]
    TooOld { minimum: String, found: String },
    #[error("it is signed, but the policy denies the digest {0} of the image for a platform in it")]
    Denied(Digest),
    #[error("it is signed, but it cannot be read to compare it with what was asked for: {0}")]
    Unreadable(String),
}

/// The outer error is a failed request.
pub(super) async fn check(
    registry: &impl Registry,
    policy: &Policy,
    rule: &ScopedRule,
    asked: &AskedImage<'_>,
) -> Result<Result<Conformity, Nonconformity>, RegistryError> {
    let name = policy.name_to_check(asked.image.repository(), asked.catalog_name);
    let requirements = rule.requirements();
    let minimum = requirements.and_then(|one| one.minimum_version.as_ref());
    let has_denied = !rule.denied.is_empty() || !policy.denied().is_empty();
    if name.is_none() && minimum.is_none() && !has_denied {
        let title = TitleCheck::NotChecked;
        let version = None;
        return Ok(Ok(Conformity { title, version }));
    }
    let labels = match labels::read(registry, asked).await? {
        Ok(labels) => labels,
        Err(why) => return Ok(Err(Nonconformity::Unreadable(why))),
    };
    let conformity = || {
        let mut digests = labels.digests.iter();
        let is_denied =
            |digest: &&Digest| rule.denied.contains(*digest) || policy.denied().contains(*digest);
        if let Some(denied) = digests.find(is_denied) {
            return Err(Nonconformity::Denied(denied.clone()));
        }
        Ok(Conformity {
            title: check_title(&labels.titles, name)?,
            version: minimum
                .map(|minimum| check_version(&labels, minimum))
                .transpose()?,
        })
    };
    Ok(conformity())
}

fn check_title(titles: &BTreeSet<String>, name: Option<&str>) -> Result<TitleCheck, Nonconformity> {
    let Some(name) = name else {
        return Ok(TitleCheck::NotChecked);
    };
    if let Some(other) = titles.iter().find(|title| *title != name) {
        return Err(Nonconformity::OtherTitle {
            title: brief(other),
            asked: name.to_owned(),
        });
    }
    let name = name.to_owned();
    Ok(match titles.is_empty() {
        true => TitleCheck::NoTitle { name },
        false => TitleCheck::Matches { name },
    })
}

/// Returns the lowest version.
fn check_version(labels: &SignedLabels, minimum: &Version) -> Result<String, Nonconformity> {
    let too_old = |found: &str| Nonconformity::TooOld {
        minimum: minimum.to_string(),
        found: brief(found),
    };
    if labels.lacks_version {
        return Err(too_old("not stated"));
    }
    let mut lowest: Option<Version> = None;
    for text in &labels.versions {
        let version: Version = text.parse().map_err(|_| {
            let why = "which is not a version of semantic versioning";
            too_old(&format!("{:?}, {why}", brief(text)))
        })?;
        if version < *minimum {
            return Err(too_old(text));
        }
        lowest = Some(lowest.map_or(version.clone(), |lowest| lowest.min(version)));
    }
    let lowest = lowest.ok_or_else(|| too_old("not stated"))?;
    Ok(lowest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(titles: &[&str]) -> BTreeSet<String> {
        titles.iter().map(|title| (*title).to_owned()).collect()
    }

    #[test]
    fn every_title_is_the_name_that_was_asked_for() {
        let check = |found: &[&str]| check_title(&titles(found), Some("scx_lavd"));
        let name = "scx_lavd".to_owned();
        assert_eq!(check(&[]), Ok(TitleCheck::NoTitle { name: name.clone() }));
        assert_eq!(check(&["scx_lavd"]), Ok(TitleCheck::Matches { name }));
        for other in [&["scx_test"][..], &["scx_lavd", "scx_test"], &["SCX_LAVD"]] {
            let refused = check(other).unwrap_err().to_string();
            assert!(refused.contains("asked for as scx_lavd"), "{refused}");
        }
        assert_eq!(
            check_title(&titles(&["x"]), None),
            Ok(TitleCheck::NotChecked)
        );
    }

    #[test]
    fn every_version_is_the_minimum_at_least() {
        let check = |versions: &[&str], lacks_version: bool| {
            let labels = SignedLabels {
                versions: titles(versions),
                lacks_version,
                ..SignedLabels::default()
            };
            check_version(&labels, &"1.2.0".parse().unwrap())
        };
        assert_eq!(check(&["v1.2.0", "1.10.0"], false).as_deref(), Ok("1.2.0"));
        for (versions, lacks_version, found) in [
            (&["1.1.9"][..], false, "1.1.9"),
            (&["1.3.0", "1.2.0-rc.1"], false, "1.2.0-rc.1"),
            (&["main"], false, "not a version"),
            (&["1.3.0"], true, "not stated"),
            (&[], true, "not stated"),
        ] {
            let refused = check(versions, lacks_version).unwrap_err().to_string();
            assert!(refused.contains(found), "{refused}");
        }
    }
}
