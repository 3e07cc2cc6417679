//! From a repository to the URLs of its mirrors and of the registry itself. Pure.

use reqwest::Url;
use schedkit_core::{Digest, RegistryHost, Repository};

use super::error::RegistryError;
use super::host_config::{Hosts, Security, Upstream};
use super::host_name::api_host;
use super::problem::{Problem, SetupError};

/// A page of the longest tags stays far below the limit of a page.
const TAGS_PER_PAGE: &str = "1000";

/// One repository on one host.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// The name that the configuration and the credentials have for the host.
    pub(super) host: RegistryHost,
    /// The repository's path at this host, with a mirror's prefix.
    pub(super) path: String,
    /// `https://HOST/v2/PATH/`.
    base: Url,
    pub(super) attempts: u32,
}

impl Endpoint {
    fn new(
        hosts: &Hosts,
        host: &RegistryHost,
        path: String,
        attempts: u32,
    ) -> Result<Self, SetupError> {
        let security = hosts.get(host).map(|config| config.security);
        let scheme = match security.unwrap_or_default() {
            Security::Tls | Security::UnverifiedTls => "https",
            Security::PlainHttp => "http",
        };
        let api_host = api_host(host.as_str());
        let base = Url::parse(&format!("{scheme}://{api_host}/v2/{path}/"));
        let base = base.map_err(|_| SetupError::Address)?;
        Ok(Self {
            host: host.clone(),
            path,
            base,
            attempts,
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
        url.query_pairs_mut().append_pair("n", TAGS_PER_PAGE);
        url
    }

    /// Whether a URL has the same host, port and scheme.
    pub(super) fn is_same_host(&self, url: &Url) -> bool {
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

/// The hosts to try, in this order. A mirror gets one attempt, the last host gets `attempts`.
pub(super) fn endpoints(
    hosts: &Hosts,
    repository: &Repository,
    attempts: u32,
    what: &str,
) -> Result<Vec<Endpoint>, RegistryError> {
    let (host, path) = (repository.host(), repository.path());
    let config = hosts.get(host);
    let endpoint = |host: &RegistryHost, path: String| {
        let endpoint = Endpoint::new(hosts, host, path, 1);
        endpoint.map_err(|error| RegistryError::new(what, host.as_str(), Problem::Setup(error)))
    };
    let mut found = Vec::new();
    for mirror in config
        .map(|config| config.mirrors.as_slice())
        .unwrap_or_default()
    {
        let path = match &mirror.prefix {
            Some(prefix) => format!("{prefix}/{path}"),
            None => path.to_owned(),
        };
        found.push(endpoint(&mirror.host, path)?);
    }
    if config.is_none_or(|config| config.upstream == Upstream::Ask) {
        found.push(endpoint(host, path.to_owned())?);
    }
    if let Some(last) = found.last_mut() {
        last.attempts = attempts;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(hosts: &str, repository: &str) -> Vec<String> {
        let hosts = serde_json::from_str(hosts).unwrap();
        let endpoints = endpoints(&hosts, &repository.parse().unwrap(), 3, "x").unwrap();
        let shown =
            |endpoint: &Endpoint| format!("{} x{}", endpoint.manifest("1"), endpoint.attempts);
        endpoints.iter().map(shown).collect()
    }

    #[test]
    fn urls_follow_the_reference_and_the_configuration() {
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
            // Loopback addresses get no exception.
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
            // The same host, so the mirror is used for it as well.
            (
                r#"{"a.b": {"mirrors": ["c.d"], "upstream": "never"}}"#,
                "a.b:443/x",
                vec!["https://c.d/v2/x/manifests/1 x3"],
            ),
        ] {
            assert_eq!(urls(hosts, repository), expected, "{repository}");
        }
    }

    #[test]
    fn a_host_that_makes_no_url_is_an_error() {
        let repository = "xn--a.example/a".parse().unwrap();
        let error = endpoints(&Hosts::default(), &repository, 3, "x").unwrap_err();
        assert!(matches!(
            error.problem(),
            Problem::Setup(SetupError::Address)
        ));
    }
}
