//! Connections: HTTP clients, built when they are first needed. Called by `send`; knows nothing of
//! registries.
//!
//! Reading the system's certificate authorities costs more than a whole question to a registry
//! without TLS, so it is done for the first host that needs them and never before.
//! Redirects, retries and credentials are not left to the library: `send` decides about them.

mod tls;

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use reqwest::{NoProxy, Proxy, Url};

use super::RegistryError;
use super::error::SetupError;
use super::host_config::{HostConfig, Security};
use super::limits::Limits;
use crate::secret::Secret;

/// Proxies on the way out, as the environment of a program names them.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// For `https` addresses. May hold a password.
    pub https: Option<Secret>,
    /// For `http` addresses.
    pub http: Option<Secret>,
    /// Hosts that are reached without one, divided by commas.
    pub except: Option<String>,
}

/// All connections of one client.
#[derive(Debug)]
pub(super) struct Transports {
    proxies: Proxies,
    built: Mutex<BTreeMap<Kind, reqwest::Client>>,
}

/// Hosts with the same kind share their connections.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Plain,
    Verified,
    VerifiedWith(PathBuf),
    Unverified,
}

impl Kind {
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
    pub(super) fn new(proxies: Proxies) -> Self {
        let built = Mutex::default();
        Self { proxies, built }
    }

    /// The client for an address, given what is said about its host.
    pub(super) fn client(
        &self,
        url: &Url,
        config: Option<&HostConfig>,
        limits: &Limits,
    ) -> Result<reqwest::Client, RegistryError> {
        let kind = Kind::of(url, config);
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = built.get(&kind) {
            return Ok(client.clone());
        }
        let client = self.build(&kind, limits);
        let client = client.map_err(|source| RegistryError::Setup {
            host: host_of(url),
            source,
        })?;
        built.insert(kind, client.clone());
        Ok(client)
    }

    fn build(&self, kind: &Kind, limits: &Limits) -> Result<reqwest::Client, SetupError> {
        let tls = match kind {
            Kind::Plain => tls::none()?,
            Kind::Verified => tls::verified(tls::system_roots()?)?,
            Kind::VerifiedWith(ca) => tls::verified(tls::roots_with(ca)?)?,
            Kind::Unverified => tls::unverified()?,
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(*kind != Kind::Plain)
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
            // The library's error would quote the address, and with it the password.
            let proxy = proxy.map_err(|_| SetupError::Proxy { variable })?;
            Ok(proxy.no_proxy(except.clone()))
        });
        proxies.collect()
    }
}

/// The host of an address with its port, and nothing else of it: the rest can be a password.
pub(super) fn host_of(url: &Url) -> String {
    let name = url.host_str().unwrap_or("nowhere");
    match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

/// What a failed connection means for whoever asked.
pub(super) fn explain(
    error: reqwest::Error,
    what: &str,
    host: String,
    limits: &Limits,
) -> RegistryError {
    let what = what.to_owned();
    let source = Box::new(error.without_url());
    if source.is_timeout() {
        let limit = match source.is_connect() {
            true => limits.connect,
            false => limits.idle,
        };
        return RegistryError::TooSlow { what, host, limit };
    }
    if is_tls(source.as_ref()) {
        return RegistryError::Tls { host, source };
    }
    match source.is_connect() {
        true => RegistryError::Unreachable { what, host, source },
        false => RegistryError::Cut { what, host, source },
    }
}

fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return true;
        }
        // An I/O error does not name what it wraps as its source, and they are wrapped twice.
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
    fn hosts_share_connections_by_how_they_are_trusted() {
        let https = Url::parse("https://a.b/").unwrap();
        let http = Url::parse("http://a.b/").unwrap();
        let with = |security, ca: Option<&str>| HostConfig {
            security,
            ca: ca.map(PathBuf::from),
            ..HostConfig::default()
        };
        let unverified = with(Security::UnverifiedTls, None);
        let own = with(Security::Tls, Some("/ca"));
        assert_eq!(Kind::of(&https, None), Kind::Verified);
        assert_eq!(Kind::of(&http, Some(&unverified)), Kind::Plain);
        assert_eq!(Kind::of(&https, Some(&unverified)), Kind::Unverified);
        let ca = Kind::VerifiedWith(PathBuf::from("/ca"));
        assert_eq!(Kind::of(&https, Some(&own)), ca);
        // A host without TLS that redirects to itself with TLS is believed no more than others.
        let plain = with(Security::PlainHttp, None);
        assert_eq!(Kind::of(&https, Some(&plain)), Kind::Verified);
    }

    #[test]
    fn a_bad_proxy_is_an_error_that_keeps_its_password() {
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
            let transports = Transports::new(proxies);
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
