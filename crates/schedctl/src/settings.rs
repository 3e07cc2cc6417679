//! Every setting and where it comes from. Precedence: flag, environment, settings file, default.
//! Resolving is pure: the two files below read the environment and the settings file.

pub(crate) mod config_file;
pub(crate) mod environment;
mod policy_source;
pub(crate) mod restrictions;
mod setting;
pub(crate) mod state;
mod trust_root;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schedctl_args::args::{Global, LogLevel};
use schedkit_image::catalog::{Cache, CatalogUrl, Location, Source, UrlError};
use schedkit_image::registry::{self, Credentials, Limits};
use schedkit_image::signature::VerdictStore;
use schedkit_runtime::driver::Runtime;

use config_file::ConfigFile;
use environment::Environment;
pub(crate) use policy_source::PolicySource;
use restrictions::Restrictions;
pub(crate) use setting::{Origin, Setting};
pub(crate) use trust_root::TrustRootSettings;

use crate::audit_log::AuditLog;
use crate::runtimes::{Endpoint, Runtimes, default_socket, driver_name};

#[derive(Debug)]
pub(crate) struct Settings {
    /// The settings file that was read, if any.
    pub(crate) config: Setting<Option<PathBuf>>,
    pub(crate) driver: Setting<Runtime>,
    pub(crate) socket: Setting<PathBuf>,
    pub(crate) log_level: Setting<LogLevel>,
    pub(crate) catalog: Setting<Source>,
    pub(crate) trust_policy: Setting<PolicySource>,
    pub(crate) trust_root: TrustRootSettings,
    /// `None`: the files that `podman login` and `docker login` write.
    pub(crate) registry_config: Setting<Option<PathBuf>>,
    pub(crate) cache: Setting<Cache>,
    /// `SCHEDCTL_ALLOW_UNSIGNED`.
    pub(crate) allow_unsigned: bool,
    pub(crate) restrictions: Restrictions,
    pub(crate) registry: registry::ClientConfig,
    pub(crate) verdicts: Option<VerdictStore>,
    pub(crate) audit: Option<AuditLog>,
    /// Variables of this run that a unit needs to have at boot, too; flags are added by
    /// [`Settings::for_boot`].
    environment: BTreeMap<String, String>,
    /// Where systemd wants to be told how a start goes.
    pub(crate) notify_socket: Option<OsString>,
}

/// `from` is the flag or the variable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{from} cannot be used")]
pub(crate) struct CatalogSettingError {
    from: &'static str,
    source: UrlError,
}

impl Settings {
    pub(crate) fn resolve(
        flags: Global,
        environment: Environment,
        file: ConfigFile,
    ) -> Result<Self, CatalogSettingError> {
        let path = file.path;
        let from_file = || path.clone().map_or(Origin::Default, Origin::File);
        let (driver, socket) = driver_and_socket(
            [flags.driver, environment.driver, file.driver],
            [flags.socket, environment.socket, file.socket],
            &from_file,
        );
        let catalog = catalog_setting(
            flags.catalog,
            environment.catalog,
            file.catalog,
            from_file(),
        )?;
        let registry_config = file_setting(
            flags.registry_config,
            ("SCHEDCTL_REGISTRY_CONFIG", environment.registry_config),
            None,
        );
        let logins = registry_config.value.clone();
        let logins = logins.map_or(environment.logins, Credentials::from_file);
        // Who has to obey rules chooses neither which images were accepted nor where it is recorded.
        let state = environment.state.filter(|_| file.restrictions.is_empty());
        Ok(Self {
            driver,
            socket,
            log_level: Setting::first(
                flags.log_level,
                ("SCHEDCTL_LOG_LEVEL", environment.log_level),
                (file.log_level, from_file()),
                LogLevel::Warn,
            ),
            catalog,
            trust_policy: trust_policy(environment.trust_policy, file.trust_policy, from_file()),
            trust_root: TrustRootSettings::resolve(
                [flags.max_root_age, environment.max_root_age],
                file.trust_root,
                file.max_root_age,
                from_file,
                state::roots(environment.user, state.as_deref()),
            ),
            registry_config,
            cache: environment.cache,
            allow_unsigned: environment.allow_unsigned,
            verdicts: state::verdicts(environment.user, state.as_deref()),
            audit: state::audit(environment.user, state.as_deref()),
            restrictions: file.restrictions,
            environment: environment.for_boot,
            notify_socket: environment.notify_socket,
            registry: registry::ClientConfig {
                hosts: file.registry,
                credentials: logins.with_helpers(environment.helper_folders),
                proxies: environment.proxies,
                limits: Limits::default(),
            },
            config: file_setting(flags.config, ("SCHEDCTL_CONFIG", environment.config), path),
        })
    }

