//! The settings file, `/etc/schedctl/config.toml`. An unknown key is an error that names the line,
//! so that a misspelt setting is not ignored.
//!
//! ```toml
//! driver = "podman"                                 # or "containerd"
//! socket = "/run/podman/podman.sock"                # of that driver
//! log-level = "warn"                                # error, warn, info or debug
//! catalog = "https://example.org/schedulers.json"   # or an absolute path
//! trust-policy = "/etc/schedctl/trust.yaml"
//! forbid = ["allow-unsigned", "trust-policy"]       # see super::restrictions
//!
//! [trust-root]                                      # see super::trust_root
//! max-age = "30d"
//!
//! [registry."ghcr.io"]                              # see schedkit_image::registry::Hosts
//! mirrors = ["mirror.example:5000"]
//! [registry."mirror.example:5000"]
//! ca = "/etc/schedctl/mirror.pem"
//! ```

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schedctl_args::args::LogLevel;
use schedkit_image::catalog::Location;
use schedkit_image::registry::Hosts;
use schedkit_image::trust::BuiltIn;
use schedkit_image::untrusted::{self, ReadError};
use schedkit_runtime::driver::Runtime;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::restrictions::{Forbidden, MACHINE_FILE, Restrictions};
use super::trust_root::TrustRootTable;

const MAX_BYTES: usize = 256 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ConfigFile {
    /// `None` if the default file does not exist.
    #[serde(skip)]
    pub(crate) path: Option<PathBuf>,
    #[serde(default)]
    pub(crate) driver: Option<Runtime>,
    #[serde(default, deserialize_with = "absolute")]
    pub(crate) socket: Option<PathBuf>,
    #[serde(default)]
    pub(crate) log_level: Option<LogLevel>,
    #[serde(default, deserialize_with = "catalog")]
    pub(crate) catalog: Option<Location>,
    #[serde(default, deserialize_with = "trust_policy")]
    pub(crate) trust_policy: Option<PathBuf>,
    #[serde(default)]
    pub(crate) forbid: Vec<Forbidden>,
    #[serde(default)]
    pub(crate) registry: Hosts,
    #[serde(default)]
    pub(crate) trust_root: TrustRootTable,
    /// The maximum age in the machine's file.
    #[serde(skip)]
    pub(crate) max_root_age: Option<Duration>,
    /// What this file and the machine's forbid.
    #[serde(skip)]
    pub(crate) restrictions: Restrictions,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigFileError {
    #[error("the settings file {} {source}", path.display())]
    Unreadable { path: PathBuf, source: ReadError },
    /// Root would do what others wrote.
    #[error(
        "the settings file {} is not used, because others may write to it: `chmod go-w` it, and let it \
         belong to root",
        .0.display()
    )]
    Untrusted(PathBuf),
    /// They could take the machine's file away, and with it what it forbids.
    #[error(
        "the settings file {} is not used, because others may write to the folder {}: `chmod go-w` it, \
         and let it belong to root",
        path.display(), folder.display()
    )]
    UntrustedFolder { path: PathBuf, folder: PathBuf },
    #[error("the settings file {}, line {line}: {reason}", path.display())]
    Invalid {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Printable.
        reason: String,
    },
}

/// Who has chosen a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Default,
    /// Somebody who may name a file of their own, also with `sudo`.
    Named,
}

impl Choice {
    /// Whether root reads such a file.
    fn accepts(self, file: &Metadata) -> bool {
        let is_root = file.uid() == 0 || self == Self::Named;
        is_root && file.mode() & 0o022 == 0
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(super) line: usize,
    reason: String,
}

impl ConfigFile {
    /// Reads the file that the flag names, else the one of the environment, else the default one.
    /// Only the default one may be missing.
    pub(crate) fn load(
        flag: Option<&Path>,
        environment: Option<&Path>,
    ) -> Result<Self, ConfigFileError> {
        let user = rustix::process::geteuid().as_raw();
        Self::load_beside(Path::new(MACHINE_FILE), flag.or(environment), user)
    }

    /// What the machine's own file forbids holds with every other file, too. Users other than root
    /// start nothing, and may be unable to read it.
    fn load_beside(
        machine: &Path,
        named: Option<&Path>,
        user: u32,
    ) -> Result<Self, ConfigFileError> {
        let machine = || Self::read_machines(machine, user);
        let Some(path) = named else {
            let file = machine()?;
            return Ok(Self {
                restrictions: file.own_restrictions(),
                max_root_age: file.trust_root.max_age,
                ..file
            });
        };
        let file = Self::read(path, user, Choice::Named)?;
        let machine = match user {
            0 => machine()?,
            _ => Self::default(),
        };
        let restrictions = machine.own_restrictions();
        Ok(Self {
            max_root_age: machine.trust_root.max_age,
            // The root of another instance makes another policy of the machine's.
            trust_root: match restrictions.fixes_policy() {
                true => machine.trust_root,
                false => file.trust_root.clone(),
            },
            restrictions: restrictions.and(file.own_restrictions()),
            ..file
        })
    }

