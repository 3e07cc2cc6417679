//! What this run of schedctl is to do, with all settings resolved. Pure: whoever performs it reads
//! neither arguments nor the environment.

mod start;

use std::path::PathBuf;
use std::time::Duration;

use schedctl_args::args::{self, Args, Shell};
use schedkit_core::{SchedulerName, ops_name};
use schedkit_image::trust::{Mirror, MirrorUrlError};
use schedkit_image::untrusted;
use schedkit_runtime::ContainerId;

pub(crate) use start::{
    AfterEnable, AfterStart, EnableRequest, ImageRequest, LineSelection, LogsRequest, StartRequest,
    StopRequest, Times, TrustRequirement, VersionError,
};

use crate::enabled::EnabledScheduler;
use crate::settings::config_file::ConfigFile;
use crate::settings::environment::Environment;
use crate::settings::restrictions::ForbiddenHere;
use crate::settings::{CatalogSettingError, PolicySource, Settings};

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) command: Command,
    pub(crate) settings: Settings,
}

#[derive(Debug)]
pub(crate) enum Command {
    /// `run` and `switch`.
    Start(Box<StartRequest>),
    Confirm,
    Stop(StopRequest),
    Logs(LogsRequest),
    Pull(Box<ImageRequest>),
    Detach(Consent),
    Enable(Box<EnableRequest>),
    Disable(DisableMode),
    /// The container that is on trial.
    Guard(ContainerId),
    List,
    Versions(String),
    Info(String),
    Verify(String, PolicySource),
    CheckPolicy(PolicySource),
    /// For an image.
    ExplainPolicy(String, PolicySource),
    ShowTrust,
    /// From this mirror, if it is not that of the settings.
    UpdateTrust(Option<Mirror>),
    Images,
    Prune(PruneMode),
    Status(StatusMode),
    Ps(PsFormat),
    /// The image to check, too.
    Doctor(Option<String>),
    Events,
    Wait(WaitCondition),
    Config,
    Completion(Shell),
    /// The words of a command line.
    Complete(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Ask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisableMode {
    AtBoot,
    /// Also stop it.
    Now,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusMode {
    Once,
    /// Again whenever it changes.
    Watch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PruneMode {
    /// Nothing is removed: print what would be.
    DryRun,
    Remove(Consent),
}

/// What `ps` prints as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PsFormat {
    Table,
    Ids,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WaitCondition {
    pub(crate) goal: WaitGoal,
    /// `None`: any scheduler.
    pub(crate) scheduler: Option<SchedulerName>,
    pub(crate) timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitGoal {
    Attached,
    Detached,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    #[error(transparent)]
    Catalog(#[from] CatalogSettingError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error(transparent)]
    Forbidden(#[from] ForbiddenHere),
    #[error("--mirror cannot be used")]
    Mirror(#[source] MirrorUrlError),
    /// The name is short and printable.
    #[error("{name:?} is not a scheduler's name")]
    Name {
        name: String,
        source: ops_name::NameError,
    },
}

impl Request {
    pub(crate) fn new(
        args: Args,
        environment: Environment,
        file: ConfigFile,
        enabled: Option<EnabledScheduler>,
    ) -> Result<Self, RequestError> {
        let settings = Settings::resolve(args.global, environment, file)?;
        let command = Command::new(args.command, &settings, enabled)?;
        Ok(Self { command, settings })
    }
}

impl Command {
    /// `enabled` is what `schedctl enable` kept for this `run --enabled`.
    fn new(
        command: args::Command,
        settings: &Settings,
        enabled: Option<EnabledScheduler>,
    ) -> Result<Self, RequestError> {
        let policy = |flag: Option<PathBuf>| {
            let default = || settings.trust_policy.value.clone();
            flag.map_or_else(default, PolicySource::from)
        };
        let trust = |flags: &args::ImageToRun| TrustRequirement {
            policy: policy(flags.trust_policy.clone()),
            waiver: match flags.allow_unsigned {
                true => Some("--allow-unsigned"),
                false => settings.allow_unsigned.then_some("SCHEDCTL_ALLOW_UNSIGNED"),
            },
        };
        let permit = |trust: &TrustRequirement| {
            let restrictions = &settings.restrictions;
            restrictions.check(&trust.policy, trust.waiver)
        };
        Ok(match command {
            args::Command::Run(args) => {
                let trust = trust(&args.start.image);
                let start = StartRequest::run(args, trust, enabled)?;
                permit(&start.image.trust)?;
                Self::Start(Box::new(start))
            }
            args::Command::Switch(args) => {
                let trust = trust(&args.start.image);
                permit(&trust)?;
                Self::Start(Box::new(StartRequest::switch(args, trust)?))
            }
            args::Command::Confirm => Self::Confirm,
            args::Command::Stop(args) => Self::Stop(args.into()),
            args::Command::Logs(args) => Self::Logs(args.into()),
            args::Command::Pull(args) => {
                let trust = trust(&args);
                permit(&trust)?;
                Self::Pull(Box::new(ImageRequest::new(args, trust)?))
            }
            args::Command::Detach(args) => Self::Detach(match args.force {
                true => Consent::Given,
                false => Consent::Ask,
            }),
            args::Command::Enable(args) => {
                let trust = trust(&args.image);
                permit(&trust)?;
                Self::Enable(Box::new(EnableRequest::new(args, trust)?))
            }
            args::Command::Disable(args) => Self::Disable(match args.now {
                true => DisableMode::Now,
                false => DisableMode::AtBoot,
            }),
            args::Command::Guard(args) => Self::Guard(ContainerId::new(args.candidate)),
            args::Command::List => Self::List,
            args::Command::Versions(args) => Self::Versions(args.image),
            args::Command::Info(args) => Self::Info(args.image),
            args::Command::Verify(args) => Self::Verify(args.image, policy(args.trust_policy)),
            args::Command::Policy(args) => match args.command {
                args::PolicyCommand::Check(args) => Self::CheckPolicy(args.policy.into()),
                args::PolicyCommand::Explain(args) => {
                    Self::ExplainPolicy(args.image, policy(args.trust_policy))
                }
            },
            args::Command::Trust(args) => args.command.try_into()?,
            args::Command::Images => Self::Images,
            args::Command::Prune(args) => Self::Prune(match (args.dry_run, args.force) {
                (true, _) => PruneMode::DryRun,
                (false, true) => PruneMode::Remove(Consent::Given),
                (false, false) => PruneMode::Remove(Consent::Ask),
            }),
            args::Command::Status(args) => Self::Status(match args.watch {
                true => StatusMode::Watch,
                false => StatusMode::Once,
            }),
            args::Command::Ps(args) => Self::Ps(match args.quiet {
                true => PsFormat::Ids,
                false => PsFormat::Table,
            }),
            args::Command::Doctor(args) => Self::Doctor(args.image),
            args::Command::Events => Self::Events,
            args::Command::Wait(args) => Self::Wait(args.try_into()?),
            args::Command::Config => Self::Config,
            args::Command::Completion(args) => Self::Completion(args.shell),
            args::Command::Complete(args) => Self::Complete(args.words),
        })
    }
}

impl TryFrom<args::TrustCommand> for Command {
    type Error = RequestError;

    fn try_from(args: args::TrustCommand) -> Result<Self, RequestError> {
        Ok(match args {
            args::TrustCommand::Status => Self::ShowTrust,
            args::TrustCommand::Update(args) => {
                let mirror = args.mirror.map(|text| text.parse());
                Self::UpdateTrust(mirror.transpose().map_err(RequestError::Mirror)?)
            }
        })
    }
}

impl TryFrom<args::Wait> for WaitCondition {
    type Error = RequestError;

    fn try_from(args: args::Wait) -> Result<Self, RequestError> {
        let name = |name: String| {
            name.parse().map_err(|source| RequestError::Name {
                name: untrusted::brief(&name),
                source,
            })
        };
        Ok(Self {
            goal: match args.detached {
                true => WaitGoal::Detached,
                false => WaitGoal::Attached,
            },
            scheduler: args.name.map(name).transpose()?,
            timeout: args.timeout,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;
    use schedkit_image::catalog::{Cache, CatalogUrl, Location, Source};
    use schedkit_image::registry::{Credentials, Proxies};

    use super::*;
    use crate::settings::{Origin, Setting};

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
            cache: Setting::new(Cache::Off, Origin::Default),
            logins: Credentials::none(),
            helper_folders: Vec::new(),
            proxies: Proxies::default(),
            verdicts: None,
            max_root_age: None,
            roots: None,
            audit: None,
            for_boot: BTreeMap::new(),
            notify_socket: None,
        }
    }

    fn config(path: Option<&str>) -> ConfigFile {
        ConfigFile {
            catalog: path.map(|path| Location::File(path.into())),
            trust_policy: path.map(PathBuf::from),
            ..ConfigFile::default()
        }
    }

    fn request(flags: &str, environment: Environment, config: ConfigFile) -> Request {
        let line = format!("schedctl verify x {flags}");
        let args = Args::try_parse_from(line.split_whitespace()).unwrap();
        Request::new(args, environment, config, None).unwrap()
    }

    #[test]
    fn precedence_is_flag_environment_file_default() {
        let both = "--catalog flag --trust-policy flag";
        for (flags, variable, file, winner) in [
            (both, Some("variable"), Some("file"), Some("flag")),
            ("", Some("variable"), Some("file"), Some("variable")),
            ("", None, Some("file"), Some("file")),
            ("", None, None, None),
        ] {
            let request = request(flags, environment(variable, variable), config(file));
            let source = match winner {
                Some(path) => Source::Given(Location::File(path.into())),
                None => Source::Published(CatalogUrl::published()),
            };
            assert_eq!(request.settings.catalog.value, source);
            let path = winner.map(PathBuf::from);
            let policy = path.map_or_else(PolicySource::default, PolicySource::File);
            let Command::Verify(name, used) = request.command else {
                panic!("{:?}", request.command);
            };
            assert_eq!((name.as_str(), used), ("x", policy));
        }
    }

    fn enabled(allow_unsigned: bool) -> EnabledScheduler {
        let reference: schedkit_core::ImageRef = "a.example/team/one:1.0".parse().unwrap();
        let digest = format!("sha256:{}", "a".repeat(64)).parse().unwrap();
        EnabledScheduler {
            scheduler: "scx_one".to_owned(),
            image: schedkit_core::PinnedRef::new(reference.repository().clone(), digest),
            reference,
            args: vec!["--fast".to_owned()],
            allow_unsigned,
            environment: BTreeMap::new(),
        }
    }

    #[test]
    fn a_unit_starts_what_was_enabled() {
        let start = |line: &str, enabled| {
            let args = Args::try_parse_from(line.split(' ')).unwrap();
            let request = Request::new(args, environment(None, None), config(None), enabled);
            let Command::Start(start) = request.unwrap().command else {
                panic!("{line}");
            };
            start
        };
        let unit = "schedctl run --attach --enabled scx_one";
        let plain = start(unit, None);
        assert!(plain.image.enabled.is_none());
        assert_eq!(plain.pull, args::PullPolicy::Always);

        let kept = start(unit, Some(enabled(true)));
        let image = kept.image.enabled.as_ref().unwrap();
        assert_eq!(
            (&image.pin, &image.reference),
            (&enabled(true).image, &enabled(true).reference)
        );
        assert_eq!(kept.args, ["--fast"]);
        assert_eq!(kept.pull, args::PullPolicy::Missing);
        assert!(kept.image.trust.waiver.is_some());
        assert!(
            start(unit, Some(enabled(false)))
                .image
                .trust
                .waiver
                .is_none()
        );

        // The waiver is for the image that was enabled.
        let other = start(&format!("{unit} --version 2.0"), Some(enabled(true)));
        assert!(other.image.enabled.is_none());
        assert_eq!(other.image.trust.waiver, None);

        let edited = format!("{unit} --pull never -- --slow");
        let edited = start(&edited, Some(enabled(false)));
        assert_eq!(edited.args, ["--slow"]);
        assert_eq!(edited.pull, args::PullPolicy::Never);
    }

    #[test]
    fn what_is_forbidden_is_refused_before_anything_is_asked() {
        let file = || ConfigFile {
            restrictions: ConfigFile::parse("forbid = [\"allow-unsigned\", \"trust-policy\"]")
                .unwrap()
                .own_restrictions(),
            ..ConfigFile::default()
        };
        let result = |line: &str, environment, enabled| {
            let args = Args::try_parse_from(line.split(' ')).unwrap();
            Request::new(args, environment, file(), enabled).map(|_| ())
        };
        let plain = || environment(None, None);
        for command in ["run", "switch", "pull", "enable"] {
            let line = format!("schedctl {command} scx_a");
            assert_eq!(result(&line, plain(), None), Ok(()));
            for flags in ["--allow-unsigned", "--trust-policy /t.yaml"] {
                let refused = result(&format!("{line} {flags}"), plain(), None);
                let is_it = matches!(refused, Err(RequestError::Forbidden(_)));
                assert!(is_it, "{line} {flags}: {refused:?}");
            }
            let mut unsigned = plain();
            unsigned.allow_unsigned = true;
            result(&line, unsigned, None).unwrap_err();
            result(&line, environment(None, Some("/t.yaml")), None).unwrap_err();
        }
        // A unit that was enabled before this was forbidden.
        let unit = "schedctl run --attach --enabled scx_one";
        result(unit, plain(), Some(enabled(true))).unwrap_err();
        assert_eq!(result(unit, plain(), Some(enabled(false))), Ok(()));
        // It starts nothing.
        assert_eq!(
            result("schedctl verify x --trust-policy /t.yaml", plain(), None),
            Ok(())
        );
    }

    #[test]
    fn the_settings_of_enable_are_kept_as_variables() {
        let mut environment = environment(None, None);
        environment.socket = Some("/p.sock".into());
        environment.for_boot = BTreeMap::from([
            ("SCHEDCTL_SOCKET".to_owned(), "/p.sock".to_owned()),
            ("HTTPS_PROXY".to_owned(), "http://p:1".to_owned()),
        ]);
        let line =
            "schedctl enable x -d containerd --trust-policy /t.yaml --registry-config a.json";
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        let file = config(Some("/file"));
        let request = Request::new(args, environment, file, None).unwrap();
        let Command::Enable(enable) = &request.command else {
            panic!("{:?}", request.command);
        };
        let kept = request.settings.for_boot(&enable.image.trust.policy);
        let here = std::env::current_dir().unwrap().join("a.json");
        let expected = [
            ("HTTPS_PROXY", "http://p:1"),
            ("SCHEDCTL_DRIVER", "containerd"),
            ("SCHEDCTL_REGISTRY_CONFIG", here.to_str().unwrap()),
            ("SCHEDCTL_TRUST_POLICY", "/t.yaml"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(kept, BTreeMap::from(expected));
    }

    #[test]
    fn an_invalid_catalog_is_reported_with_its_origin() {
        let args = Args::try_parse_from(["schedctl", "list"]).unwrap();
        let environment = environment(Some("ftp://a/b"), None);
        let error = Request::new(args, environment, config(None), None).unwrap_err();
        assert_eq!(error.to_string(), "SCHEDCTL_CATALOG cannot be used");
    }

    #[test]
    fn an_invalid_scheduler_name_is_an_error_before_waiting() {
        let args = Args::try_parse_from(["schedctl", "wait", "--attached", "a/b"]).unwrap();
        let error = Request::new(args, environment(None, None), config(None), None).unwrap_err();
        assert_eq!(error.to_string(), "\"a/b\" is not a scheduler's name");
    }
}
