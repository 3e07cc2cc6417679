//! What `run`, `switch`, `stop`, `logs` and `pull` are asked to do.

use std::time::Duration;

use schedctl_args::args;
use schedkit_core::{ImageRef, Tag};
use schedkit_image::catalog::Resolution;
use schedkit_image::untrusted;
use schedkit_runtime::Until;

use crate::decide::StartMode;
use crate::exit::ExitCodes;
use crate::plan::{StartOptions, WaitLimits};
use crate::settings::PolicySource;

/// Time between SIGTERM and SIGKILL when `switch` stops the old scheduler.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct ImageRequest {
    pub(crate) name_or_reference: String,
    version: Option<Tag>,
    pub(crate) trust: TrustRequirement,
}

#[derive(Debug, Clone)]
pub(crate) struct TrustRequirement {
    pub(crate) policy: PolicySource,
    /// The flag or variable that allows an unsigned image.
    pub(crate) waiver: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) struct StartRequest {
    pub(crate) image: ImageRequest,
    pub(crate) args: Vec<String>,
    pub(crate) mode: StartMode,
    pub(crate) options: StartOptions,
    pub(crate) after: AfterStart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterStart {
    Return,
    /// Show its output until it exits.
    Follow(ExitCodes),
    /// Nothing is started: print the plan.
    DryRun,
}

#[derive(Debug)]
pub(crate) struct StopRequest {
    pub(crate) target: String,
    pub(crate) grace: Duration,
    pub(crate) dry_run: bool,
}

#[derive(Debug)]
pub(crate) struct LogsRequest {
    pub(crate) target: Option<String>,
    pub(crate) until: Until,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VersionError {
    #[error("{0:?} is not a version: a tag has letters, digits, `_`, `.` and `-`")]
    NotATag(String),
    #[error("{0} has a digest, which is one version: omit --version")]
    Pinned(ImageRef),
}

impl ImageRequest {
    pub(super) fn new(
        args: args::ImageToRun,
        trust: TrustRequirement,
    ) -> Result<Self, VersionError> {
        let tag = |text: String| {
            text.parse()
                .map_err(|_| VersionError::NotATag(untrusted::brief(&text)))
        };
        Ok(Self {
            name_or_reference: args.image,
            version: args.version.map(tag).transpose()?,
            trust,
        })
    }

    /// The image to run, given what the name resolved to.
    pub(crate) fn image(&self, found: &Resolution) -> Result<ImageRef, VersionError> {
        let image = found.image().clone();
        match &self.version {
            None => Ok(image),
            Some(_) if image.digest().is_some() => Err(VersionError::Pinned(image)),
            Some(tag) => Ok(image.with_tag(tag.clone())),
        }
    }
}

impl StartRequest {
    pub(super) fn run(args: args::Run, trust: TrustRequirement) -> Result<Self, VersionError> {
        let mut request = Self::new(args.start, StartMode::Run, args.probation, trust)?;
        if args.attach {
            request.after = AfterStart::Follow(match args.enabled {
                true => ExitCodes::Unit,
                false => ExitCodes::Scheduler,
            });
        }
        if args.no_wait {
            request.options.wait = None;
        }
        Ok(request)
    }

    pub(super) fn switch(
        args: args::Switch,
        trust: TrustRequirement,
    ) -> Result<Self, VersionError> {
        Self::new(args.start, StartMode::Switch, args.probation, trust)
    }

    fn new(
        args: args::Start,
        mode: StartMode,
        probation: Duration,
        trust: TrustRequirement,
    ) -> Result<Self, VersionError> {
        let attach = args.timeout;
        Ok(Self {
            image: ImageRequest::new(args.image, trust)?,
            args: args.args,
            mode,
            options: StartOptions {
                wait: Some(WaitLimits { attach, probation }),
                grace: GRACE,
                trial: args.trial,
            },
            after: match args.dry_run {
                true => AfterStart::DryRun,
                false => AfterStart::Return,
            },
        })
    }
}

impl From<args::Stop> for StopRequest {
    fn from(args: args::Stop) -> Self {
        Self {
            target: args.target,
            grace: args.grace,
            dry_run: args.dry_run,
        }
    }
}

impl From<args::Logs> for LogsRequest {
    fn from(args: args::Logs) -> Self {
        Self {
            target: args.target,
            until: if args.follow { Until::Exit } else { Until::Now },
        }
    }
}
