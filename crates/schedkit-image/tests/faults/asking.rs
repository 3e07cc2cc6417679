//! What the cases share: a client with little patience, content, and what an error says.

use std::error::Error;
use std::time::Duration;

use schedkit_core::{Digest, ImageRef, PinnedRef, Repository};
use schedkit_image::hash::sha256;
use schedkit_image::registry::{
    Client, Credentials, Descriptor, HostConfig, Hosts, Limits, Proxies, RegistryError, Security,
    Settings,
};

/// Words that must never be said: a password, what it looks like in a header (`me:hunter2`), a
/// token and an identity.
pub(crate) const SECRETS: [&str; 4] = ["hunter2", "bWU6aHVudGVyMg", "t0ken", "1dentity"];

/// No pauses to speak of, and no limit that a busy machine could run into.
pub(crate) fn patient() -> Limits {
    Limits {
        connect: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        total: Duration::from_secs(20),
        slowest: u64::MAX,
        tries: 3,
        pause: Duration::from_millis(1),
        longest_pause: Duration::from_secs(2),
        helper: Duration::from_secs(20),
    }
}

/// For those who would make us wait.
pub(crate) fn hasty() -> Limits {
    Limits {
        idle: Duration::from_millis(300),
        total: Duration::from_millis(600),
        helper: Duration::from_millis(300),
        ..patient()
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

pub(crate) fn settings(host: &str) -> Settings {
    Settings {
        hosts: plain_hosts(&[host]),
        credentials: Credentials::none(),
        proxies: Proxies::default(),
        limits: patient(),
    }
}

pub(crate) fn client(host: &str) -> Client {
    Client::new(settings(host))
}

pub(crate) fn hasty_client(host: &str) -> Client {
    Client::new(Settings {
        limits: hasty(),
        ..settings(host)
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

/// The error and its causes in one line, hosts by their names here. The words of the system's own
/// errors are left out; no form of the error may hold a secret.
pub(crate) fn said(error: &RegistryError, names: &[(&str, &str)]) -> String {
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
    let ours = match error {
        RegistryError::Unreachable { .. }
        | RegistryError::Cut { .. }
        | RegistryError::Tls { .. } => 1,
        _ => chain.len(),
    };
    let mut line = chain[..ours].join(": ");
    for (host, name) in names {
        line = line.replace(host, name);
    }
    line
}
