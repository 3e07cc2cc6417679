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

/// Default: everywhere.
#[derive(Debug, Clone, Default)]
pub struct Reach(Option<Arc<BTreeSet<String>>>);

/// The reason not to connect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} has no public address, and is not among the hosts that may have another one")]
pub struct NotPublic {
    pub host: String,
}

impl Reach {
    /// Public addresses, and these hosts wherever they are.
    pub fn public_and<'a>(named: impl IntoIterator<Item = &'a RegistryHost>) -> Self {
        let named = named.into_iter();
        let named = named.map(|host| without_port(host.as_str()).to_ascii_lowercase());
        Self(Some(Arc::new(named.collect())))
    }

    /// For an address in a URL, which is not resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), NotPublic> {
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<IpAddr>() {
            Ok(address) if !is_public(address) && !self.allows_any(host) => Err(NotPublic {
                host: host.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// `None` where nothing is restricted.
    pub(super) fn resolver(&self) -> Option<Arc<dyn Resolve>> {
        self.0.as_ref()?;
        Some(Arc::new(PublicOnly(self.clone())))
    }

    fn allows_any(&self, host: &str) -> bool {
        let Some(named) = &self.0 else {
            return true;
        };
        named.contains(&host.trim_end_matches('.').to_ascii_lowercase())
    }
}

struct PublicOnly(Reach);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found = tokio::net::lookup_host((host, 0)).await?;
            let allows_any = reach.allows_any(host);
            let found: Vec<SocketAddr> = found
                .filter(|address| allows_any || is_public(address.ip()))
                .collect();
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

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
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

    #[test]
    fn an_address_in_a_url_is_checked_unless_it_is_named() {
        let named: RegistryHost = "10.77.0.1:5000".parse().unwrap();
        let reach = Reach::public_and([&named]);
        let check = |url: &str| reach.check(&Url::parse(url).unwrap()).is_ok();
        assert!(check("https://10.77.0.1:5000/v2/"));
        assert!(check("https://1.1.1.1/v2/"));
        assert!(check("https://r.example/v2/"));
        for url in [
            "https://10.77.0.2:5000/v2/",
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "https://[::1]/",
            "https://[::ffff:169.254.169.254]/",
        ] {
            assert!(!check(url), "{url}");
        }
        let anywhere = Reach::default();
        assert!(
            anywhere
                .check(&Url::parse("http://127.0.0.1/").unwrap())
                .is_ok()
        );
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_unless_it_is_named() {
        let resolve = async |reach: Reach| {
            let resolver = reach.resolver().unwrap();
            resolver.resolve("localhost".parse().unwrap()).await.is_ok()
        };
        assert!(!resolve(Reach::public_and([])).await);
        let named: RegistryHost = "localhost:5000".parse().unwrap();
        assert!(resolve(Reach::public_and([&named])).await);
    }
}
