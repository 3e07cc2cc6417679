//! The configuration of single registries: how to connect, and which mirrors to try first. Part of
//! the programs' configuration file. No I/O here.
//!
//! ```toml
//! [registry."ghcr.io"]
//! mirrors = ["harbor.example/ghcr"]   # tried first, in this order
//! upstream = "never"                  # ghcr.io itself is never contacted
//! [registry."harbor.example"]
//! ca = "/etc/schedctl/harbor.pem"     # trusted for this host, in addition to the system's
//! [registry."registry.lab:5000"]
//! security = "plain-http"
//! ```
//!
//! Other tools have one setting `insecure` that tries two things. Here they have two names, and
//! neither is tried unless it is configured, not even for a loopback address: `unverified-tls`
//! accepts any certificate, `plain-http` uses no TLS.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::Url;
use schedkit_core::image_ref::ImageRefError;
use schedkit_core::{RegistryHost, Repository};
use serde::Deserialize;

use super::host_name::{configured_name, host_and_port};

const MAX_MIRRORS: usize = 8;
const HTTPS_PORT: &str = ":443";
const HTTP_PORT: &str = ":80";

/// The configuration of all hosts that have one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, HostConfig>")]
pub struct Hosts(BTreeMap<RegistryHost, HostConfig>);

/// The configuration of one host.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    #[serde(default)]
    pub security: Security,
    /// A PEM file of certificate authorities that are trusted for this host, in addition to the
    /// system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Tried before the host itself. Content that is requested by digest is checked wherever it
    /// comes from; which digest a tag has is the mirror's claim, and only a signature can confirm
    /// that the image may run.
    #[serde(default)]
    pub mirrors: Vec<Mirror>,
    #[serde(default)]
    pub upstream: Upstream,
}

/// How to connect to a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// TLS with a trusted certificate.
    #[default]
    Tls,
    /// TLS with any certificate: somebody in between can read and change what is sent.
    UnverifiedTls,
    PlainHttp,
}

impl Security {
    fn default_port(self) -> &'static str {
        match self {
            Self::Tls | Self::UnverifiedTls => HTTPS_PORT,
            Self::PlainHttp => HTTP_PORT,
        }
    }
}

/// Whether a host with mirrors is contacted itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Upstream {
    /// After all mirrors failed.
    #[default]
    Ask,
    Never,
}

/// A host that serves another host's repositories: `HOST[:PORT][/PREFIX]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Mirror {
    pub(super) host: RegistryHost,
    pub(super) prefix: Option<String>,
}

/// Why the configuration of hosts is invalid.
#[derive(Debug, thiserror::Error)]
pub enum HostConfigError {
    #[error("hosts are named by HOST or HOST:PORT")]
    Host(#[source] ImageRefError),
    #[error("mirrors are named by HOST[:PORT][/PREFIX]")]
    Mirror(#[source] ImageRefError),
    #[error("{0} has more than {MAX_MIRRORS} mirrors")]
    TooManyMirrors(RegistryHost),
    #[error("{0} has `upstream = \"never\"` and has no mirror")]
    NoHostLeft(RegistryHost),
    #[error(
        "{0} has a `ca`, but its `security` does not check certificates: leave one of the two out"
    )]
    UnusedCa(RegistryHost),
}

impl Hosts {
    /// # Errors
    /// When the configuration of one of them contradicts itself.
    pub fn new(
        hosts: impl IntoIterator<Item = (RegistryHost, HostConfig)>,
    ) -> Result<Self, HostConfigError> {
        let hosts = hosts.into_iter().collect::<BTreeMap<_, _>>();
        for (host, config) in &hosts {
            if config.mirrors.len() > MAX_MIRRORS {
                return Err(HostConfigError::TooManyMirrors(host.clone()));
            }
            if config.upstream == Upstream::Never && config.mirrors.is_empty() {
                return Err(HostConfigError::NoHostLeft(host.clone()));
            }
            if config.ca.is_some() && config.security != Security::Tls {
                return Err(HostConfigError::UnusedCa(host.clone()));
            }
        }
        Ok(Self(hosts))
    }

