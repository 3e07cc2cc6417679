//! Every setting and its origin, as `schedctl config` prints them. Credentials and the addresses of
//! proxies are never shown: they may contain secrets.

use std::path::Path;

use schedkit_image::catalog::{Cache, Source};
use schedkit_image::untrusted::printable;
use serde::Serialize;

use super::document::{Document, json_name};
use super::table;
use crate::settings::restrictions::MACHINE_FILE;
use crate::settings::{Origin, PolicySource, Setting, Settings};

#[derive(Serialize)]
pub(crate) struct SettingsTable {
    settings: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    /// The key in the settings file, if it has one.
    name: &'static str,
    value: Option<String>,
    /// `flag`, `environment`, `file` or `default`.
    origin: &'static str,
    /// Which variable or file.
    source: Option<String>,
}

impl From<&Settings> for SettingsTable {
    fn from(settings: &Settings) -> Self {
        let hosts = settings.registry.hosts.names();
        let hosts: Vec<String> = hosts.map(ToString::to_string).collect();
        let hosts = (!hosts.is_empty()).then(|| hosts.join(", "));
        let hosts_origin = match &settings.config.value {
            Some(path) if hosts.is_some() => Origin::File(path.clone()),
            _ => Origin::Default,
        };
        let proxy = |name, is_set: bool| {
            let value = is_set.then(|| "set, not shown".to_owned());
            let origin = match is_set {
                true => Origin::Environment("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY"),
                false => Origin::Default,
            };
            entry(name, &Setting::new(value, origin), Clone::clone)
        };
        let forbidden = Setting::new(
            settings.restrictions.clone(),
            match settings.restrictions.is_empty() {
                true => Origin::Default,
                false => Origin::File(MACHINE_FILE.into()),
            },
        );
        let proxies = &settings.registry.proxies;
        Self {
            settings: vec![
                entry("config", &settings.config, |path| path.as_deref().map(text)),
                entry("driver", &settings.driver, |driver| Some(json_name(driver))),
                entry("socket", &settings.socket, |path| Some(text(path))),
                entry("log-level", &settings.log_level, |level| {
                    Some(json_name(level))
                }),
                entry("catalog", &settings.catalog, |source| {
                    Some(match source {
                        Source::Given(location) => location.to_string(),
                        Source::Published(url) => url.to_string(),
                    })
                }),
                entry("trust-policy", &settings.trust_policy, |policy| {
                    Some(match policy {
                        PolicySource::BuiltIn(built_in) => built_in.to_string(),
                        PolicySource::File(path) => text(path),
                    })
                }),
                entry("trust-root.mirror", &settings.trust_root.mirror, |mirror| {
                    mirror.as_ref().map(ToString::to_string)
                }),
                entry(
                    "trust-root.tuf-root",
                    &settings.trust_root.tuf_root,
                    |root| root.as_ref().map(|root| text(&root.path)),
                ),
                entry("trust-root.max-age", &settings.trust_root.max_age, |age| {
                    age.map(|age| humantime::format_duration(age).to_string())
                }),
                entry("forbid", &forbidden, |forbidden| {
                    (!forbidden.is_empty()).then(|| forbidden.to_string())
                }),
                entry("registry-config", &settings.registry_config, |path| {
                    path.as_deref().map(text)
                }),
                entry("cache", &settings.cache, |cache| match cache {
                    Cache::Folder(path) => Some(text(path)),
                    Cache::Off => None,
                }),
                entry("registry", &Setting::new(hosts, hosts_origin), Clone::clone),
                proxy("https-proxy", proxies.https.is_some()),
                proxy("http-proxy", proxies.http.is_some()),
            ],
        }
    }
}

impl Document for SettingsTable {
    fn text(&self) -> String {
        let row = |entry: &Entry| {
            let value = entry.value.as_deref().unwrap_or("-");
            let origin = match &entry.source {
                Some(source) => format!("{} {}", entry.origin, printable(source)),
                None => entry.origin.to_owned(),
            };
            [entry.name.to_owned(), printable(value), origin]
        };
        let rows = self.settings.iter().map(row);
        table::columns(["SETTING", "VALUE", "FROM"], rows)
    }
}

fn entry<T>(
    name: &'static str,
    setting: &Setting<T>,
    value: impl Fn(&T) -> Option<String>,
) -> Entry {
    let (origin, source) = match &setting.origin {
        Origin::Flag => ("flag", None),
        Origin::Environment(variable) => ("environment", Some((*variable).to_owned())),
        Origin::File(path) => ("file", Some(text(path))),
        Origin::Default => ("default", None),
    };
    Entry {
        name,
        value: value(&setting.value),
        origin,
        source,
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
