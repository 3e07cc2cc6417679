//! The settings file, `/etc/schedctl/config.toml`. Strict: what it does not know is an error that
//! names the line, because a setting that is passed over in silence is worse than none.
//!
//! ```toml
//! driver = "podman"                                 # or "containerd"
//! socket = "/run/podman/podman.sock"                # where that one listens
//! log-level = "warn"                                # error, warn, info or debug
//! catalog = "https://example.org/schedulers.json"   # or an absolute path
//! trust-policy = "/etc/schedctl/trust.yaml"
//!
//! [registry."ghcr.io"]                              # see schedkit_image::registry::Hosts
//! mirrors = ["mirror.example:5000"]
//! [registry."mirror.example:5000"]
//! ca = "/etc/schedctl/mirror.pem"
//! ```

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schedctl_args::args::{DriverName, LogLevel};
use schedkit_image::catalog::Location;
use schedkit_image::foreign::{self, ReadError};
use schedkit_image::registry::Hosts;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

const USUAL: &str = "/etc/schedctl/config.toml";
const LARGEST: usize = 256 * 1024;

/// What the file says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Where all this was read, if anywhere.
    #[serde(skip)]
    pub(crate) path: Option<PathBuf>,
    /// Who runs the containers.
    #[serde(default)]
    pub(crate) driver: Option<DriverName>,
    /// Where that one listens.
    #[serde(default, deserialize_with = "absolute")]
    pub(crate) socket: Option<PathBuf>,
    /// How much to say.
    #[serde(default)]
    pub(crate) log_level: Option<LogLevel>,
    /// Which catalog.
    #[serde(default, deserialize_with = "catalog")]
    pub(crate) catalog: Option<Location>,
    /// Which trust policy.
    #[serde(default, deserialize_with = "absolute")]
    pub(crate) trust_policy: Option<PathBuf>,
    /// How to reach registries.
    #[serde(default)]
    pub(crate) registry: Hosts,
}

/// Why the settings could not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file.
    #[error("the settings file {} {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// What it says.
    #[error("the settings file {}, line {line}: {reason}", path.display())]
    Broken {
        /// Which.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong, fit to print.
        reason: String,
    },
}

/// A line and what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    reason: String,
}

impl Config {
    /// Reads the file that the flag names, else the one of the environment, else the usual one.
    /// Only the usual one may be missing.
    pub(crate) fn load(
        flag: Option<&Path>,
        environment: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let usual = Path::new(USUAL);
        match flag.or(environment) {
            Some(path) => Self::read(path),
            None => match Self::read(usual) {
                Err(ConfigError::Unreadable {
                    source: ReadError::Io(error),
                    ..
                }) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
                other => other,
            },
        }
    }

    fn read(path: &Path) -> Result<Self, ConfigError> {
        let path = path.to_owned();
        match foreign::read_file(&path, LARGEST) {
            Ok(text) => match Self::parse(&text) {
                Ok(config) => Ok(Self {
                    path: Some(path),
                    ..config
                }),
                Err(Fault { line, reason }) => Err(ConfigError::Broken { path, line, reason }),
            },
            Err(source) => Err(ConfigError::Unreadable { path, source }),
        }
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let reason = foreign::brief(error.message());
            Fault { line, reason }
        })
    }
}

fn catalog<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Location>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.parse().map_err(D::Error::custom)? {
        Location::File(path) => whole(path).map(|path| Some(Location::File(path))),
        url @ Location::Url(_) => Ok(Some(url)),
    }
}

fn absolute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    PathBuf::deserialize(deserializer).and_then(whole).map(Some)
}

/// The same file must mean the same wherever schedctl is started.
fn whole<E: serde::de::Error>(path: PathBuf) -> Result<PathBuf, E> {
    if path.is_absolute() {
        return Ok(path);
    }
    let path = foreign::brief(&path.display().to_string());
    Err(E::custom(format!("{path:?} is not an absolute path")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_found_again() {
        let config = Config::parse(
            "catalog = \"/srv/c.json\"\ntrust-policy = \"/srv/t.yaml\"\n[registry.\"a.b:1\"]\nmirrors = [\"c.d\"]\n",
        )
        .unwrap();
        assert_eq!(config.catalog, Some(Location::File("/srv/c.json".into())));
        assert_eq!(config.trust_policy, Some("/srv/t.yaml".into()));
        assert!(Config::parse("").unwrap().catalog.is_none());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, reason) in [
            (
                "\n\ncatalgo = \"x\"",
                3,
                "unknown field `catalgo`, expected one of",
            ),
            (
                "catalog = \"c.json\"",
                1,
                "\"c.json\" is not an absolute path",
            ),
            ("catalog = \"ftp://a/b\"", 1, "begins with https://"),
            ("catalog = 7", 1, "invalid type"),
            ("\ntrust-policy = \"t.yaml\"", 2, "is not an absolute path"),
            ("catalog = \"/a\"\ncatalog = \"/b\"", 2, "duplicate key"),
            ("catalog = \"/a\"\n\n[registry", 3, ""),
            (
                "\n[registry.\"a.b\"]\ninsecure = true",
                3,
                "unknown field `insecure`",
            ),
            ("\n[registry.\"a b\"]\n", 2, "HOST:PORT"),
            (
                "driver = \"docker\"",
                1,
                "expected `podman` or `containerd`",
            ),
            ("socket = \"podman.sock\"", 1, "is not an absolute path"),
            ("\nlog-level = \"loud\"", 2, "unknown variant `loud`"),
        ] {
            let fault = Config::parse(text).unwrap_err();
            assert_eq!(fault.line, line, "{text}: {fault:?}");
            assert!(fault.reason.contains(reason), "{text}: {fault:?}");
        }
    }

    #[test]
    fn only_the_usual_file_may_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none.toml");
        let there = folder.path().join("some.toml");
        std::fs::write(&there, "catalog = \"/a\"").unwrap();
        assert!(Config::load(Some(&missing), None).is_err());
        assert!(Config::load(None, Some(&missing)).is_err());
        assert!(Config::load(Some(&missing), Some(&there)).is_err());
        assert!(Config::load(Some(&there), Some(&missing)).is_ok());
    }
}
