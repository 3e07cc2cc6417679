//! Every setting and where it comes from, as `schedctl config` prints it. Logins and what stands
//! in a proxy's address are never shown: they may be secrets.

use std::path::Path;

use schedctl_args::args::{DriverName, LogLevel};
use schedkit_image::catalog::{Cache, Source};
use schedkit_image::foreign::printable;
use serde::Serialize;

use super::{Document, table};
use crate::request::choice::{Choice, Origin};
use crate::request::{Choices, PolicySource};

#[derive(Serialize)]
pub(crate) struct Settings {
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    /// As it is called in the settings file, where it can stand there.
    name: &'static str,
    value: Option<String>,
    /// `flag`, `environment`, `file` or `default`.
    origin: &'static str,
    /// Which variable or file.
    source: Option<String>,
}

impl From<&Choices> for Settings {
    fn from(choices: &Choices) -> Self {
        let config = &choices.config.value;
        let hosts: Vec<String> = choices.hosts.names().map(ToString::to_string).collect();
        let from_file = match config {
            Some(path) if !hosts.is_empty() => Origin::File(path.clone()),
            _ => Origin::Default,
        };
        let hosts = (!hosts.is_empty()).then(|| hosts.join(", "));
        let proxy = |set: bool| Choice {
            value: set.then(|| "set, not shown".to_owned()),
            origin: match set {
                true => Origin::Environment("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY"),
                false => Origin::Default,
            },
        };
        let proxies = &choices.proxies;
        Self {
            settings: vec![
                setting("config", &choices.config, |path| path.as_deref().map(shown)),
                setting("driver", &choices.driver, |driver| {
                    Some(driver_word(*driver))
                }),
                setting("socket", &choices.socket, |path| Some(shown(path))),
                setting("log-level", &choices.log_level, |level| {
                    Some(level_word(*level))
                }),
                setting("catalog", &choices.catalog, |source| {
                    Some(match source {
                        Source::Given(location) => location.to_string(),
                        Source::Published(url) => url.to_string(),
                    })
                }),
                setting("trust-policy", &choices.trust_policy, |policy| {
                    Some(match policy {
                        PolicySource::BuiltIn => "built-in".to_owned(),
                        PolicySource::File(path) => shown(path),
                    })
                }),
                setting("registry-config", &choices.registry_config, |path| {
                    path.as_deref().map(shown)
                }),
                setting("cache", &choices.cache, |cache| match cache {
                    Cache::Folder(path) => Some(shown(path)),
                    Cache::Off => None,
                }),
                setting("registry", &Choice::new(hosts, from_file), Clone::clone),
                setting("https-proxy", &proxy(proxies.https.is_some()), Clone::clone),
                setting("http-proxy", &proxy(proxies.http.is_some()), Clone::clone),
            ],
        }
    }
}

impl Document for Settings {
    fn text(&self) -> String {
        let row = |setting: &Setting| {
            let value = setting.value.as_deref().unwrap_or("-");
            let origin = match &setting.source {
                Some(source) => format!("{} {}", setting.origin, printable(source)),
                None => setting.origin.to_owned(),
            };
            [setting.name.to_owned(), printable(value), origin]
        };
        let rows = self.settings.iter().map(row);
        table::columns(["SETTING", "VALUE", "FROM"], rows)
    }
}

fn setting<T>(
    name: &'static str,
    choice: &Choice<T>,
    value: impl Fn(&T) -> Option<String>,
) -> Setting {
    let (origin, source) = match &choice.origin {
        Origin::Flag => ("flag", None),
        Origin::Environment(variable) => ("environment", Some((*variable).to_owned())),
        Origin::File(path) => ("file", Some(shown(path))),
        Origin::Default => ("default", None),
    };
    Setting {
        name,
        value: value(&choice.value),
        origin,
        source,
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn driver_word(driver: DriverName) -> String {
    match driver {
        DriverName::Podman => "podman".to_owned(),
        DriverName::Containerd => "containerd".to_owned(),
    }
}

fn level_word(level: LogLevel) -> String {
    let word = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    word.to_owned()
}
