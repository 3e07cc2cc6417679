//! Connections: HTTP clients, built when they are first needed. Knows nothing of registries.
//!
//! Reading the system's certificate authorities takes longer than a whole request to a registry
//! without TLS, so it is done only when the first host needs them. Redirects, retries and
//! credentials are not left to the library: `http` and `request` handle them.

mod tls;

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use reqwest::{NoProxy, Proxy, Url};

use super::host_config::{HostConfig, Security};
use super::host_name::configured_name;
use super::limits::Limits;
use super::problem::{Problem, SetupError};
use super::reach::{self, Addresses, Reach};
use crate::secret::Secret;

/// HTTP proxies, as the environment of a program names them.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// For `https` URLs. May hold a password.
    pub https: Option<Secret>,
    /// For `http` URLs. May hold a password.
    pub http: Option<Secret>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub except: Option<String>,
}

#[derive(Debug)]
pub(super) struct Transports {
    proxies: Proxies,
    reach: Reach,
    built: Mutex<BTreeMap<(TransportKind, Addresses), reqwest::Client>>,
}

/// Hosts with the same kind, and the same addresses that they may have, share an HTTP client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum TransportKind {
    Plain,
    Verified,
    VerifiedWith(PathBuf),
    Unverified,
}

impl TransportKind {
    fn of(url: &Url, config: Option<&HostConfig>) -> Self {
        if url.scheme() == "http" {
            return Self::Plain;
        }
        let config = config.map(|config| (config.security, config.ca.as_ref()));
        match config {
            Some((Security::UnverifiedTls, _)) => Self::Unverified,
            Some((Security::Tls | Security::PlainHttp, Some(ca))) => Self::VerifiedWith(ca.clone()),
            Some((Security::Tls | Security::PlainHttp, None)) | None => Self::Verified,
        }
    }
}

impl Transports {
    pub(super) fn new(proxies: Proxies, reach: Reach) -> Self {
        let built = Mutex::default();
        Self {
            proxies,
            reach,
            built,
        }
    }

    /// The HTTP client for a URL, with the configuration of its host.
    pub(super) fn client(
        &self,
        url: &Url,
        config: Option<&HostConfig>,
        limits: &Limits,
    ) -> Result<reqwest::Client, Problem> {
        let addresses = self.reach.of(url).map_err(Problem::NotPublic)?;
        let key = (TransportKind::of(url, config), addresses);
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = built.get(&key) {
            return Ok(client.clone());
        }
        let client = self.build(&key.0, addresses, limits);
        let client = client.map_err(Problem::Setup)?;
        built.insert(key, client.clone());
        Ok(client)
    }

    fn build(
        &self,
        kind: &TransportKind,
        addresses: Addresses,
        limits: &Limits,
    ) -> Result<reqwest::Client, SetupError> {
        let tls = match kind {
            TransportKind::Plain => tls::none()?,
            TransportKind::Verified => tls::verified(tls::system_roots()?)?,
            TransportKind::VerifiedWith(ca) => tls::verified(tls::roots_with(ca)?)?,
            TransportKind::Unverified => tls::unverified()?,
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(*kind != TransportKind::Plain)
            .user_agent(concat!("schedkit/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(limits.connect)
            .read_timeout(limits.idle)
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .no_proxy();
        if let Some(resolver) = addresses.resolver() {
            builder = builder.dns_resolver(resolver);
        }
        for proxy in self.proxies.to_reqwest()? {
            builder = builder.proxy(proxy);
        }
        builder
            .build()
            .map_err(|error| SetupError::Http(Box::new(error.without_url())))
    }
}

impl Proxies {
    fn to_reqwest(&self) -> Result<Vec<Proxy>, SetupError> {
        let Self {
            https,
            http,
            except,
        } = self;
        let except = except.as_deref().and_then(NoProxy::from_string);
        let mut proxies = Vec::new();
        if let Some(address) = https {
            proxies.push((Proxy::https(address.expose()), "HTTPS_PROXY or ALL_PROXY"));
        }
        if let Some(address) = http {
            proxies.push((Proxy::http(address.expose()), "HTTP_PROXY or ALL_PROXY"));
        }
        let proxies = proxies.into_iter().map(|(proxy, variable)| {
            // The library's error quotes the address, which may hold a password.
            let proxy = proxy.map_err(|_| SetupError::Proxy { variable })?;
            Ok(proxy.no_proxy(except.clone()))
        });
        proxies.collect()
    }
}

/// The problem that an error of the HTTP library stands for.
pub(super) fn explain(error: reqwest::Error, host: &str, limits: &Limits) -> Problem {
    let source = Box::new(error.without_url());
    if source.is_timeout() {
        let limit = match source.is_connect() {
            true => limits.connect,
            false => limits.idle,
        };
        return Problem::Timeout { limit };
    }
    if let Some(refused) = reach::refused(source.as_ref()) {
        return Problem::NotPublic(refused);
    }
    if is_tls(source.as_ref()) {
        let host = configured_name(host).to_owned();
        return Problem::Tls { host, source };
    }
    match source.is_connect() {
        true => Problem::Unreachable(source),
        false => Problem::Disconnected(source),
    }
}

fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return true;
        }
        // An I/O error does not return the error that it wraps as its source, and it is wrapped
        // twice.
        let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_share_a_client_by_how_they_are_trusted() {
        let https = Url::parse("https://a.b/").unwrap();
        let http = Url::parse("http://a.b/").unwrap();
        let with = |security, ca: Option<&str>| HostConfig {
            security,
            ca: ca.map(PathBuf::from),
            ..HostConfig::default()
        };
        let unverified = with(Security::UnverifiedTls, None);
        let own_ca = with(Security::Tls, Some("/ca"));
        assert_eq!(TransportKind::of(&https, None), TransportKind::Verified);
        assert_eq!(
            TransportKind::of(&http, Some(&unverified)),
            TransportKind::Plain
        );
        assert_eq!(
            TransportKind::of(&https, Some(&unverified)),
            TransportKind::Unverified
        );
        let ca = TransportKind::VerifiedWith(PathBuf::from("/ca"));
        assert_eq!(TransportKind::of(&https, Some(&own_ca)), ca);
        // A host without TLS that redirects to itself with TLS needs a valid certificate there.
        let plain = with(Security::PlainHttp, None);
        assert_eq!(
            TransportKind::of(&https, Some(&plain)),
            TransportKind::Verified
        );
    }

    #[test]
    fn an_invalid_proxy_is_an_error_without_its_password() {
        let bad = || Some(Secret::new("http://me:hunter2@[".to_owned()));
        let (https, http) = (bad(), bad());
        for (proxies, named) in [
            (
                Proxies {
                    https,
                    ..Proxies::default()
                },
                "HTTPS_PROXY",
            ),
            (
                Proxies {
                    http,
                    ..Proxies::default()
                },
                "HTTP_PROXY",
            ),
        ] {
            let transports = Transports::new(proxies, Reach::default());
            let url = Url::parse("http://a.b/").unwrap();
            let error = transports
                .client(&url, None, &Limits::default())
                .unwrap_err();
            let cause = error.source().unwrap().to_string();
            assert!(cause.contains(&format!(" {named} ")), "{cause}");
            assert!(!format!("{error:?}{cause}{transports:?}").contains("hunter2"));
        }
    }
}
