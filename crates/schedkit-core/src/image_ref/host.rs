//! The host of a registry, with an optional port.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use super::error::ImageRefError;

const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// `ghcr.io`, `localhost:5000`, `192.0.2.1`, `[2001:db8::1]:5000`; always in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryHost(String);

impl RegistryHost {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the part before a reference's first `/` is a host and not the beginning of a path, by the
    /// rule of all tools: it has a dot or a colon, or it is `localhost`.
    pub(super) fn is_host(text: &str) -> bool {
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
        let is_valid = match text.strip_prefix('[') {
            Some(rest) => rest
                .split_once(']')
                .is_some_and(|(ip, rest)| is_ipv6(ip) && is_port_or_nothing(rest)),
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                is_name(name) && is_port_or_nothing(port)
            }
        };
        is_valid
            .then(|| Self(text.to_ascii_lowercase()))
            .ok_or_else(|| ImageRefError::Host(text.to_owned()))
    }
}

/// Without a zone (`%eth0`): it names an interface of one machine.
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
    text.len() <= MAX_NAME && text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=MAX_LABEL).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