    /// In alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &RegistryHost> {
        self.0.keys()
    }

    /// Every host that the configuration leads to: those that have one, and their mirrors.
    pub fn with_mirrors(&self) -> impl Iterator<Item = &RegistryHost> {
        let mirrors = self.0.values().flat_map(|config| &config.mirrors);
        self.names().chain(mirrors.map(|mirror| &mirror.host))
    }

    /// The configuration of a host, under this name or with its default port added or left out:
    /// `upstream = "never"` for `a.b` must hold for `a.b:443`, too.
    pub(super) fn get(&self, host: &RegistryHost) -> Option<&HostConfig> {
        let exact = self.0.get(host);
        exact.or_else(|| self.with_other_port(host.as_str()))
    }

    /// The repositories that serve this one's content and how to connect to each, for a container
    /// runtime that sends its own requests: the mirrors first, then the registry itself unless it
    /// is never contacted.
    pub fn locations(&self, repository: &Repository) -> Vec<(Repository, Security)> {
        let config = self.get(repository.host());
        let mirrors = config.map(|config| config.mirrors.as_slice());
        let mirrors = mirrors.unwrap_or_default().iter();
        // With a mirror's prefix a path can become too long to be valid: the mirror cannot have it.
        let mirrors = mirrors.filter_map(|mirror| mirror.of(repository));
        let itself = config.is_none_or(|config| config.upstream == Upstream::Ask);
        let itself = itself.then(|| repository.clone());
        let with_security = |location: Repository| {
            let security = self.get(location.host()).map(|config| config.security);
            (location, security.unwrap_or_default())
        };
        mirrors.chain(itself).map(with_security).collect()
    }

    fn with_other_port(&self, host: &str) -> Option<&HostConfig> {
        [HTTPS_PORT, HTTP_PORT].into_iter().find_map(|port| {
            let other = match host.strip_suffix(port) {
                Some(bare) => bare.to_owned(),
                None => format!("{host}{port}"),
            };
            let config = self.0.get(&other.parse().ok()?)?;
            (config.security.default_port() == port).then_some(config)
        })
    }

    /// The configuration of the host of a URL.
    pub(super) fn of_url(&self, url: &Url) -> Option<&HostConfig> {
        let name = host_and_port(url);
        self.get(&configured_name(&name).parse().ok()?)
    }
}

impl Mirror {
    fn of(&self, repository: &Repository) -> Option<Repository> {
        let prefix = self.prefix.as_ref().map(|prefix| format!("{prefix}/"));
        let prefix = prefix.unwrap_or_default();
        let location = format!("{}/{prefix}{}", self.host, repository.path());
        location.parse().ok()
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
    fn the_configuration_of_a_host_is_found() {
        let hosts = hosts(
            r#"{"Registry.lab:5000": {"security": "plain-http"}, "a.b": {"mirrors": ["c.d:1/e/f", "[::1]:5000"], "upstream": "never"}}"#,
        )
        .unwrap();
        let host = "registry.lab:5000".parse().unwrap();
        assert_eq!(hosts.get(&host).unwrap().security, Security::PlainHttp);
        let mirrors = &hosts.get(&"a.b".parse().unwrap()).unwrap().mirrors;
        assert_eq!(mirrors[0].prefix.as_deref(), Some("e/f"));
        assert_eq!(mirrors[1].host.as_str(), "[::1]:5000");
        let all: Vec<_> = hosts.with_mirrors().map(RegistryHost::as_str).collect();
        assert_eq!(all, ["a.b", "registry.lab:5000", "c.d:1", "[::1]:5000"]);
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
    fn a_runtime_gets_the_same_locations_in_the_same_order() {
        let hosts = hosts(
            r#"{"a.b": {"mirrors": ["c.d:1/e", "f.g"]}, "h.i": {"mirrors": ["f.g"], "upstream": "never"}, "f.g": {"security": "plain-http"}}"#,
        )
        .unwrap();
        for (repository, expected) in [
            ("a.b/x/y", "c.d:1/e/x/y Tls, f.g/x/y PlainHttp, a.b/x/y Tls"),
            ("a.b:443/x", "c.d:1/e/x Tls, f.g/x PlainHttp, a.b:443/x Tls"),
            ("h.i/x", "f.g/x PlainHttp"),
            ("j.k/x", "j.k/x Tls"),
        ] {
            let found = hosts.locations(&repository.parse().unwrap());
            let found = found
                .iter()
                .map(|(location, how)| format!("{location} {how:?}"));
            assert_eq!(found.collect::<Vec<_>>().join(", "), expected);
        }
    }

    #[test]
    fn the_default_port_may_be_written_or_not() {
        for (configured, security, requested, found) in [
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
            let text = format!(r#"{{"{configured}": {{"security": "{security}"}}}}"#);
            let hosts = hosts(&text).unwrap();
            let config = hosts.get(&requested.parse().unwrap());
            assert_eq!(config.is_some(), found, "{requested} by {text}");
        }
        // An exact name takes precedence.
        let both = r#"{"a.b": {"ca": "/x"}, "a.b:443": {"ca": "/y"}}"#;
        let both = hosts(both).unwrap();
        let config = both.get(&"a.b:443".parse().unwrap()).unwrap();
        assert_eq!(config.ca, Some(PathBuf::from("/y")));
    }

    /// Otherwise another one would lead past `upstream = "never"`.
    #[test]
    fn an_address_has_one_spelling() {
        let hosts = hosts(r#"{"[0:0::1]:5000": {"security": "plain-http"}}"#).unwrap();
        for spelling in ["[::1]:5000", "[0::0:1]:5000"] {
            assert!(hosts.get(&spelling.parse().unwrap()).is_some());
        }
        let url = Url::parse("http://[0::1]:5000/v2/").unwrap();
        assert!(hosts.of_url(&url).is_some());
        for host in ["127.1:5000", "0x7f000001:5000", "010.0.0.1"] {
            assert!(host.parse::<RegistryHost>().is_err(), "{host}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let many = format!(
            r#"{{"a.b": {{"mirrors": [{}]}}}}"#,
            [r#""c.d""#; MAX_MIRRORS + 1].join(",")
        );
        for (text, expected) in [
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
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
