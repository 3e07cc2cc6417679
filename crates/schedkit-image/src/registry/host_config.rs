//! What a user says about single registries: how to connect, whom to ask first. Part of our own
//! configuration file; read by the programs, used by the client. No I/O here.
//!
//! ```toml
//! [registry."ghcr.io"]
//! mirrors = ["harbor.example/ghcr"]   # asked first, in this order
//! upstream = "never"                  # and then not ghcr.io itself: an air gap
//! [registry."harbor.example"]
//! ca = "/etc/schedctl/harbor.pem"     # trusted for this host, beside the system's
//! [registry."registry.lab:5000"]
//! security = "plain-http"
//! ```
//!
//! `insecure` of other tools means two things and tries both. Here they have two names, and
//! neither is tried unless it is written down, not even for a loopback address:
//! `unverified-tls` takes any certificate, `plain-http` does without TLS.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::Url;
use schedkit_core::image_ref::ImageRefError;
use schedkit_core::{RegistryHost, Repository};
use serde::Deserialize;

use super::endpoint;
use super::transport::host_of;

const MOST_MIRRORS: usize = 8;
const HTTPS_PORT: &str = ":443";
const HTTP_PORT: &str = ":80";

/// All hosts of which there is something to say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, HostConfig>")]
pub struct Hosts(BTreeMap<RegistryHost, HostConfig>);

/// One host.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// How to connect.
    #[serde(default)]
    pub security: Security,
    /// A PEM file of certificate authorities that are trusted for this host, beside the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Who is asked before the host itself. What they send by digest is checked like anything
    /// else; what a tag means is their word, which the signature must confirm.
    #[serde(default)]
    pub mirrors: Vec<Mirror>,
    /// Whether the host itself is asked when no mirror helps.
    #[serde(default)]
    pub upstream: Upstream,
}

/// How to connect to a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// TLS with a certificate that we trust.
    #[default]
    Tls,
    /// TLS with whatever certificate: whoever is in between reads and changes what is sent.
    UnverifiedTls,
    /// No TLS.
    PlainHttp,
}

impl Security {
    fn usual_port(self) -> &'static str {
        match self {
            Self::Tls | Self::UnverifiedTls => HTTPS_PORT,
            Self::PlainHttp => HTTP_PORT,
        }
    }
}

/// Whether a host with mirrors is asked itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Upstream {
    /// When no mirror could answer.
    #[default]
    Ask,
    /// Not at all.
    Never,
}

/// A host that has another's repositories, perhaps under a prefix: `HOST[:PORT][/PREFIX]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Mirror {
    pub(super) host: RegistryHost,
    pub(super) prefix: Option<String>,
}