    /// The machine's file may be missing. Root believes that only where nobody else can remove it.
    fn read_machines(path: &Path, user: u32) -> Result<Self, ConfigFileError> {
        let target = fs::canonicalize(path).unwrap_or_default();
        for folder in [path, &target].into_iter().filter_map(Path::parent) {
            let found = fs::metadata(folder);
            if user == 0 && found.is_ok_and(|found| !Choice::Default.accepts(&found)) {
                let (path, folder) = (path.to_owned(), folder.to_owned());
                return Err(ConfigFileError::UntrustedFolder { path, folder });
            }
        }
        match Self::read(path, user, Choice::Default) {
            Err(ConfigFileError::Unreadable { .. }) if is_missing(path) => Ok(Self::default()),
            other => other,
        }
    }

    pub(crate) fn own_restrictions(&self) -> Restrictions {
        Restrictions::new(&self.forbid, self.trust_policy.as_deref())
    }

    fn read(path: &Path, user: u32, choice: Choice) -> Result<Self, ConfigFileError> {
        let path = path.to_owned();
        if user == 0 && fs::metadata(&path).is_ok_and(|found| !choice.accepts(&found)) {
            return Err(ConfigFileError::Untrusted(path));
        }
        match untrusted::read_file(&path, MAX_BYTES) {
            Ok(text) => match Self::parse(&text) {
                Ok(config) => Ok(Self {
                    path: Some(path),
                    ..config
                }),
                Err(ParseError { line, reason }) => {
                    Err(ConfigFileError::Invalid { path, line, reason })
                }
            },
            Err(source) => Err(ConfigFileError::Unreadable { path, source }),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let reason = untrusted::brief(error.message());
            ParseError { line, reason }
        })
    }
}

/// Whether there is no such file, nor a link that leads nowhere in place of it or of its folder.
fn is_missing(path: &Path) -> bool {
    let is_nothing = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let is_folder_right = |folder: &Path| folder.is_dir() || is_nothing(folder);
    is_nothing(path) && path.parent().is_none_or(is_folder_right)
}

fn catalog<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Location>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.parse().map_err(D::Error::custom)? {
        Location::File(path) => require_absolute(path).map(|path| Some(Location::File(path))),
        url @ Location::Url(_) => Ok(Some(url)),
    }
}

fn absolute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    PathBuf::deserialize(deserializer)
        .and_then(require_absolute)
        .map(Some)
}

/// An absolute path, or the name of a built-in policy.
fn trust_policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let path = PathBuf::deserialize(deserializer)?;
    match BuiltIn::named(&path) {
        Some(Ok(_)) => Ok(Some(path)),
        Some(Err(error)) => Err(D::Error::custom(error)),
        None => require_absolute(path).map(Some),
    }
}

