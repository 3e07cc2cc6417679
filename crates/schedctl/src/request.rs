//! What a run is to do, with every choice made: a flag counts before the environment, that before
//! the settings file, that before what is usual. Pure; whoever performs it looks nothing up.

mod change;
pub(crate) mod choice;
mod choices;
mod policy;

use std::path::PathBuf;
use std::time::Duration;

use schedctl_args::args::{self, Args, LogLevel, Shell};
use schedkit_core::{SchedulerName, ops_name};
use schedkit_image::catalog::{Cache, Source, UrlError};
use schedkit_image::foreign;
use schedkit_image::registry::{self, Credentials, Limits};
use schedkit_runtime::ContainerId;

pub(crate) use change::{Demand, Ending, Logs, Start, Stop, VersionError, Wanted};
pub(crate) use choices::Choices;
pub(crate) use policy::PolicySource;

use crate::config::Config;
use crate::environment::Environment;
use crate::runtimes::{Runtimes, runtime_of};

/// A run.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) verb: Verb,
    pub(crate) settings: Settings,
}

/// What to do.
#[derive(Debug)]
pub(crate) enum Verb {
    /// A scheduler that is to run.
    Start(Box<Start>),
    /// What is on trial stays.
    Confirm,
    /// One that is to end.
    Stop(Stop),
    /// What one says.
    Logs(Logs),
    /// An image that is to be here.
    Pull(Wanted),
    /// The kernel is to let go of whatever it has; whether to ask first.
    Detach(Consent),
    /// This word's scheduler starts with the machine.
    Enable(String),
    /// None does.
    Disable,
    /// The trial of this container is stood by.
    Guard(ContainerId),
    /// The catalog's names.
    List,
    /// The tags of this word's repository.
    Versions(String),
    /// This word's image.
    Info(String),
    /// What that policy says about this word's image.
    Verify(String, PolicySource),
    /// What runs.
    Status(Telling),
    /// The containers of ours.
    Ps,
    /// Whether this machine is fit, and for this word's image, if any.
    Doctor(Option<String>),
    /// What the kernel attaches and detaches.
    Events,
    /// Until it has.
    Wait(Awaited),
    /// The settings.
    Config(Box<Choices>),
    /// A shell's script.
    Completion(Shell),
}

/// Whether somebody has agreed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    ToBeAsked,
}

/// How often to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    Once,
    /// Whenever it has changed.
    Always,
}

/// What is waited for, and how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) goal: Goal,
    /// Any, where none is named.
    pub(crate) scheduler: Option<SchedulerName>,
    pub(crate) limit: Duration,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Attached,
    Detached,
}

/// Where to find things.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) runtimes: Runtimes,
    pub(crate) log_level: LogLevel,
    pub(crate) catalog: Source,
    pub(crate) cache: Cache,
    /// For [`registry::Client`].
    pub(crate) registry: registry::ClientConfig,
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
    /// A flag that nobody would say when the machine starts.
    #[error(
        "{0} counts for this run only: put it into the settings file, which counts at the machine's start as well"
    )]
    LostAtBoot(&'static str),
    /// A version that is none.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// A name that no scheduler can have.
    #[error("{word:?} is no scheduler's name")]
    Name {
        /// What was said; brief and printable.
        word: String,
        /// What is wrong with it.
        #[source]
        source: ops_name::NameError,
    },
}

impl TryFrom<(Args, Environment, Config)> for Request {
    type Error = RequestError;

