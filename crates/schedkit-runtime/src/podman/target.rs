//! The target of a request: path and query, with every part percent-encoded.

use std::fmt::Write;

/// The version of the API that the driver uses; Podman 4.0 and later accept it.
const BASE: &str = "/v4.0.0/libpod";

#[derive(Clone, Debug)]
pub(super) struct Target {
    text: String,
    has_query: bool,
}

impl Target {
    /// Each element is one segment of the path, whatever characters it has.
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

    /// Adds a query parameter.
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
    // These two have a meaning as path segments.
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
    fn names_are_encoded() {
        let target = Target::new(&["containers", "../a?b#c d", "stop"]);
        let target = target.with("timeout", "3").with("x", "a&b=c");
        assert_eq!(
            target.as_str(),
            "/v4.0.0/libpod/containers/..%2Fa%3Fb%23c%20d/stop?timeout=3&x=a%26b%3Dc"
        );
        assert_eq!(Target::new(&[".."]).as_str(), "/v4.0.0/libpod/%2E%2E");
    }
}
