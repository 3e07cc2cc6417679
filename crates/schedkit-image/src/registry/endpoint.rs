//! From a repository to addresses: the mirrors first, then the registry itself. Pure.

use reqwest::Url;
use schedkit_core::{Digest, RegistryHost, Repository};

use super::RegistryError;
use super::error::SetupError;
use super::host_config::{Hosts, Security, Upstream};

/// Docker Hub's registry does not live where its name says.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";

/// Tags on one page; a page of the longest tags stays far below its size cap.
const TAGS_A_PAGE: &str = "1000";

/// One repository on one host.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// The host as users name it; its settings and credentials go by this name.
    pub(super) host: RegistryHost,
    /// The repository's path there, with a mirror's prefix.
    pub(super) path: String,
    /// `https://HOST/v2/PATH/`.
    base: Url,
    /// How often it may be asked in all.
    pub(super) tries: u32,
}

impl Endpoint {
    fn new(
        hosts: &Hosts,
        host: &RegistryHost,
        path: String,
        tries: u32,
    ) -> Result<Self, RegistryError> {
        let security = hosts.get(host).map(|config| config.security);
        let scheme = match security.unwrap_or_default() {
            Security::Tls | Security::UnverifiedTls => "https",
            Security::PlainHttp => "http",
        };
        let real = match host.as_str() {
            DOCKER_HUB => DOCKER_HUB_REGISTRY,
            other => other,
        };
        // A name such as 999.999.999.999 is a fine host name and still no address.
        let base = Url::parse(&format!("{scheme}://{real}/v2/{path}/"));
        let base = base.map_err(|_| RegistryError::Setup {
            host: host.to_string(),
            source: SetupError::Address,
        })?;
        Ok(Self {
            host: host.clone(),
            path,
            base,
            tries,
        })
    }

    /// A manifest or an index, by tag or digest.
    pub(super) fn manifest(&self, version: &str) -> Url {
        self.at(&["manifests", version])
    }

    pub(super) fn blob(&self, digest: &Digest) -> Url {
        self.at(&["blobs", &digest.to_string()])
    }

    pub(super) fn referrers(&self, digest: &Digest) -> Url {
        self.at(&["referrers", &digest.to_string()])
    }

    pub(super) fn tags(&self) -> Url {
        let mut url = self.at(&["tags", "list"]);
        url.query_pairs_mut().append_pair("n", TAGS_A_PAGE);
        url
    }

    /// Whether an address is on this very host, reached in this very way.
    pub(super) fn is_home_of(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    fn at(&self, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{}", self.base.path(), parts.join("/")));
        url
    }
}

/// The name under which users know the host of an address.
pub(super) fn name_of(host: &str) -> &str {
    match host {
        DOCKER_HUB_REGISTRY => DOCKER_HUB,
        other => other,
    }
}

/// Whom to ask, in this order. A mirror is asked once, the last of all up to `tries` times.
pub(super) fn endpoints(
    hosts: &Hosts,
    repository: &Repository,
    tries: u32,
) -> Result<Vec<Endpoint>, RegistryError> {
    let (host, path) = (repository.host(), repository.path());
    let config = hosts.get(host);
    let mut found = Vec::new();
    for mirror in config
        .map(|config| config.mirrors.as_slice())
        .unwrap_or_default()
    {
        let path = match &mirror.prefix {
            Some(prefix) => format!("{prefix}/{path}"),
            None => path.to_owned(),
        };
        found.push(Endpoint::new(hosts, &mirror.host, path, 1)?);
    }
    if config.is_none_or(|config| config.upstream == Upstream::Ask) {
        found.push(Endpoint::new(hosts, host, path.to_owned(), 1)?);
    }
    if let Some(last) = found.last_mut() {
        last.tries = tries;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(hosts: &str, repository: &str) -> Vec<String> {
        let hosts = serde_json::from_str(hosts).unwrap();
        let endpoints = endpoints(&hosts, &repository.parse().unwrap(), 3).unwrap();
        let shown = |endpoint: &Endpoint| format!("{} x{}", endpoint.manifest("1"), endpoint.tries);
        endpoints.iter().map(shown).collect()
    }

    #[test]
    fn addresses_follow_the_reference_and_the_settings() {
        for (hosts, repository, expected) in [
            (
                "{}",
                "ghcr.io/a/b",
                vec!["https://ghcr.io/v2/a/b/manifests/1 x3"],
            ),
            (
                "{}",
                "docker.io/nginx",
                vec!["https://registry-1.docker.io/v2/library/nginx/manifests/1 x3"],
            ),
            // A loopback address is a host like any other.
            (
                "{}",
                "localhost:5000/a",
                vec!["https://localhost:5000/v2/a/manifests/1 x3"],
            ),
            (
                "{}",
                "[::1]:5000/a",
                vec!["https://[::1]:5000/v2/a/manifests/1 x3"],
            ),
            (
                r#"{"localhost:5000": {"security": "plain-http"}}"#,
                "localhost:5000/a",
                vec!["http://localhost:5000/v2/a/manifests/1 x3"],
            ),
            (
                r#"{"a.b": {"mirrors": ["c.d/e", "f.g"]}, "f.g": {"security": "plain-http"}}"#,
                "a.b/x",
                vec![
                    "https://c.d/v2/e/x/manifests/1 x1",
                    "http://f.g/v2/x/manifests/1 x1",
                    "https://a.b/v2/x/manifests/1 x3",
                ],
            ),
            (
                r#"{"a.b": {"mirrors": ["c.d"], "upstream": "never"}}"#,
                "a.b/x",
                vec!["https://c.d/v2/x/manifests/1 x3"],
            ),
            // The same host, so the same air gap.
            (
                r#"{"a.b": {"mirrors": ["c.d"], "upstream": "never"}}"#,
                "a.b:443/x",
                vec!["https://c.d/v2/x/manifests/1 x3"],
            ),
        ] {
            assert_eq!(addresses(hosts, repository), expected, "{repository}");
        }
    }

    #[test]
    fn a_host_that_is_no_address_is_an_error() {
        let error = endpoints(&Hosts::default(), &"999.999.999.999/a".parse().unwrap(), 3);
        assert!(matches!(
            error,
            Err(RegistryError::Setup {
                source: SetupError::Address,
                ..
            })
        ));
    }
}
