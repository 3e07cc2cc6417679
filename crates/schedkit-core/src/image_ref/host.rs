//! The host of a registry, with an optional port.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::error::ImageRefError;

const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// `ghcr.io`, `localhost:5000`, `192.0.2.1`, `[2001:db8::1]:5000`. Always in lower case, and addresses in
/// their one usual form: programs that connect accept others (`127.1`), which would lead past rules
/// and settings for the host.
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
        let host = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(address) => address.and_then(|(address, port)| ipv6(address, port)),
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                let is_valid = is_name(name) && is_port_or_nothing(port);
                is_valid.then(|| text.to_ascii_lowercase())
            }
        };
        let invalid = || ImageRefError::Host(text.to_owned());
        host.map(Self).ok_or_else(invalid)
    }
}

/// Without a zone (`%eth0`): it names an interface of one machine.
fn ipv6(address: &str, port: &str) -> Option<String> {
    let address: Ipv6Addr = address.parse().ok()?;
    is_port_or_nothing(port).then(|| format!("[{address}]{port}"))
}

fn is_port_or_nothing(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else {
        return text.is_empty();
    };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    digits && !port.starts_with('0') && port.parse::<u16>().is_ok()
}

fn is_name(text: &str) -> bool {
    let is_name = text.len() <= MAX_NAME && text.split('.').all(is_label);
    is_name && (!ends_in_number(text) || text.parse::<Ipv4Addr>().is_ok())
}

/// Whether URLs take a host for an IPv4 address, as in `127.1`, `0x7f000001` and `010.0.0.1`.
fn ends_in_number(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or(text);
    let hex = last.strip_prefix("0x").or(last.strip_prefix("0X"));
    last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=MAX_LABEL).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
