//! Every setting with who decided it, from the three that may speak. `Request` is made from it,
//! and `schedctl config` shows it. Pure.

use std::path::PathBuf;

use schedctl_args::args::{DriverName, Global, LogLevel};
use schedkit_image::catalog::{Cache, CatalogUrl, Location, Source};
use schedkit_image::registry::{Credentials, Hosts, Proxies};

use super::RequestError;
use super::choice::{Choice, Origin, Said};
use super::policy::PolicySource;
use crate::config::Config;
use crate::environment::Environment;
use crate::runtimes::{runtime_of, usual_socket};

/// All of them.
#[derive(Debug)]
pub(crate) struct Choices {
    /// The settings file that was read, if any.
    pub(crate) config: Choice<Option<PathBuf>>,
    pub(crate) driver: Choice<DriverName>,
    pub(crate) socket: Choice<PathBuf>,
    pub(crate) log_level: Choice<LogLevel>,
    pub(crate) catalog: Choice<Source>,
    pub(crate) trust_policy: Choice<PolicySource>,
    /// Nothing: the files that `podman login` and `docker login` write.
    pub(crate) registry_config: Choice<Option<PathBuf>>,
    pub(crate) cache: Choice<Cache>,
    /// Whether `SCHEDCTL_ALLOW_UNSIGNED` says so.
    pub(crate) allow_unsigned: bool,
    pub(crate) hosts: Hosts,
    pub(crate) proxies: Proxies,
    /// Logins by custom, for when no file is named.
    pub(super) logins: Credentials,
    pub(super) helper_folders: Vec<PathBuf>,
}

impl Choices {
    /// A setting of this run that the machine's start would not know of.
    pub(super) fn lost_at_boot(&self) -> Option<&'static str> {
        let passing = |origin: &Origin| matches!(origin, Origin::Flag | Origin::Environment(_));
        [
            (passing(&self.driver.origin), "--driver"),
            (passing(&self.socket.origin), "--socket"),
            (passing(&self.catalog.origin), "--catalog"),
            (passing(&self.config.origin), "--config"),
            (passing(&self.registry_config.origin), "--registry-config"),
            (passing(&self.trust_policy.origin), "the trust policy"),
        ]
        .into_iter()
        .find_map(|(passing, flag)| passing.then_some(flag))
    }

    /// Makes every choice.
    pub(super) fn make(
        global: Global,
        environment: Environment,
        config: Config,
    ) -> Result<Self, RequestError> {
        let file = config.path.clone();
        let file = file.as_deref();
        let driver = Said {
            flag: global.driver,
            environment: ("SCHEDCTL_DRIVER", environment.driver),
            file: config.driver,
        };
        let socket = Said {
            flag: global.socket,
            environment: ("SCHEDCTL_SOCKET", environment.socket),
            file: config.socket,
        };
        let (driver, socket) = agreeing(driver, socket);
        let driver = driver.or(file, DriverName::Podman);
        let log_level = Said {
            flag: global.log_level,
            environment: ("SCHEDCTL_LOG_LEVEL", environment.log_level),
            file: config.log_level,
        };
        let catalog = Said {
            flag: global.catalog.map(|text| read("--catalog", &text)),
            environment: (
                "SCHEDCTL_CATALOG",
                environment
                    .catalog
                    .map(|text| read("SCHEDCTL_CATALOG", &text)),
            ),
            file: config.catalog.map(Ok),
        };
        let catalog = catalog.map(|location| location.map(Source::Given));
        let catalog = catalog.or(file, Ok(Source::Published(CatalogUrl::published())));
        let trust_policy = Said {
            flag: None,
            environment: ("SCHEDCTL_TRUST_POLICY", environment.trust_policy),
            file: config.trust_policy,
        };
        let registry_config = Said {
            flag: global.registry_config,
            environment: ("SCHEDCTL_REGISTRY_CONFIG", environment.registry_config),
            file: None,
        };
        let named = Said {
            flag: global.config,
            environment: ("SCHEDCTL_CONFIG", environment.config),
            file: None,
        };
        let cache = match environment.cache_is_named {
            true => Origin::Environment("SCHEDCTL_CACHE"),
            false => Origin::Default,
        };
        Ok(Self {
            socket: socket.or(file, usual_socket(runtime_of(driver.value))),
            driver,
            log_level: log_level.or(file, LogLevel::Warn),
            catalog: Choice::new(catalog.value?, catalog.origin),
            trust_policy: trust_policy
                .map(PolicySource::File)
                .or(file, PolicySource::BuiltIn),
            registry_config: registry_config.map(Some).or(file, None),
            config: named.map(Some).or(None, file.map(PathBuf::from)),
            cache: Choice::new(environment.cache, cache),
            allow_unsigned: environment.allow_unsigned,
            hosts: config.registry,
            proxies: environment.proxies,
            logins: environment.logins,
            helper_folders: environment.helper_folders,
        })
    }
}

/// A socket was meant for the driver that counts where it was said. A stronger word that names
/// another driver takes it away: `-d containerd` must not knock at Podman's door.
fn agreeing(
    driver: Said<DriverName>,
    mut socket: Said<PathBuf>,
) -> (Said<DriverName>, Said<PathBuf>) {
    let for_file = driver.file.unwrap_or(DriverName::Podman);
    let for_environment = driver.environment.1.unwrap_or(for_file);
    let chosen = driver.flag.unwrap_or(for_environment);
    if for_environment != chosen {
        socket.environment.1 = None;
    }
    if for_file != chosen {
        socket.file = None;
    }
    (driver, socket)
}

fn read(from: &'static str, text: &str) -> Result<Location, RequestError> {
    let location = text.parse();
    location.map_err(|source| RequestError::Catalog { from, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_goes_with_the_driver_that_it_was_said_for() {
        use DriverName::{Containerd, Podman};
        for (drivers, sockets, expected) in [
            ((None, None, None), (None, None, Some("f")), Some("f")),
            (
                (Some(Containerd), None, None),
                (None, None, Some("f")),
                None,
            ),
            (
                (Some(Podman), None, None),
                (None, None, Some("f")),
                Some("f"),
            ),
            (
                (Some(Containerd), None, Some(Containerd)),
                (None, None, Some("f")),
                Some("f"),
            ),
            (
                (None, Some(Containerd), None),
                (None, Some("e"), Some("f")),
                Some("e"),
            ),
            (
                (None, Some(Containerd), None),
                (None, None, Some("f")),
                None,
            ),
            (
                (Some(Podman), Some(Containerd), None),
                (None, Some("e"), Some("f")),
                Some("f"),
            ),
            (
                (Some(Containerd), None, None),
                (Some("g"), Some("e"), Some("f")),
                Some("g"),
            ),
        ] {
            let driver = Said {
                flag: drivers.0,
                environment: ("D", drivers.1),
                file: drivers.2,
            };
            let path = |text: Option<&str>| text.map(PathBuf::from);
            let socket = Said {
                flag: path(sockets.0),
                environment: ("S", path(sockets.1)),
                file: path(sockets.2),
            };
            let (_, socket) = agreeing(driver, socket);
            let chosen = socket.or(None, PathBuf::from("usual")).value;
            let expected = PathBuf::from(expected.unwrap_or("usual"));
            assert_eq!(chosen, expected, "{drivers:?} {sockets:?}");
        }
    }
}
