//! The process environment, read once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use schedctl_args::args::{LogLevel, root_age};
use schedkit_image::catalog::Cache;
use schedkit_image::registry::{Credentials, DefaultAuthFolders, Proxies};
use schedkit_image::secret::Secret;
use schedkit_image::untrusted;
use schedkit_runtime::driver::Runtime;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;

use super::setting::{Origin, Setting};

const ALLOW_UNSIGNED: &str = "SCHEDCTL_ALLOW_UNSIGNED";
const DRIVER: &str = "SCHEDCTL_DRIVER";
const LOG_LEVEL: &str = "SCHEDCTL_LOG_LEVEL";
const CACHE: &str = "SCHEDCTL_CACHE";
const MAX_ROOT_AGE: &str = "SCHEDCTL_MAX_ROOT_AGE";
const STATE: &str = "SCHEDCTL_STATE";
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
const SYSTEM_CACHE: &str = "/var/cache/schedctl";

/// Kept by `schedctl enable`. Passwords are not: see [`crate::enabled`].
const FOR_BOOT: [&str; 11] = [
    DRIVER,
    LOG_LEVEL,
    MAX_ROOT_AGE,
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];
const PATHS_FOR_BOOT: [&str; 10] = [
    "SCHEDCTL_CONFIG",
    "SCHEDCTL_SOCKET",
    "SCHEDCTL_REGISTRY_CONFIG",
    "SCHEDCTL_TRUST_POLICY",
    CACHE,
    STATE,
    "REGISTRY_AUTH_FILE",
    "HOME",
    "XDG_CONFIG_HOME",
    "DOCKER_CONFIG",
];

/// An empty variable counts as not set.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) catalog: Option<String>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) driver: Option<Runtime>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) allow_unsigned: bool,
    pub(crate) registry_config: Option<PathBuf>,
    pub(crate) trust_policy: Option<PathBuf>,
    /// `SCHEDCTL_CACHE`, or the default directory of this user.
    pub(crate) cache: Setting<Cache>,
    /// `REGISTRY_AUTH_FILE`, or the files that podman and docker write by default.
    pub(crate) logins: Credentials,
    /// `PATH`, where credential helpers are.
    pub(crate) helper_folders: Vec<PathBuf>,
    /// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in upper or lower case.
    pub(crate) proxies: Proxies,
    pub(crate) max_root_age: Option<Duration>,
    pub(crate) user: User,
    /// `SCHEDCTL_STATE`, an absolute path.
    pub(crate) state: Option<PathBuf>,
    /// Set variables that a unit needs to have at boot, too.
    pub(crate) for_boot: BTreeMap<String, String>,
    /// `NOTIFY_SOCKET`, from systemd.
    pub(crate) notify_socket: Option<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    /// With this user id.
    Other(u32),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvironmentError {
    #[error("{0} is not UTF-8 text")]
    NotText(&'static str),
    /// The reason is short and printable.
    #[error("{variable} has an invalid value: {reason}")]
    Value {
        variable: &'static str,
        reason: String,
    },
}

impl Environment {
    /// A variable that is not set has the value that `schedctl enable` kept, if any.
    pub(crate) fn of_this_process(
        kept: &BTreeMap<String, String>,
    ) -> Result<Self, EnvironmentError> {
        let user = match rustix::process::geteuid() {
            uid if uid.is_root() => User::Root,
            uid => User::Other(uid.as_raw()),
        };
        Self::read(user, |name| {
            let set = std::env::var_os(name).filter(|value| !value.is_empty());
            set.or_else(|| kept.get(name).map(OsString::from))
        })
    }

    /// No variable is set.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self::read(User::Other(1000), |_| None).unwrap_or_else(|error| panic!("{error}"))
    }

    fn read(
        user: User,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, EnvironmentError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let path = |name: &str| set(name).map(PathBuf::from);
        let text = |name: &'static str| {
            let value = set(name).map(OsString::into_string);
            value
                .transpose()
                .map_err(|_| EnvironmentError::NotText(name))
        };
        Ok(Self {
            catalog: text("SCHEDCTL_CATALOG")?,
            config: path("SCHEDCTL_CONFIG"),
            driver: variant(DRIVER, text(DRIVER)?)?,
            socket: path("SCHEDCTL_SOCKET"),
            log_level: variant(LOG_LEVEL, text(LOG_LEVEL)?)?,
            allow_unsigned: flag(ALLOW_UNSIGNED, text(ALLOW_UNSIGNED)?.as_deref())?,
            registry_config: path("SCHEDCTL_REGISTRY_CONFIG"),
            trust_policy: path("SCHEDCTL_TRUST_POLICY"),
            cache: cache(user, path),
            logins: logins(user, path),
            helper_folders: helper_folders(variable("PATH")),
            proxies: proxies(text)?,
            max_root_age: max_root_age(text(MAX_ROOT_AGE)?)?,
            user,
            state: path(STATE).filter(|path| path.is_absolute()),
            for_boot: for_boot(set),
            notify_socket: set(NOTIFY_SOCKET),
        })
    }
}

