//! The registry's host, with its port when it has one.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use super::ImageRefError;

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// `ghcr.io`, `localhost:5000`, `192.0.2.1`, `[2001:db8::1]:5000`; always in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryHost(String);

impl RegistryHost {
    /// As it stands in a reference.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the part before a reference's first `/` is meant as a host at all, by the rule that
    /// every tool follows: it has a dot or a colon, or it is `localhost`.
    pub(super) fn is_meant(text: &str) -> bool {
        text.contains(['.', ':']) || text.eq_ignore_ascii_case("localhost")
    }
}

impl fmt::Display for RegistryHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RegistryHost {
    type Err = ImageRefError;

    fn from_str(text: &str) -> Result<Self, ImageRefError> {
        let good = match text.strip_prefix('[') {
            Some(rest) => rest
                .split_once(']')
                .is_some_and(|(ip, rest)| is_ipv6(ip) && is_port_or_nothing(rest)),
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                is_name(name) && is_port_or_nothing(port)
            }
        };
        good.then(|| Self(text.to_ascii_lowercase()))
            .ok_or_else(|| ImageRefError::Host(text.to_owned()))
    }
}

/// A zone (`%eth0`) names an interface of one machine and has no place in a reference.
fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

fn is_port_or_nothing(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else {
        return text.is_empty();
    };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    digits && !port.starts_with('0') && port.parse::<u16>().is_ok()
}

fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME && text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