    pub(crate) fn runtimes(&self) -> Runtimes {
        Runtimes::new(Endpoint {
            runtime: self.driver.value,
            socket: self.socket.value.clone(),
        })
    }

    /// The settings of this run that are in no file, as variables: what a unit needs to start with
    /// the same settings.
    pub(crate) fn for_boot(&self, policy: &PolicySource) -> BTreeMap<String, String> {
        let mut variables = self.environment.clone();
        let transient = |origin: &Origin| matches!(origin, Origin::Flag | Origin::Environment(_));
        // A socket that belongs to another driver is not used.
        variables.remove("SCHEDCTL_SOCKET");
        if transient(&self.driver.origin) {
            let driver = driver_name(self.driver.value).to_owned();
            variables.insert("SCHEDCTL_DRIVER".to_owned(), driver);
        }
        let socket = transient(&self.socket.origin).then_some(&self.socket.value);
        let own_policy = Some(policy).filter(|policy| **policy != self.trust_policy.value);
        let policy_file = match own_policy {
            Some(PolicySource::File(path)) => Some(path),
            Some(PolicySource::BuiltIn(built_in)) => {
                let name = built_in.name().to_owned();
                variables.insert("SCHEDCTL_TRUST_POLICY".to_owned(), name);
                None
            }
            None => None,
        };
        let max_age = self.trust_root.max_age.value;
        if let (Some(max_age), Origin::Flag) = (max_age, &self.trust_root.max_age.origin) {
            let max_age = humantime::format_duration(max_age).to_string();
            variables.insert("SCHEDCTL_MAX_ROOT_AGE".to_owned(), max_age);
        }
        for (name, path) in [
            ("SCHEDCTL_SOCKET", socket),
            ("SCHEDCTL_TRUST_POLICY", policy_file),
            ("SCHEDCTL_CONFIG", flag(&self.config)),
            ("SCHEDCTL_REGISTRY_CONFIG", flag(&self.registry_config)),
        ] {
            if let Some(path) = path.and_then(|path| absolute(path)) {
                variables.insert(name.to_owned(), path);
            }
        }
        variables
    }
}

