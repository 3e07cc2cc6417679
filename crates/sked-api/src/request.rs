//! What a person asks of a roll-out: the annotation `sked.schedkit.io/request` of a SchedExt.
//!
//! `kubectl annotate --overwrite` writes it. A request is carried out once: the status then has it as
//! `handledRequest`. To ask for the same thing again, an id is appended: `retry#2`.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The canary has run long enough: the other nodes follow.
    Promote,
    /// The revision is rejected: the nodes go back.
    Abort,
    /// A rejected revision is tried again.
    Retry,
    /// The roll-out goes on although the canary has not soaked, or too many nodes are without a
    /// scheduler.
    Force,
    /// The tags of the spec's images are resolved and verified again.
    Refresh,
    /// The quarantine of a node ends.
    Release(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "read the annotation sked.schedkit.io/request: it must be promote, abort, retry, force, \
     refresh or release NODE, with an optional #ID"
)]
pub struct BadRequest;

impl FromStr for Request {
    type Err = BadRequest;

    fn from_str(text: &str) -> Result<Self, BadRequest> {
        let verb = text.split_once('#').map_or(text, |(verb, _)| verb);
        let mut words = verb.split_ascii_whitespace();
        let request = match (words.next(), words.next()) {
            (Some("promote"), None) => Self::Promote,
            (Some("abort"), None) => Self::Abort,
            (Some("retry"), None) => Self::Retry,
            (Some("force"), None) => Self::Force,
            (Some("refresh"), None) => Self::Refresh,
            (Some("release"), Some(node)) if words.next().is_none() => {
                Self::Release(node.to_owned())
            }
            _ => return Err(BadRequest),
        };
        Ok(request)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Promote => f.write_str("promote"),
            Self::Abort => f.write_str("abort"),
            Self::Retry => f.write_str("retry"),
            Self::Force => f.write_str("force"),
            Self::Refresh => f.write_str("refresh"),
            Self::Release(node) => write!(f, "release {node}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_as_it_was_written() {
        let release = Request::Release("node1".to_owned());
        for request in [
            Request::Promote,
            Request::Abort,
            Request::Retry,
            Request::Force,
            Request::Refresh,
            release,
        ] {
            assert_eq!(request.to_string().parse(), Ok(request.clone()));
            assert_eq!(format!("{request}#17").parse(), Ok(request));
        }
        for text in [
            "",
            "#1",
            "go",
            "promote now",
            "release",
            "release a b",
            "Promote",
        ] {
            assert_eq!(text.parse::<Request>(), Err(BadRequest), "{text:?}");
        }
    }
}
