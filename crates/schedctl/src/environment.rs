//! Everything that is read from the process's environment, in one place and once.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use schedctl_args::args::{DriverName, LogLevel};
use schedkit_image::catalog::Cache;
use schedkit_image::foreign;
use schedkit_image::registry::{Credentials, DefaultAuthFolders, Proxies};
use schedkit_image::secret::Secret;

const ALLOW_UNSIGNED: &str = "SCHEDCTL_ALLOW_UNSIGNED";
const DRIVER: &str = "SCHEDCTL_DRIVER";
const LOG_LEVEL: &str = "SCHEDCTL_LOG_LEVEL";
const SYSTEM_CACHE: &str = "/var/cache/schedctl";

/// What the environment says. An empty variable is one that is not set.
#[derive(Debug)]
pub(crate) struct Environment {
    /// `SCHEDCTL_CATALOG`.
    pub(crate) catalog: Option<String>,
    /// `SCHEDCTL_CONFIG`.
    pub(crate) config: Option<PathBuf>,
    /// `SCHEDCTL_DRIVER`.
    pub(crate) driver: Option<DriverName>,
    /// `SCHEDCTL_SOCKET`.
    pub(crate) socket: Option<PathBuf>,
    /// `SCHEDCTL_LOG_LEVEL`.
    pub(crate) log_level: Option<LogLevel>,
    /// `SCHEDCTL_ALLOW_UNSIGNED`.
    pub(crate) allow_unsigned: bool,
    /// `SCHEDCTL_REGISTRY_CONFIG`.
    pub(crate) registry_config: Option<PathBuf>,
    /// `SCHEDCTL_TRUST_POLICY`.
    pub(crate) trust_policy: Option<PathBuf>,
    /// `SCHEDCTL_CACHE`, else by who we are.
    pub(crate) cache: Cache,
    /// Whether that was `SCHEDCTL_CACHE`.
    pub(crate) cache_is_named: bool,
    /// Logins where podman and docker keep them: `REGISTRY_AUTH_FILE`, else the usual files.
    pub(crate) logins: Credentials,
    /// `PATH`, where credential helpers are.
    pub(crate) helper_folders: Vec<PathBuf>,
    /// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case.
    pub(crate) proxies: Proxies,
}

/// Who runs this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Root,
    Other,
}

/// What is wrong with the environment.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvironmentError {
    /// Bytes that are no text.
    #[error("{0} is not UTF-8 text")]
    NotText(&'static str),
    /// A word that is none of those it can be.
    #[error("{variable} is {value:?}, and can be {known}")]
    Word {
        /// Which variable.
        variable: &'static str,
        /// What it says; brief and printable.
        value: String,
        /// What it could say.
        known: String,
    },
}

impl Environment {
    /// What this process was started with.
    pub(crate) fn of_this_process() -> Result<Self, EnvironmentError> {
        let user = if rustix::process::geteuid().is_root() {
            User::Root
        } else {
            User::Other
        };
        Self::read(user, |name| std::env::var_os(name))
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
            driver: word(DRIVER, text(DRIVER)?)?,
            socket: path("SCHEDCTL_SOCKET"),
            log_level: word(LOG_LEVEL, text(LOG_LEVEL)?)?,
            allow_unsigned: flag(ALLOW_UNSIGNED, text(ALLOW_UNSIGNED)?.as_deref())?,
            registry_config: path("SCHEDCTL_REGISTRY_CONFIG"),
            trust_policy: path("SCHEDCTL_TRUST_POLICY"),
            cache: cache(user, path),
            cache_is_named: named_cache(path).is_some(),
            logins: logins(path),
            helper_folders: helper_folders(variable("PATH")),
            proxies: proxies(text)?,
        })
    }
}

/// On or off. A word that could be either is neither: trust is not guessed at.
fn flag(variable: &'static str, value: Option<&str>) -> Result<bool, EnvironmentError> {
    match value {
        None | Some("0" | "false" | "no") => Ok(false),
        Some("1" | "true" | "yes") => Ok(true),
        Some(other) => Err(EnvironmentError::Word {
            variable,
            value: foreign::brief(other),
            known: "1, true or yes; 0, false or no".to_owned(),
        }),
    }
}