/// For a start that fails before the environment has been read.
pub(crate) fn notify_socket() -> Option<OsString> {
    std::env::var_os(NOTIFY_SOCKET).filter(|socket| !socket.is_empty())
}

fn max_root_age(text: Option<String>) -> Result<Option<Duration>, EnvironmentError> {
    let age = text.map(|text| root_age(&text));
    age.transpose().map_err(|reason| EnvironmentError::Value {
        variable: MAX_ROOT_AGE,
        reason: untrusted::brief(&reason),
    })
}

/// The variables of [`FOR_BOOT`] and [`PATHS_FOR_BOOT`] that are set. Paths become absolute.
fn for_boot(set: impl Fn(&str) -> Option<OsString>) -> BTreeMap<String, String> {
    let text = |name: &&str| Some(((*name).to_owned(), set(name)?.into_string().ok()?));
    let path = |name: &&str| {
        let path = std::path::absolute(set(name)?).ok()?;
        Some(((*name).to_owned(), path.to_str()?.to_owned()))
    };
    let texts = FOR_BOOT.iter().filter_map(text);
    texts
        .chain(PATHS_FOR_BOOT.iter().filter_map(path))
        .collect()
}

/// Any value that is not clearly on or off is an error: it decides about trust.
fn flag(variable: &'static str, value: Option<&str>) -> Result<bool, EnvironmentError> {
    match value {
        None | Some("0" | "false" | "no") => Ok(false),
        Some("1" | "true" | "yes") => Ok(true),
        Some(other) => Err(EnvironmentError::Value {
            variable,
            reason: format!(
                "{:?}, expected 1, true, yes, 0, false or no",
                untrusted::brief(other)
            ),
        }),
    }
}

/// Parses the same names as the settings file.
fn variant<'de, T: Deserialize<'de>>(
    variable: &'static str,
    value: Option<String>,
) -> Result<Option<T>, EnvironmentError> {
    let Some(value) = value else { return Ok(None) };
    let parsed = T::deserialize(value.into_deserializer());
    parsed
        .map(Some)
        .map_err(|error: ValueError| EnvironmentError::Value {
            variable,
            reason: untrusted::brief(&error.to_string()),
        })
}

/// The files that `podman login` and `docker login` write.
fn logins(user: User, path: impl Fn(&str) -> Option<PathBuf>) -> Credentials {
    match path("REGISTRY_AUTH_FILE") {
        Some(named) => Credentials::from_file(named),
        None => Credentials::from_default_files(auth_folders(user, path)),
    }
}

/// In the order of containers-auth.json(5). `sudo` removes `XDG_RUNTIME_DIR`, and then
/// `podman login` writes below `/run/containers`.
fn auth_folders(user: User, path: impl Fn(&str) -> Option<PathBuf>) -> DefaultAuthFolders {
    let at_home = |folder: &str| path("HOME").map(|home| home.join(folder));
    let session = path("XDG_RUNTIME_DIR").map(|folder| folder.join("containers"));
    let uid = match user {
        User::Root => 0,
        User::Other(uid) => uid,
    };
    DefaultAuthFolders {
        session: session.or_else(|| Some(format!("/run/containers/{uid}").into())),
        config: path("XDG_CONFIG_HOME").or_else(|| at_home(".config")),
        docker: path("DOCKER_CONFIG").or_else(|| at_home(".docker")),
    }
}

/// Relative directories are skipped: a helper must not be run from the current directory.
fn helper_folders(path: Option<OsString>) -> Vec<PathBuf> {
    let path = path.unwrap_or_default();
    let folders = std::env::split_paths(&path);
    folders.filter(|folder| folder.is_absolute()).collect()
}

fn proxies(
    text: impl Fn(&'static str) -> Result<Option<String>, EnvironmentError>,
) -> Result<Proxies, EnvironmentError> {
    let first = |names: &[&'static str]| -> Result<Option<String>, EnvironmentError> {
        for name in names {
            if let Some(value) = text(name)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    };
    Ok(Proxies {
        https: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])?.map(Secret::new),
        http: first(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])?.map(Secret::new),
        except: first(&["NO_PROXY", "no_proxy"])?,
    })
}

