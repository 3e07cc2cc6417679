//! Which addresses a client may connect to. A program on whose behalf others name hosts must not let
//! them choose addresses of its own network.
//!
//! Checked where connections begin, so that it holds for registries, the servers of their tokens and
//! redirects alike: an address in a URL before the request, that of a name after it was resolved.

use std::collections::BTreeSet;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use schedkit_core::RegistryHost;

use super::host_name::configured_name;

/// Of a host that is named without one.
const DEFAULT_PORTS: [u16; 2] = [443, 80];

/// Default: everywhere.
#[derive(Debug, Clone, Default)]
pub struct Reach(Option<Arc<BTreeSet<(String, u16)>>>);

/// The addresses that a host may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Addresses {
    Any,
    Public,
}

/// The reason not to connect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} has no public address, and is not among the hosts that may have another one")]
pub struct NotPublic {
    pub host: String,
}

impl Reach {
    /// Public addresses, and these hosts wherever they are, each on its port only.
    pub fn public_and<'a>(named: impl IntoIterator<Item = &'a RegistryHost>) -> Self {
        let named = named.into_iter().flat_map(|host| {
            let (name, port) = split_port(host.as_str());
            let ports = DEFAULT_PORTS.into_iter();
            let ports = ports.filter(move |_| port.is_none()).chain(port);
            ports.map(move |port| (configured_name(name).to_ascii_lowercase(), port))
        });
        Self(Some(Arc::new(named.collect())))
    }

    /// Which addresses the host of a URL may have. An address in a URL is not resolved, so it is
    /// checked here.
    pub(super) fn of(&self, url: &Url) -> Result<Addresses, NotPublic> {
        let Some(named) = &self.0 else {
            return Ok(Addresses::Any);
        };
        let host = url.host_str().unwrap_or_default();
        let name = configured_name(host.trim_end_matches('.')).to_ascii_lowercase();
        let port = url.port_or_known_default().unwrap_or_default();
        if named.contains(&(name, port)) {
            return Ok(Addresses::Any);
        }
        let address = host.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<IpAddr>() {
            Ok(address) if !is_public(address) => Err(NotPublic {
                host: host.to_owned(),
            }),
            _ => Ok(Addresses::Public),
        }
    }
}

impl Addresses {
    /// For names; `None` where nothing is restricted.
    pub(super) fn resolver(self) -> Option<Arc<dyn Resolve>> {
        match self {
            Self::Any => None,
            Self::Public => Some(Arc::new(PublicOnly)),
        }
    }
}

struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str();
            let found = tokio::net::lookup_host((host, 0)).await?;
            let found: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if found.is_empty() {
                let host = host.to_owned();
                let error: Box<dyn Error + Send + Sync> = Box::new(NotPublic { host });
                return Err(error);
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

/// Which host an error of the HTTP library is about that [`PublicOnly`] caused.
pub(super) fn refused(error: &(dyn Error + 'static)) -> Option<NotPublic> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<NotPublic>() {
            return Some(found.clone());
        }
        next = error.source();
    }
    None
}

/// An IPv6 address is in brackets, so what is behind its last colon is no number.
fn split_port(host: &str) -> (&str, Option<u16>) {
    let split = host.rsplit_once(':');
    match split.and_then(|(name, port)| Some((name, port.parse().ok()?))) {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    }
}

/// Whether the address is one of the internet, and not of this machine, its network, or of no host at
/// all.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || first == 0
        // Shared by carriers.
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        // Benchmarks.
        || (first == 198 && (18..20).contains(&second))
        // Multicast, reserved, broadcast.
        || first >= 224;
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_documentation = (first == 0x2001 && second == 0xdb8) || first & 0xfff0 == 0x3ff0;
    // Teredo, benchmarks, ORCHID and others that are no addresses of hosts.
    let is_protocol = first == 0x2001 && second < 0x200;
    is_global && !is_documentation && !is_protocol
}

/// The IPv4 address that an IPv6 address leads to: mapped, translated (NAT64) or tunnelled (6to4).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let of = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => Some(of(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:a00:1::1",
            "100::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "140.82.121.33",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a01:4f8::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    fn named(hosts: &[&str]) -> Reach {
        let hosts: Vec<RegistryHost> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        Reach::public_and(&hosts)
    }

    #[test]
    fn an_address_in_a_url_is_checked_unless_it_is_named() {
        let reach = named(&["10.77.0.1:5000", "[fd00::1]:5000"]);
        let check = |url: &str| reach.of(&Url::parse(url).unwrap()).is_ok();
        assert!(check("https://10.77.0.1:5000/v2/"));
        assert!(check("https://[fd00::1]:5000/v2/"));
        assert!(check("https://1.1.1.1/v2/"));
        assert!(check("https://r.example/v2/"));
        for url in [
            "https://10.77.0.2:5000/v2/",
            "https://10.77.0.1/v2/",
            "http://10.77.0.1:22/",
            "https://[fd00::1]:6443/",
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "https://[::1]/",
            "https://[::ffff:169.254.169.254]/",
        ] {
            assert!(!check(url), "{url}");
        }
        let loopback = Url::parse("http://127.0.0.1/").unwrap();
        assert_eq!(Reach::default().of(&loopback), Ok(Addresses::Any));
    }

    #[test]
    fn a_host_is_named_with_its_port() {
        let reach = named(&["r.example:5000", "s.example", "docker.io"]);
        for (url, addresses) in [
            ("http://r.example:5000/v2/", Addresses::Any),
            ("http://r.example.:5000/v2/", Addresses::Any),
            ("https://r.example/v2/", Addresses::Public),
            ("https://r.example:6443/", Addresses::Public),
            ("https://s.example/v2/", Addresses::Any),
            ("http://s.example/v2/", Addresses::Any),
            ("https://s.example:10250/", Addresses::Public),
            ("https://registry-1.docker.io/v2/", Addresses::Any),
        ] {
            let found = reach.of(&Url::parse(url).unwrap());
            assert_eq!(found, Ok(addresses), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_unless_it_is_named() {
        let resolver = Addresses::Public.resolver().unwrap();
        let found = resolver.resolve("localhost".parse().unwrap()).await;
        assert!(found.is_err());
        assert!(Addresses::Any.resolver().is_none());
    }
}
