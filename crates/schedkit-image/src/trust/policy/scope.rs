//! The scope of a rule: the repositories that it is about.
//!
//! ```text
//! *                          every repository
//! ghcr.io                    every repository of a registry
//! ghcr.io/schedkit           ghcr.io/schedkit and what is below it; never ghcr.io/schedkit-evil
//! ghcr.io/schedkit/scx_lavd  this repository and what is below it
//! ```
//!
//! Of two scopes that cover one repository, one covers the other, so that one rule is always the most
//! specific.

use std::fmt;
use std::str::FromStr;

use schedkit_core::{RegistryHost, Repository};

const DOCKER_HUB: &str = "docker.io";

/// Different spellings of one scope are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(Option<Prefix>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Prefix {
    host: String,
    /// Empty for the whole registry.
    path: Vec<String>,
}

/// Why a text is no scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "is not `*`, a registry, or a registry and a path without tag and without `/` at its end, such as \
     ghcr.io/schedkit"
)]
pub struct ScopeError;

impl Scope {
    /// `*`.
    pub fn everything() -> Self {
        Self(None)
    }

    pub fn covers(&self, repository: &Repository) -> bool {
        self.0.as_ref().is_none_or(|prefix| {
            let path = prefix.path.iter().map(String::as_str);
            let mut asked = repository.path().split('/');
            prefix.host == same_host(repository.host())
                && path
                    .into_iter()
                    .all(|segment| asked.next() == Some(segment))
        })
    }

    /// Whether every repository of `other` is also one of this scope.
    pub fn includes(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(one), Some(other)) => one.host == other.host && other.path.starts_with(&one.path),
        }
    }

    /// The official image of Docker Hub for which the scope would be wrong: its path has a part more.
    pub(in crate::trust) fn unofficial_image(&self) -> Option<&str> {
        let prefix = self.0.as_ref().filter(|prefix| prefix.host == DOCKER_HUB)?;
        match prefix.path.as_slice() {
            [name] if name != "library" => Some(name),
            _ => None,
        }
    }

    /// Grows from scope to scope inside of it.
    pub(in crate::trust) fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |prefix| 1 + prefix.path.len())
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        if text == "*" {
            return Ok(Self::everything());
        }
        // A path of two parts at least: Docker Hub gives a meaning of its own to one part.
        const BELOW: &str = "/x/x";
        let below: Repository = format!("{text}{BELOW}").parse().map_err(|_| ScopeError)?;
        let path = format!("/{}", below.path());
        let path = path.strip_suffix(BELOW).ok_or(ScopeError)?;
        let path = path.split('/').skip(1).map(str::to_owned).collect();
        let host = same_host(below.host()).to_owned();
        Ok(Self(Some(Prefix { host, path })))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Prefix { host, path }) = &self.0 else {
            return f.write_str("*");
        };
        f.write_str(host)?;
        path.iter().try_for_each(|segment| write!(f, "/{segment}"))
    }
}

/// One text for one registry: otherwise another spelling of its name would lead past its rules.
/// Addresses have one spelling already.
fn same_host(host: &RegistryHost) -> &str {
    match host.as_str().trim_end_matches(":443") {
        "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope(text: &str) -> Scope {
        text.parse().unwrap()
    }

    fn covers(text: &str, repository: &str) -> bool {
        scope(text).covers(&repository.parse().unwrap())
    }

    #[test]
    fn a_scope_ends_where_a_part_of_the_path_ends() {
        assert!(covers("*", "ghcr.io/schedkit/scx_lavd"));
        assert!(covers("ghcr.io", "ghcr.io/schedkit/scx_lavd"));
        assert!(covers("ghcr.io/schedkit", "ghcr.io/schedkit/scx_lavd"));
        assert!(covers("ghcr.io/schedkit", "ghcr.io/schedkit"));
        assert!(covers(
            "ghcr.io/schedkit/scx_lavd",
            "ghcr.io/schedkit/scx_lavd"
        ));
        for other in [
            "ghcr.io/schedkit-evil/scx_lavd",
            "ghcr.io/sched",
            "ghcr.io.evil.example/schedkit/scx_lavd",
            "evil.example/ghcr.io/schedkit/scx_lavd",
            "ghcr.io:444/schedkit/scx_lavd",
        ] {
            assert!(!covers("ghcr.io/schedkit", other), "{other}");
        }
        assert!(!covers("ghcr.io/schedkit/scx_lavd", "ghcr.io/schedkit"));
    }

    #[test]
    fn another_spelling_of_a_registry_does_not_lead_past_a_rule() {
        assert!(covers("ghcr.io/schedkit", "GHCR.io:443/schedkit/one"));
        assert!(covers("ghcr.io:443", "ghcr.io/schedkit/one"));
        assert!(covers("docker.io/team", "index.docker.io/team/one"));
        assert!(covers("docker.io/library", "docker.io/one"));
        assert!(covers("[::1]:5000", "[0:0:0:0:0:0:0:1]:5000/one"));
        assert_eq!(scope("ghcr.io:443/a"), scope("GHCR.IO/a"));
    }

    #[test]
    fn anything_else_is_an_error() {
        for text in [
            "",
            "schedkit",
            "ghcr.io/",
            "ghcr.io/schedkit/",
            "ghcr.io/*",
            "**",
            "ghcr.io/a:1.0",
            "https://ghcr.io/a",
            "ghcr.io/A",
            "/",
            "ghcr.io//a",
            "127.1:5000",
            "0x7f000001:5000/a",
        ] {
            assert_eq!(text.parse::<Scope>(), Err(ScopeError), "{text:?}");
        }
        for text in ["*", "ghcr.io", "localhost:5000/a/b"] {
            assert_eq!(scope(text).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn of_two_that_cover_one_repository_one_includes_the_other(
            one in "(\\*|a\\.b(/[ab]){0,3})",
            other in "(\\*|a\\.b(/[ab]){0,3})",
            repository in "a\\.b(/[ab]){1,4}",
        ) {
            let repository = repository.parse().unwrap();
            let (one, other) = (scope(&one), scope(&other));
            if one.covers(&repository) && other.covers(&repository) {
                prop_assert!(one.includes(&other) || other.includes(&one));
                prop_assert_eq!(one == other, one.depth() == other.depth());
            }
            if one.includes(&other) && other.covers(&repository) {
                prop_assert!(one.covers(&repository));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            if let Ok(scope) = text.parse::<Scope>() {
                prop_assert_eq!(scope.to_string().parse(), Ok(scope));
            }
        }
    }
}