/// A file that no settings file names.
fn file_setting(
    flag: Option<PathBuf>,
    (name, variable): (&'static str, Option<PathBuf>),
    default: Option<PathBuf>,
) -> Setting<Option<PathBuf>> {
    let variable = (name, variable.map(Some));
    Setting::first(flag.map(Some), variable, (None, Origin::Default), default)
}

fn flag(setting: &Setting<Option<PathBuf>>) -> Option<&PathBuf> {
    let path = setting.value.as_ref();
    path.filter(|_| setting.origin == Origin::Flag)
}

fn absolute(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    path.to_str().map(str::to_owned)
}

/// `--trust-policy` is an option of some commands only.
fn trust_policy(
    variable: Option<PathBuf>,
    file: Option<PathBuf>,
    from_file: Origin,
) -> Setting<PolicySource> {
    let variable = variable.map(PolicySource::from);
    Setting::first(
        None,
        ("SCHEDCTL_TRUST_POLICY", variable),
        (file.map(PolicySource::from), from_file),
        PolicySource::default(),
    )
}

/// A value that is not used is not parsed.
fn catalog_setting(
    flag: Option<String>,
    variable: Option<String>,
    file: Option<Location>,
    from_file: Origin,
) -> Result<Setting<Source>, CatalogSettingError> {
    const FLAG: &str = "--catalog";
    const VARIABLE: &str = "SCHEDCTL_CATALOG";
    let catalog = Setting::first(
        flag.map(|text| catalog_source(FLAG, &text)),
        (
            VARIABLE,
            variable.map(|text| catalog_source(VARIABLE, &text)),
        ),
        (file.map(|location| Ok(Source::Given(location))), from_file),
        Ok(Source::Published(CatalogUrl::published())),
    );
    Ok(Setting::new(catalog.value?, catalog.origin))
}

fn catalog_source(from: &'static str, text: &str) -> Result<Source, CatalogSettingError> {
    let location = text.parse::<Location>();
    let source = location.map(Source::Given);
    source.map_err(|source| CatalogSettingError { from, source })
}

/// Each list holds the values of flag, environment and file.
///
/// A socket belongs to the driver that is effective at its own level. If a higher level selects
/// another driver, the socket is ignored: `-d containerd` must not connect to Podman's socket.
fn driver_and_socket(
    drivers: [Option<Runtime>; 3],
    sockets: [Option<PathBuf>; 3],
    from_file: &dyn Fn() -> Origin,
) -> (Setting<Runtime>, Setting<PathBuf>) {
    let file_driver = drivers[2].unwrap_or(Runtime::Podman);
    let environment_driver = drivers[1].unwrap_or(file_driver);
    let driver = Setting::first(
        drivers[0],
        ("SCHEDCTL_DRIVER", drivers[1]),
        (drivers[2], from_file()),
        Runtime::Podman,
    );
    let [flag, environment, file] = sockets;
    let socket = Setting::first(
        flag,
        (
            "SCHEDCTL_SOCKET",
            environment.filter(|_| environment_driver == driver.value),
        ),
        (file.filter(|_| file_driver == driver.value), from_file()),
        default_socket(driver.value),
    );
    (driver, socket)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schedkit_image::trust::BuiltIn;

    use super::*;

    #[test]
    fn a_built_in_policy_is_named_like_a_file() {
        for built_in in BuiltIn::ALL {
            let source = PolicySource::from(PathBuf::from(built_in.name()));
            assert_eq!(source, PolicySource::BuiltIn(built_in));
            assert_eq!(source.as_path(), Path::new(built_in.name()));
        }
        // It is an error when it is read.
        let unknown = PathBuf::from("builtin:x");
        assert_eq!(
            PolicySource::from(unknown.clone()),
            PolicySource::File(unknown)
        );
    }

    #[test]
    fn a_socket_is_used_only_with_the_driver_of_its_level() {
        use Runtime::{Containerd, Podman};
        for (drivers, sockets, expected) in [
            ([None, None, None], [None, None, Some("f")], Some("f")),
            (
                [Some(Containerd), None, None],
                [None, None, Some("f")],
                None,
            ),
            (
                [Some(Podman), None, None],
                [None, None, Some("f")],
                Some("f"),
            ),
            (
                [Some(Containerd), None, Some(Containerd)],
                [None, None, Some("f")],
                Some("f"),
            ),
            (
                [None, Some(Containerd), None],
                [None, Some("e"), Some("f")],
                Some("e"),
            ),
            (
                [None, Some(Containerd), None],
                [None, None, Some("f")],
                None,
            ),
            (
                [Some(Podman), Some(Containerd), None],
                [None, Some("e"), Some("f")],
                Some("f"),
            ),
            (
                [Some(Containerd), None, None],
                [Some("g"), Some("e"), Some("f")],
                Some("g"),
            ),
        ] {
            let paths = sockets.map(|path| path.map(PathBuf::from));
            let (driver, socket) = driver_and_socket(drivers, paths, &|| Origin::Default);
            let default = default_socket(driver.value);
            let expected = expected.map_or(default.as_path(), Path::new);
            assert_eq!(socket.value, expected, "{drivers:?} {sockets:?}");
        }
    }
}