/// What is wrong with the configuration of hosts.
#[derive(Debug, thiserror::Error)]
pub enum HostConfigError {
    /// A key that is no host.
    #[error("hosts are named by HOST or HOST:PORT")]
    Host(#[source] ImageRefError),
    /// A mirror that is no place.
    #[error("mirrors are named by HOST[:PORT][/PREFIX]")]
    Mirror(#[source] ImageRefError),
    /// A chain without an end.
    #[error("{0} has more than {MOST_MIRRORS} mirrors")]
    TooManyMirrors(RegistryHost),
    /// No one left to ask.
    #[error("{0} is never to be asked itself and has no mirror")]
    Nobody(RegistryHost),
    /// A certificate authority that nobody would ask for.
    #[error("{0} has a ca, but its certificate is not looked at: leave one of the two out")]
    UselessCa(RegistryHost),
}

impl Hosts {
    /// These hosts.
    ///
    /// # Errors
    /// When what is said about one of them makes no sense.
    pub fn new(
        hosts: impl IntoIterator<Item = (RegistryHost, HostConfig)>,
    ) -> Result<Self, HostConfigError> {
        let hosts = hosts.into_iter().collect::<BTreeMap<_, _>>();
        for (host, config) in &hosts {
            if config.mirrors.len() > MOST_MIRRORS {
                return Err(HostConfigError::TooManyMirrors(host.clone()));
            }
            if config.upstream == Upstream::Never && config.mirrors.is_empty() {
                return Err(HostConfigError::Nobody(host.clone()));
            }
            if config.ca.is_some() && config.security != Security::Tls {
                return Err(HostConfigError::UselessCa(host.clone()));
            }
        }
        Ok(Self(hosts))
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &RegistryHost> {
        self.0.keys()
    }

    /// What is said about a host, under the name that it has here or with its usual port written
    /// or left out: an air gap must not open for `:443`.
    pub(super) fn get(&self, host: &RegistryHost) -> Option<&HostConfig> {
        let exact = self.0.get(host);
        exact.or_else(|| self.under_other_name(host.as_str()))
    }

    /// Where a repository's content is and how to connect there, for a container runtime that
    /// asks registries itself: the mirrors first, then the registry, unless that is never asked.
    pub fn places(&self, repository: &Repository) -> Vec<(Repository, Security)> {
        let config = self.get(repository.host());
        let mirrors = config.map(|config| config.mirrors.as_slice());
        let mirrors = mirrors.unwrap_or_default().iter();
        // A mirror's prefix can make a path too long to be one: nothing can be there.
        let mirrors = mirrors.filter_map(|mirror| mirror.of(repository));
        let itself = config.is_none_or(|config| config.upstream == Upstream::Ask);
        let itself = itself.then(|| repository.clone());
        let secured = |place: Repository| {
            let security = self.get(place.host()).map(|config| config.security);
            (place, security.unwrap_or_default())
        };
        mirrors.chain(itself).map(secured).collect()
    }

    fn under_other_name(&self, host: &str) -> Option<&HostConfig> {
        [HTTPS_PORT, HTTP_PORT].into_iter().find_map(|port| {
            let other = match host.strip_suffix(port) {
                Some(bare) => bare.to_owned(),
                None => format!("{host}{port}"),
            };
            let config = self.0.get(&other.parse().ok()?)?;
            (config.security.usual_port() == port).then_some(config)
        })
    }

    /// What is said about the host of an address.
    pub(super) fn of_url(&self, url: &Url) -> Option<&HostConfig> {
        let name = host_of(url);
        self.get(&endpoint::name_of(&name).parse().ok()?)
    }
}

impl Mirror {
    fn of(&self, repository: &Repository) -> Option<Repository> {
        let prefix = self.prefix.as_ref().map(|prefix| format!("{prefix}/"));
        let prefix = prefix.unwrap_or_default();
        let there = format!("{}/{prefix}{}", self.host, repository.path());
        there.parse().ok()
    }
}

impl TryFrom<BTreeMap<String, HostConfig>> for Hosts {
    type Error = HostConfigError;

    fn try_from(hosts: BTreeMap<String, HostConfig>) -> Result<Self, HostConfigError> {
        let named = |(name, config): (String, HostConfig)| {
            let host = name.parse().map_err(HostConfigError::Host)?;
            Ok((host, config))
        };
        let hosts = hosts
            .into_iter()
            .map(named)
            .collect::<Result<Vec<_>, _>>()?;
        Self::new(hosts)
    }
}

impl TryFrom<String> for Mirror {
    type Error = HostConfigError;

    fn try_from(text: String) -> Result<Self, HostConfigError> {
        let (host, prefix) = match text.split_once('/') {
            Some((host, prefix)) => (host, Some(prefix.to_owned())),
            None => (text.as_str(), None),
        };
        let host = host.parse().map_err(HostConfigError::Mirror)?;
        if prefix.is_some() {
            let repository = format!("mirror.invalid/{}", prefix.as_deref().unwrap_or_default());
            repository
                .parse::<Repository>()
                .map_err(HostConfigError::Mirror)?;
        }
        Ok(Self { host, prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Result<Hosts, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn what_is_said_is_found_again() {
        let hosts = hosts(
            r#"{"Registry.lab:5000": {"security": "plain-http"}, "a.b": {"mirrors": ["c.d:1/e/f", "[::1]:5000"], "upstream": "never"}}"#,
        )
        .unwrap();
        let host = "registry.lab:5000".parse().unwrap();
        assert_eq!(hosts.get(&host).unwrap().security, Security::PlainHttp);
        let mirrors = &hosts.get(&"a.b".parse().unwrap()).unwrap().mirrors;
        assert_eq!(mirrors[0].prefix.as_deref(), Some("e/f"));
        assert_eq!(mirrors[1].host.as_str(), "[::1]:5000");
        for (url, found) in [
            ("http://registry.lab:5000/v2/", true),
            ("http://registry.lab/v2/", false),
            ("https://a.b/", true),
            ("https://a.b:443/", true),
            ("https://a.b:444/", false),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(hosts.of_url(&url).is_some(), found, "{url}");
        }
        let named = Hosts::new([("a.b:443".parse().unwrap(), HostConfig::default())]).unwrap();
        assert!(named.of_url(&Url::parse("https://a.b/").unwrap()).is_some());
    }

    #[test]
    fn a_runtime_is_told_the_same_places_in_the_same_order() {
        let hosts = hosts(
            r#"{"a.b": {"mirrors": ["c.d:1/e", "f.g"]}, "h.i": {"mirrors": ["f.g"], "upstream": "never"}, "f.g": {"security": "plain-http"}}"#,
        )
        .unwrap();
        for (repository, places) in [
            ("a.b/x/y", "c.d:1/e/x/y Tls, f.g/x/y PlainHttp, a.b/x/y Tls"),
            ("a.b:443/x", "c.d:1/e/x Tls, f.g/x PlainHttp, a.b:443/x Tls"),
            ("h.i/x", "f.g/x PlainHttp"),
            ("j.k/x", "j.k/x Tls"),
        ] {
            let found = hosts.places(&repository.parse().unwrap());
            let found = found.iter().map(|(place, how)| format!("{place} {how:?}"));
            assert_eq!(found.collect::<Vec<_>>().join(", "), places);
        }
    }

    #[test]
    fn the_usual_port_may_be_written_or_not() {
        for (said, security, asked, found) in [
            ("a.b", "tls", "a.b:443", true),
            ("a.b:443", "tls", "a.b", true),
            ("a.b", "unverified-tls", "a.b:443", true),
            ("a.b", "plain-http", "a.b:80", true),
            ("a.b:80", "plain-http", "a.b", true),
            ("[::1]", "tls", "[::1]:443", true),
            ("a.b", "tls", "a.b:80", false),
            ("a.b", "plain-http", "a.b:443", false),
            ("a.b:80", "tls", "a.b", false),
            ("a.b", "tls", "a.b:5000", false),
            ("a.b:5000", "tls", "a.b", false),
        ] {
            let text = format!(r#"{{"{said}": {{"security": "{security}"}}}}"#);
            let hosts = hosts(&text).unwrap();
            let config = hosts.get(&asked.parse().unwrap());
            assert_eq!(config.is_some(), found, "{asked} by {text}");
        }
        // Who is named exactly is meant.
        let both = r#"{"a.b": {"ca": "/x"}, "a.b:443": {"ca": "/y"}}"#;
        let both = hosts(both).unwrap();
        let config = both.get(&"a.b:443".parse().unwrap()).unwrap();
        assert_eq!(config.ca, Some(PathBuf::from("/y")));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let many = format!(
            r#"{{"a.b": {{"mirrors": [{}]}}}}"#,
            [r#""c.d""#; MOST_MIRRORS + 1].join(",")
        );
        for (text, said) in [
            (r#"{"a b": {}}"#, "hosts are named by HOST or HOST:PORT"),
            (r#"{"a.b": {"insecure": true}}"#, "unknown field `insecure`"),
            (r#"{"a.b": {"security": "none"}}"#, "unknown variant `none`"),
            (
                r#"{"a.b": {"mirrors": ["http://c.d"]}}"#,
                "mirrors are named by",
            ),
            (r#"{"a.b": {"mirrors": ["c.d/"]}}"#, "mirrors are named by"),
            (r#"{"a.b": {"upstream": "never"}}"#, "has no mirror"),
            (
                r#"{"a.b": {"ca": "/x", "security": "plain-http"}}"#,
                "leave one of the two out",
            ),
            (&many, "more than 8 mirrors"),
        ] {
            let error = hosts(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
