//! What the cases share: clients with short timeouts, content, and the message of an error.

use std::error::Error;
use std::time::Duration;

use schedkit_core::{Digest, ImageRef, PinnedRef, Repository};
use schedkit_image::hash::sha256;
use schedkit_image::registry::{
    Client, ClientConfig, Credentials, Descriptor, HostConfig, Hosts, Limits, Problem, Proxies,
    RegistryError, Security,
};

/// Words that must never be message: a password, what it looks like in a header (`me:hunter2`), a
/// token and an identity.
pub(crate) const SECRETS: [&str; 4] = ["hunter2", "bWU6aHVudGVyMg", "t0ken", "1dentity"];

/// Next to no backoff, and no timeout that a busy machine could reach.
pub(crate) fn long_limits() -> Limits {
    Limits {
        connect: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        request: Duration::from_secs(20),
        min_bytes_per_second: u64::MAX,
        attempts: 3,
        first_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_secs(2),
        helper: Duration::from_secs(20),
    }
}

/// For servers that do not respond.
pub(crate) fn short_limits() -> Limits {
    Limits {
        idle: Duration::from_millis(300),
        request: Duration::from_millis(600),
        helper: Duration::from_millis(300),
        ..long_limits()
    }
}

pub(crate) fn plain() -> HostConfig {
    HostConfig {
        security: Security::PlainHttp,
        ..HostConfig::default()
    }
}

pub(crate) fn plain_hosts(hosts: &[&str]) -> Hosts {
    Hosts::new(hosts.iter().map(|host| (host.parse().unwrap(), plain()))).unwrap()
}

pub(crate) fn client_config(host: &str) -> ClientConfig {
    ClientConfig {
        hosts: plain_hosts(&[host]),
        credentials: Credentials::none(),
        proxies: Proxies::default(),
        limits: long_limits(),
    }
}

pub(crate) fn client(host: &str) -> Client {
    Client::new(client_config(host))
}

pub(crate) fn impatient_client(host: &str) -> Client {
    Client::new(ClientConfig {
        limits: short_limits(),
        ..client_config(host)
    })
}

pub(crate) fn repository(host: &str) -> Repository {
    format!("{host}/team/scx").parse().unwrap()
}

pub(crate) fn tagged(host: &str) -> ImageRef {
    format!("{host}/team/scx:1").parse().unwrap()
}

pub(crate) fn pinned(host: &str, content: &[u8]) -> PinnedRef {
    PinnedRef::new(repository(host), sha256(content))
}

pub(crate) fn descriptor(content: &[u8]) -> Descriptor {
    Descriptor {
        media_type: String::new(),
        digest: sha256(content),
        size: content.len() as u64,
        artifact_type: None,
        annotations: Default::default(),
        platform: None,
    }
}

pub(crate) fn hex(content: &[u8]) -> String {
    sha256(content).hex()
}

pub(crate) fn digest(content: &[u8]) -> Digest {
    sha256(content)
}

/// The error and its causes in one line, with names instead of hosts. The text of the system's own
/// errors is left out; no form of the error may hold a secret.
pub(crate) fn message(error: &RegistryError, names: &[(&str, &str)]) -> String {
    let mut chain = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        chain.push(cause.to_string());
        next = cause.source();
    }
    let everything = format!("{error:?} {error:#?} {}", chain.join(" "));
    for secret in SECRETS {
        assert!(!everything.contains(secret), "{secret} in {everything}");
    }
    assert!(
        everything.len() < 8192,
        "an error of {} bytes",
        everything.len()
    );
    let own = match error.problem() {
        Problem::Unreachable(_) | Problem::Disconnected(_) | Problem::Tls { .. } => 1,
        _ => chain.len(),
    };
    let mut line = chain[..own].join(": ");
    for (host, name) in names {
        line = line.replace(host, name);
    }
    line
}