/// A relative path would depend on the current directory.
fn require_absolute<E: serde::de::Error>(path: PathBuf) -> Result<PathBuf, E> {
    if path.is_absolute() {
        return Ok(path);
    }
    let path = untrusted::brief(&path.display().to_string());
    Err(E::custom(format!("{path:?} is not an absolute path")))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::settings::PolicySource;

    #[test]
    fn settings_are_read() {
        let config = ConfigFile::parse(
            "catalog = \"/srv/c.json\"\ntrust-policy = \"/srv/t.yaml\"\n[registry.\"a.b:1\"]\nmirrors = [\"c.d\"]\n",
        )
        .unwrap();
        assert_eq!(config.catalog, Some(Location::File("/srv/c.json".into())));
        assert_eq!(config.trust_policy, Some("/srv/t.yaml".into()));
        assert!(ConfigFile::parse("").unwrap().catalog.is_none());
    }

    #[test]
    fn an_error_names_its_line() {
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
            ("catalog = \"ftp://a/b\"", 1, "starts with https://"),
            ("catalog = 7", 1, "invalid type"),
            ("\ntrust-policy = \"t.yaml\"", 2, "is not an absolute path"),
            (
                "trust-policy = \"builtin:x\"",
                1,
                "no built-in policy builtin:x",
            ),
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
            let error = ConfigFile::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error:?}");
            assert!(error.reason.contains(reason), "{text}: {error:?}");
        }
    }

    /// Read by another user, it does no harm.
    #[test]
    fn root_does_not_use_a_file_that_others_may_write_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "log-level = \"info\"").unwrap();
        for (mode, is_used) in [
            (0o644, true),
            (0o600, true),
            (0o664, false),
            (0o646, false),
            (0o777, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let read = ConfigFile::read(&path, 0, Choice::Named);
            assert_eq!(read.is_ok(), is_used, "{mode:o}");
            if let Err(error) = read {
                assert!(
                    error.to_string().contains("others may write to it"),
                    "{error}"
                );
            }
            assert!(ConfigFile::read(&path, 1000, Choice::Default).is_ok());
        }
    }

    /// For another user a missing file is a missing file.
    #[test]
    fn root_does_not_believe_that_the_machines_file_is_missing_where_others_may_remove_it() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [own, shared] = ["own", "shared"].map(|name| folder.path().join(name));
        let read = |name: &str| ConfigFile::read_machines(&own.join(name), 0);
        let assert_unsafe = |name: &str| {
            let error = read(name).unwrap_err().to_string();
            assert!(error.contains("may write to the folder"), "{error}");
        };
        assert!(read("config.toml").is_ok(), "there is no folder");
        for path in [&own, &shared] {
            fs::create_dir(path).unwrap();
        }
        assert!(read("config.toml").is_ok());
        let writable = || Permissions::from_mode(0o775);
        fs::set_permissions(&shared, writable()).unwrap();
        fs::write(shared.join("config.toml"), "").unwrap();
        fs::write(own.join("config.toml"), "").unwrap();
        symlink(shared.join("config.toml"), own.join("link.toml")).unwrap();
        symlink(shared.join("none.toml"), own.join("dangling.toml")).unwrap();
        symlink(shared.join("none"), folder.path().join("gone")).unwrap();
        assert!(read("config.toml").is_ok());
        assert_unsafe("link.toml");
        for path in ["dangling.toml", "../gone/config.toml"] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.contains("cannot be read"), "{error}");
        }
        fs::set_permissions(&own, writable()).unwrap();
        assert_unsafe("config.toml");
        assert_unsafe("none.toml");
        assert!(ConfigFile::read_machines(&own.join("none.toml"), 1000).is_ok());
    }

    #[test]
    fn what_the_machine_forbids_holds_with_every_file() {
        let folder = tempfile::tempdir().unwrap();
        let [machine, mine] = ["machine.toml", "mine.toml"].map(|name| folder.path().join(name));
        fs::write(&mine, "forbid = [\"trust-policy\"]").unwrap();
        let root = rustix::process::geteuid().as_raw();
        let load = |user| ConfigFile::load_beside(&machine, Some(&mine), user);
        let waiver = |file: ConfigFile| {
            let policy = PolicySource::default();
            file.restrictions.check(&policy, Some("--allow-unsigned"))
        };
        assert!(waiver(load(root).unwrap()).is_ok());
        fs::write(&machine, "forbid = [\"allow-unsigned\"]").unwrap();
        let file = ConfigFile::load_beside(&machine, None, 1000).unwrap();
        assert!(waiver(file).is_err());
        assert!(waiver(load(1000).unwrap()).is_ok(), "it starts nothing");
        // Only root can own a file that root takes for the machine's.
        if root == 0 {
            let both = load(0).unwrap();
            let other = PolicySource::File("/t.yaml".into());
            assert!(both.restrictions.check(&other, None).is_err());
            assert!(waiver(both).is_err());
            fs::write(&machine, "forbid = [").unwrap();
            assert!(load(0).is_err());
        }
    }

    /// Another instance's root would make another policy of the machine's.
    #[test]
    fn what_the_machine_says_of_the_trusted_root_holds_with_every_file() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [machine, mine] = ["machine.toml", "mine.toml"].map(|name| folder.path().join(name));
        let load = |forbid: &str| {
            let table = "[trust-root]\nmirror = \"/machine\"\nmax-age = \"7d\"\n";
            fs::write(&machine, format!("{forbid}{table}")).unwrap();
            fs::write(&mine, "[trust-root]\nmirror = \"/mine\"\n").unwrap();
            [None, Some(mine.as_path())]
                .map(|named| ConfigFile::load_beside(&machine, named, 0).unwrap())
        };
        let week = Some(Duration::from_secs(7 * 24 * 3600));
        let [own, named] = load("");
        assert_eq!((own.max_root_age, named.max_root_age), (week, week));
        assert_ne!(own.trust_root, named.trust_root);
        let [own, named] = load("forbid = [\"trust-policy\"]\n");
        assert_eq!(own.trust_root, named.trust_root);
        assert_eq!(named.max_root_age, week);
    }

    #[test]
    fn only_the_default_file_may_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none.toml");
        let there = folder.path().join("some.toml");
        fs::write(&there, "catalog = \"/a\"").unwrap();
        assert!(ConfigFile::load(Some(&missing), None).is_err());
        assert!(ConfigFile::load(None, Some(&missing)).is_err());
        assert!(ConfigFile::load(Some(&missing), Some(&there)).is_err());
        assert!(ConfigFile::load(Some(&there), Some(&missing)).is_ok());
    }
}