/// Root never uses `HOME` or `XDG_CACHE_HOME`: `sudo` may have kept those of another user.
fn cache(user: User, path: impl Fn(&str) -> Option<PathBuf>) -> Setting<Cache> {
    let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
    if let Some(folder) = absolute(CACHE) {
        return Setting::new(Cache::Folder(folder), Origin::Environment(CACHE));
    }
    let folder = match user {
        User::Root => Some(PathBuf::from(SYSTEM_CACHE)),
        User::Other(_) => absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|folder| folder.join("schedctl")),
    };
    Setting::new(folder.map_or(Cache::Off, Cache::Folder), Origin::Default)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn read(user: User, set: &[(&str, &str)]) -> Environment {
        let variable = |name: &str| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Environment::read(user, variable).unwrap()
    }

    #[test]
    fn the_cache_directory_depends_on_the_user() {
        let home = [("HOME", "/home/me")];
        let xdg = [("HOME", "/home/me"), ("XDG_CACHE_HOME", "/fast")];
        let relative = [("XDG_CACHE_HOME", "fast")];
        let named = [("HOME", "/home/me"), ("SCHEDCTL_CACHE", "/here")];
        let nearby = [("HOME", "/home/me"), ("SCHEDCTL_CACHE", "here")];
        for (user, set, folder) in [
            (User::Other(7), &home[..], Some("/home/me/.cache/schedctl")),
            (User::Other(7), &xdg, Some("/fast/schedctl")),
            (User::Other(7), &relative, None),
            (User::Other(7), &[], None),
            (User::Other(7), &named, Some("/here")),
            (User::Other(7), &nearby, Some("/home/me/.cache/schedctl")),
            (User::Root, &xdg, Some("/var/cache/schedctl")),
            (User::Root, &named, Some("/here")),
            (User::Root, &nearby, Some("/var/cache/schedctl")),
        ] {
            let expected = folder.map_or(Cache::Off, |folder| Cache::Folder(folder.into()));
            assert_eq!(read(user, set).cache.value, expected, "{user:?} {set:?}");
        }
    }

    #[test]
    fn a_login_under_sudo_is_found_where_podman_writes_it() {
        let session = |user, set: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| PathBuf::from(value))
            };
            auth_folders(user, variable).session.unwrap()
        };
        let xdg = [("XDG_RUNTIME_DIR", "/run/user/0")];
        for (user, set, folder) in [
            (User::Root, &[][..], "/run/containers/0"),
            (User::Other(1000), &[], "/run/containers/1000"),
            (User::Root, &xdg, "/run/user/0/containers"),
        ] {
            assert_eq!(session(user, set), PathBuf::from(folder), "{user:?}");
        }
    }

    #[test]
    fn proxy_variables_are_read_in_both_cases() {
        let set = [
            ("https_proxy", "http://a"),
            ("ALL_PROXY", "http://b"),
            ("no_proxy", "c"),
        ];
        let proxies = read(User::Root, &set).proxies;
        assert_eq!(proxies.https.unwrap().expose(), "http://a");
        assert_eq!(proxies.http.unwrap().expose(), "http://b");
        assert_eq!(proxies.except.as_deref(), Some("c"));
    }

    #[test]
    fn relative_directories_of_path_are_skipped() {
        let folders = helper_folders(Some("/usr/bin:.::bin:/bin".into()));
        assert_eq!(folders, [PathBuf::from("/usr/bin"), PathBuf::from("/bin")]);
    }

    #[test]
    fn an_invalid_value_is_reported_with_the_valid_ones() {
        let set = read(User::Root, &[("SCHEDCTL_DRIVER", "containerd")]);
        assert_eq!(set.driver, Some(Runtime::Containerd));
        let wrong = |name: &str| (name == DRIVER).then(|| OsString::from("docker"));
        let error = Environment::read(User::Root, wrong).unwrap_err();
        assert_eq!(
            error.to_string(),
            "SCHEDCTL_DRIVER has an invalid value: unknown variant `docker`, expected `podman` or \
             `containerd`"
        );
    }

    #[test]
    fn an_empty_variable_is_not_set_and_bytes_are_an_error() {
        let empty = read(User::Root, &[("SCHEDCTL_CATALOG", "")]);
        assert_eq!(empty.catalog, None);
        let bytes =
            |name: &str| (name == "SCHEDCTL_CATALOG").then(|| OsString::from_vec(vec![0xff]));
        let error = Environment::read(User::Root, bytes).unwrap_err();
        assert_eq!(error, EnvironmentError::NotText("SCHEDCTL_CATALOG"));
    }
}
