//! The address of a question: path and query, written so that no name can break out of its place.

use std::fmt::Write;

/// Both Debian 12's Podman and those after it speak this version.
const BASE: &str = "/v4.0.0/libpod";

/// Path and query.
#[derive(Clone, Debug)]
pub(super) struct Target {
    text: String,
    has_query: bool,
}

impl Target {
    /// These parts, each of them one part whatever is in it.
    pub(super) fn new(path: &[&str]) -> Self {
        let mut text = BASE.to_owned();
        for part in path {
            text.push('/');
            text.push_str(&encoded(part));
        }
        Self {
            text,
            has_query: false,
        }
    }

    /// With a parameter.
    pub(super) fn with(mut self, key: &str, value: &str) -> Self {
        self.text.push(if self.has_query { '&' } else { '?' });
        self.text.push_str(key);
        self.text.push('=');
        self.text.push_str(&encoded(value));
        self.has_query = true;
        self
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    // These two would be taken for steps along the path.
    match out.as_str() {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_place() {
        let target = Target::new(&["containers", "../a?b#c d", "stop"]);
        let target = target.with("timeout", "3").with("x", "a&b=c");
        assert_eq!(
            target.as_str(),
            "/v4.0.0/libpod/containers/..%2Fa%3Fb%23c%20d/stop?timeout=3&x=a%26b%3Dc"
        );
        assert_eq!(Target::new(&[".."]).as_str(), "/v4.0.0/libpod/%2E%2E");
    }
}
