//! What a run is to do, with every choice made: a flag counts before the environment, that before
//! the settings file, that before what is usual. Pure; whoever performs it looks nothing up.

use std::path::PathBuf;

use schedkit_image::catalog::{Cache, CatalogUrl, Location, Source, UrlError};
use schedkit_image::registry::{self, Credentials, Limits};

use crate::args::{self, Args};
use crate::config::Config;
use crate::environment::Environment;

/// A run.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) verb: Verb,
    pub(crate) settings: Settings,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// The catalog's names.
    List,
    /// The tags of this word's repository.
    Versions(String),
    /// This word's image.
    Info(String),
    /// What that policy says about this word's image.
    Verify(String, PolicySource),
}

/// Where to find things.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) catalog: Source,
    pub(crate) cache: Cache,
    /// For [`registry::Client`].
    pub(crate) registry: registry::Settings,
}

/// Which trust policy counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicySource {
    /// The project's own.
    BuiltIn,
    /// This file's.
    File(PathBuf),
}

/// Why the words make no request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    /// A catalog that is neither file nor address.
    #[error("{from} cannot be used")]
    Catalog {
        /// Who said so.
        from: &'static str,
        /// Why.
        #[source]
        source: UrlError,
    },
}

impl TryFrom<(Args, Environment, Config)> for Request {
    type Error = RequestError;

    fn try_from(
        (args, environment, config): (Args, Environment, Config),
    ) -> Result<Self, RequestError> {
        let global = args.global;
        let policy = |flag: Option<PathBuf>| {
            flag.or(environment.trust_policy)
                .or(config.trust_policy)
                .map_or(PolicySource::BuiltIn, PolicySource::File)
        };
        let verb = match args.verb {
            args::Verb::List => Verb::List,
            args::Verb::Versions { image } => Verb::Versions(image),
            args::Verb::Info { image } => Verb::Info(image),
            args::Verb::Verify {
                image,
                trust_policy,
            } => Verb::Verify(image, policy(trust_policy)),
        };
        let logins = global
            .registry_config
            .or(environment.registry_config)
            .map_or(environment.logins, Credentials::from_file);
        let settings = Settings {
            catalog: catalog(global.catalog, environment.catalog, config.catalog)?,
            cache: environment.cache,
            registry: registry::Settings {
                hosts: config.registry,
                credentials: logins.with_helpers(environment.helper_folders),
                proxies: environment.proxies,
                limits: Limits::default(),
            },
        };
        Ok(Self { verb, settings })
    }
}

fn catalog(
    flag: Option<String>,
    environment: Option<String>,
    config: Option<Location>,
) -> Result<Source, RequestError> {
    let flag = flag.map(|text| ("--catalog", text));
    let environment = environment.map(|text| ("SCHEDCTL_CATALOG", text));
    let said = match flag.or(environment) {
        Some((from, text)) => {
            let location = text.parse();
            Some(location.map_err(|source| RequestError::Catalog { from, source })?)
        }
        None => config,
    };
    Ok(said.map_or_else(|| Source::Published(CatalogUrl::published()), Source::Given))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn environment(catalog: Option<&str>, policy: Option<&str>) -> Environment {
        Environment {
            catalog: catalog.map(str::to_owned),
            config: None,
            registry_config: None,
            trust_policy: policy.map(PathBuf::from),
            cache: Cache::Off,
            logins: Credentials::none(),
            helper_folders: Vec::new(),
            proxies: registry::Proxies::default(),
        }
    }

    fn config(path: Option<&str>) -> Config {
        Config {
            catalog: path.map(|path| Location::File(path.into())),
            trust_policy: path.map(PathBuf::from),
            ..Config::default()
        }
    }

    fn request(words: &str, environment: Environment, config: Config) -> Request {
        let words = format!("schedctl verify x {words}");
        let args = Args::try_parse_from(words.split_whitespace()).unwrap();
        Request::try_from((args, environment, config)).unwrap()
    }

    #[test]
    fn a_flag_beats_the_environment_and_that_the_file() {
        let flags = "--catalog flag --trust-policy flag";
        for (words, variable, file, winner) in [
            (flags, Some("variable"), Some("file"), Some("flag")),
            ("", Some("variable"), Some("file"), Some("variable")),
            ("", None, Some("file"), Some("file")),
            ("", None, None, None),
        ] {
            let request = request(words, environment(variable, variable), config(file));
            let source = match winner {
                Some(path) => Source::Given(Location::File(path.into())),
                None => Source::Published(CatalogUrl::published()),
            };
            assert_eq!(request.settings.catalog, source);
            let path = winner.map(PathBuf::from);
            let policy = path.map_or(PolicySource::BuiltIn, PolicySource::File);
            assert_eq!(request.verb, Verb::Verify("x".to_owned(), policy));
        }
    }

    #[test]
    fn an_address_that_is_none_is_told_with_who_said_it() {
        let args = Args::try_parse_from(["schedctl", "list"]).unwrap();
        let environment = environment(Some("ftp://a/b"), None);
        let said = Request::try_from((args, environment, config(None))).unwrap_err();
        assert_eq!(said.to_string(), "SCHEDCTL_CATALOG cannot be used");
    }
}