    fn try_from(
        (args, environment, config): (Args, Environment, Config),
    ) -> Result<Self, RequestError> {
        let choices = Choices::make(args.global, environment, config)?;
        let settings = Settings::of(&choices);
        let policy = |flag: Option<PathBuf>| {
            let usual = choices.trust_policy.value.clone();
            flag.map_or(usual, PolicySource::File)
        };
        let demand = |flags: &args::Wanted| Demand {
            policy: policy(flags.trust_policy.clone()),
            waiver: match flags.allow_unsigned {
                true => Some("--allow-unsigned"),
                false => choices.allow_unsigned.then_some("SCHEDCTL_ALLOW_UNSIGNED"),
            },
        };
        let verb = match args.verb {
            args::Verb::Run(args) => {
                let demand = demand(&args.start.wanted);
                Verb::Start(Box::new(Start::run(args, demand)?))
            }
            args::Verb::Switch(args) => {
                let demand = demand(&args.start.wanted);
                Verb::Start(Box::new(Start::switch(args, demand)?))
            }
            args::Verb::Confirm => Verb::Confirm,
            args::Verb::Stop(args) => Verb::Stop(args.into()),
            args::Verb::Logs(args) => Verb::Logs(args.into()),
            args::Verb::Pull(args) => {
                let demand = demand(&args);
                Verb::Pull(Wanted::of(args, demand)?)
            }
            args::Verb::Detach(args) => Verb::Detach(match args.force {
                true => Consent::Given,
                false => Consent::ToBeAsked,
            }),
            args::Verb::Enable(args) => {
                let lost = choices.lost_at_boot();
                if let Some(flag) = lost {
                    return Err(RequestError::LostAtBoot(flag));
                }
                Verb::Enable(args.image)
            }
            args::Verb::Disable => Verb::Disable,
            args::Verb::Guard(args) => Verb::Guard(change::candidate(args)),
            args::Verb::List => Verb::List,
            args::Verb::Versions(args) => Verb::Versions(args.image),
            args::Verb::Info(args) => Verb::Info(args.image),
            args::Verb::Verify(args) => Verb::Verify(args.image, policy(args.trust_policy)),
            args::Verb::Status(args) => Verb::Status(args.into()),
            args::Verb::Ps => Verb::Ps,
            args::Verb::Doctor(args) => Verb::Doctor(args.image),
            args::Verb::Events => Verb::Events,
            args::Verb::Wait(args) => Verb::Wait(args.try_into()?),
            args::Verb::Config => Verb::Config(Box::new(choices)),
            args::Verb::Completion(args) => Verb::Completion(args.shell),
        };
        Ok(Self { verb, settings })
    }
}

impl Settings {
    fn of(choices: &Choices) -> Self {
        let named = choices.registry_config.value.clone();
        let logins = named.map_or_else(|| choices.logins.clone(), Credentials::from_file);
        Self {
            runtimes: Runtimes::new(
                runtime_of(choices.driver.value),
                choices.socket.value.clone(),
            ),
            log_level: choices.log_level.value,
            catalog: choices.catalog.value.clone(),
            cache: choices.cache.value.clone(),
            registry: registry::ClientConfig {
                hosts: choices.hosts.clone(),
                credentials: logins.with_helpers(choices.helper_folders.clone()),
                proxies: choices.proxies.clone(),
                limits: Limits::default(),
            },
        }
    }
}

impl From<args::Status> for Telling {
    fn from(args: args::Status) -> Self {
        match args.watch {
            true => Self::Always,
            false => Self::Once,
        }
    }
}

impl TryFrom<args::Wait> for Awaited {
    type Error = RequestError;

    fn try_from(args: args::Wait) -> Result<Self, RequestError> {
        let name = |word: String| {
            word.parse().map_err(|source| RequestError::Name {
                word: foreign::brief(&word),
                source,
            })
        };
        Ok(Self {
            goal: match args.detached {
                true => Goal::Detached,
                false => Goal::Attached,
            },
            scheduler: args.name.map(name).transpose()?,
            limit: args.timeout,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use schedkit_image::catalog::{CatalogUrl, Location};

    use super::*;

    fn environment(catalog: Option<&str>, policy: Option<&str>) -> Environment {
        Environment {
            catalog: catalog.map(str::to_owned),
            config: None,
            registry_config: None,
            trust_policy: policy.map(PathBuf::from),
            driver: None,
            socket: None,
            log_level: None,
            allow_unsigned: false,
            cache: Cache::Off,
            cache_is_named: false,
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
            let Verb::Verify(word, used) = request.verb else {
                panic!("{:?}", request.verb);
            };
            assert_eq!((word.as_str(), used), ("x", policy));
        }
    }

    #[test]
    fn an_address_that_is_none_is_told_with_who_said_it() {
        let args = Args::try_parse_from(["schedctl", "list"]).unwrap();
        let environment = environment(Some("ftp://a/b"), None);
        let said = Request::try_from((args, environment, config(None))).unwrap_err();
        assert_eq!(said.to_string(), "SCHEDCTL_CATALOG cannot be used");
    }

    #[test]
    fn a_name_that_no_scheduler_has_is_told_before_anything_is_waited_for() {
        let args = Args::try_parse_from(["schedctl", "wait", "--attached", "a/b"]).unwrap();
        let said = Request::try_from((args, environment(None, None), config(None))).unwrap_err();
        assert_eq!(said.to_string(), "\"a/b\" is no scheduler's name");
    }
}
