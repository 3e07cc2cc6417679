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
    #[error("--mirror cannot be used")]
    Mirror(#[source] MirrorUrlError),
    #[error("{refusal}")]
    Forbidden {
        /// The image, as it was asked for, if the attempt is to be recorded: a dry run is not.
        asked: Option<String>,
        refusal: ForbiddenHere,
    },
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
        if let Some(image) = command.image_to_fetch() {
            let TrustRequirement { policy, waiver } = &image.trust;
            let checked = settings.restrictions.check(policy, *waiver);
            checked.map_err(|refusal| RequestError::Forbidden {
                asked: (!command.is_dry_run()).then(|| image.name_or_reference.clone()),
                refusal,
            })?;
        }
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
        Ok(match command {
            args::Command::Run(args) => {
                let trust = trust(&args.start.image);
                Self::Start(Box::new(StartRequest::run(args, trust, enabled)?))
            }
            args::Command::Switch(args) => {
                let trust = trust(&args.start.image);
                Self::Start(Box::new(StartRequest::switch(args, trust)?))
            }
            args::Command::Confirm => Self::Confirm,
            args::Command::Stop(args) => Self::Stop(args.into()),
            args::Command::Logs(args) => Self::Logs(args.into()),
            args::Command::Pull(args) => {
                let trust = trust(&args);
                Self::Pull(Box::new(ImageRequest::new(args, trust)?))
            }
            args::Command::Detach(args) => Self::Detach(Consent::forced(args.force)),
            args::Command::Enable(args) => {
                let trust = trust(&args.image);
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
            args::Command::Prune(args) => Self::Prune(match args.dry_run {
                true => PruneMode::DryRun,
                false => PruneMode::Remove(Consent::forced(args.force)),
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

    fn is_dry_run(&self) -> bool {
        matches!(self, Self::Start(request) if request.after == AfterStart::DryRun)
    }

    /// What would be pulled or run.
    fn image_to_fetch(&self) -> Option<&ImageRequest> {
        match self {
            Self::Start(request) => Some(&request.image),
            Self::Pull(request) => Some(request),
            Self::Enable(request) => Some(&request.image),
            _ => None,
        }
    }
}

impl Consent {
    fn forced(force: bool) -> Self {
        match force {
            true => Self::Given,
            false => Self::Ask,
        }
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
mod tests;