/// What `podman login` and `docker login` wrote.
fn logins(path: impl Fn(&str) -> Option<PathBuf>) -> Credentials {
    if let Some(named) = path("REGISTRY_AUTH_FILE") {
        return Credentials::from_file(named);
    }
    let at_home = |folder: &str| path("HOME").map(|home| home.join(folder));
    Credentials::from_default_files(DefaultAuthFolders {
        runtime: path("XDG_RUNTIME_DIR"),
        config: path("XDG_CONFIG_HOME").or_else(|| at_home(".config")),
        docker: path("DOCKER_CONFIG").or_else(|| at_home(".docker")),
    })
}

/// A relative folder would make a program out of whatever lies where we were started.
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

/// What runs as root never trusts a folder that `sudo` may have kept from somebody else.
fn cache(user: User, path: impl Fn(&str) -> Option<PathBuf>) -> Cache {
    let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
    let own = || {
        absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|folder| folder.join("schedctl"))
    };
    let usual = || match user {
        User::Root => Some(PathBuf::from(SYSTEM_CACHE)),
        User::Other => own(),
    };
    named_cache(&path)
        .or_else(usual)
        .map_or(Cache::Off, Cache::Folder)
}

fn named_cache(path: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    path("SCHEDCTL_CACHE").filter(|path| path.is_absolute())
}

/// One of the words that a flag would take.
fn word<T: ValueEnum>(
    variable: &'static str,
    said: Option<String>,
) -> Result<Option<T>, EnvironmentError> {
    let Some(value) = said else { return Ok(None) };
    let known = || {
        let words = T::value_variants()
            .iter()
            .filter_map(T::to_possible_value)
            .map(|word| word.get_name().to_owned());
        words.collect::<Vec<_>>().join(", ")
    };
    T::from_str(&value, false)
        .map(Some)
        .map_err(|_| EnvironmentError::Word {
            variable,
            value: foreign::brief(&value),
            known: known(),
        })
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
    fn the_cache_is_where_the_user_is_at_home() {
        let home = [("HOME", "/home/me")];
        let xdg = [("HOME", "/home/me"), ("XDG_CACHE_HOME", "/fast")];
        let relative = [("XDG_CACHE_HOME", "fast")];
        let named = [("HOME", "/home/me"), ("SCHEDCTL_CACHE", "/here")];
        let nearby = [("HOME", "/home/me"), ("SCHEDCTL_CACHE", "here")];
        for (user, set, folder) in [
            (User::Other, &home[..], Some("/home/me/.cache/schedctl")),
            (User::Other, &xdg, Some("/fast/schedctl")),
            (User::Other, &relative, None),
            (User::Other, &[], None),
            (User::Other, &named, Some("/here")),
            (User::Other, &nearby, Some("/home/me/.cache/schedctl")),
            (User::Root, &xdg, Some("/var/cache/schedctl")),
            (User::Root, &named, Some("/here")),
            (User::Root, &nearby, Some("/var/cache/schedctl")),
        ] {
            let expected = folder.map_or(Cache::Off, |folder| Cache::Folder(folder.into()));
            assert_eq!(read(user, set).cache, expected, "{user:?} {set:?}");
        }
    }

    #[test]
    fn proxies_are_those_that_every_tool_takes() {
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
    fn no_program_is_looked_for_where_we_happen_to_be() {
        let folders = helper_folders(Some("/usr/bin:.::bin:/bin".into()));
        assert_eq!(folders, [PathBuf::from("/usr/bin"), PathBuf::from("/bin")]);
    }

    #[test]
    fn a_word_is_one_that_the_flag_would_take() {
        let set = read(User::Root, &[("SCHEDCTL_DRIVER", "containerd")]);
        assert_eq!(set.driver, Some(DriverName::Containerd));
        let wrong = |name: &str| (name == DRIVER).then(|| OsString::from("docker"));
        let said = Environment::read(User::Root, wrong).unwrap_err();
        assert_eq!(
            said.to_string(),
            "SCHEDCTL_DRIVER is \"docker\", and can be podman, containerd"
        );
    }

    #[test]
    fn empty_is_not_set_and_text_is_text() {
        let empty = read(User::Root, &[("SCHEDCTL_CATALOG", "")]);
        assert_eq!(empty.catalog, None);
        let bytes =
            |name: &str| (name == "SCHEDCTL_CATALOG").then(|| OsString::from_vec(vec![0xff]));
        let said = Environment::read(User::Root, bytes).unwrap_err();
        assert_eq!(said, EnvironmentError::NotText("SCHEDCTL_CATALOG"));
    }
}
