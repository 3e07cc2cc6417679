//! Listen addresses in the form of Go programs: `:8443` is every address, `0` is off.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bind {
    Off,
    /// This port on every address.
    Everywhere(u16),
    /// Host and port.
    At(String),
}

#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {0}: check that the address is one of this machine and that the port is free"
)]
pub(crate) struct ListenError(String, #[source] std::io::Error);

impl FromStr for Bind {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let port = text.strip_prefix(':').and_then(|port| port.parse().ok());
        Ok(match (text, port) {
            ("0" | "", _) => Self::Off,
            (_, Some(port)) => Self::Everywhere(port),
            (_, None) => Self::At(text.to_owned()),
        })
    }
}

impl Bind {
    /// `None` for [`Bind::Off`].
    pub(crate) fn listen(&self) -> Result<Option<TcpListener>, ListenError> {
        let listener = match self {
            Self::Off => return Ok(None),
            // A machine without IPv6 has no `::`.
            Self::Everywhere(port) => TcpListener::bind(("::", *port))
                .or_else(|_| TcpListener::bind(("0.0.0.0", *port)))
                .map_err(|error| ListenError(format!(":{port}"), error)),
            Self::At(address) => bind(address).map_err(|error| ListenError(address.clone(), error)),
        }?;
        let set = listener.set_nonblocking(true);
        set.map_err(|error| ListenError(format!("{self:?}"), error))?;
        Ok(Some(listener))
    }
}

fn bind(address: &str) -> std::io::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    TcpListener::bind(addresses.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_go_reads_them() {
        for (text, bind) in [
            ("0", Bind::Off),
            (":8443", Bind::Everywhere(8443)),
            ("127.0.0.1:80", Bind::At("127.0.0.1:80".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(bind));
        }
        let wrong = Bind::At("no-port".to_owned()).listen().unwrap_err();
        assert!(
            wrong.to_string().contains("cannot listen on no-port"),
            "{wrong}"
        );
        assert!(":0".parse::<Bind>().unwrap().listen().unwrap().is_some());
    }
}
