//! A repository of a registry: its host and a path. All of an image reference but tag and digest.

use std::fmt;
use std::str::FromStr;

use super::error::ImageRefError;
use super::host::RegistryHost;

const MAX_PATH: usize = 255;
const DOCKER_HUB: &str = "docker.io";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    host: RegistryHost,
    path: String,
}

impl Repository {
    pub fn host(&self) -> &RegistryHost {
        &self.host
    }

    /// Without a leading `/`.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)
    }
}

impl FromStr for Repository {
    type Err = ImageRefError;

    fn from_str(text: &str) -> Result<Self, ImageRefError> {
        let (host, path) = text.split_once('/').ok_or(ImageRefError::NoHost)?;
        if !RegistryHost::is_host(host) {
            return Err(ImageRefError::NoHost);
        }
        let host = host.parse::<RegistryHost>()?;
        let official = host.as_str() == DOCKER_HUB && !path.contains('/');
        let full_path = if official {
            format!("library/{path}")
        } else {
            path.to_owned()
        };
        // The full path is measured, so that the printed reference can be parsed again.
        if full_path.len() > MAX_PATH || !full_path.split('/').all(is_component) {
            return Err(ImageRefError::Path(path.to_owned()));
        }
        Ok(Self {
            host,
            path: full_path,
        })
    }
}

/// Groups of lower-case letters and digits, with one '.', one or two '_', or any '-' between them.
fn is_component(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    alphanumeric(*first)
        && alphanumeric(*last)
        && bytes.split(|byte| alphanumeric(*byte)).all(is_separator)
}

fn is_separator(between: &[u8]) -> bool {
    matches!(between, b"" | b"." | b"_" | b"__") || between.iter().all(|byte| *byte == b'-')
}
