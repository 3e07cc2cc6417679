//! What `run`, `switch`, `stop`, `logs`, `pull` and `enable` are asked to do.

use std::time::Duration;

use schedctl_args::args::{self, PullPolicy, Since};
use schedkit_core::{ImageRef, PinnedRef, Tag};
use schedkit_image::catalog::Resolution;
use schedkit_image::untrusted;
use schedkit_runtime::Until;

use crate::audit_log::AuditLog;
use crate::decide::StartMode;
use crate::enabled::EnabledScheduler;
use crate::exit::ExitCodes;
use crate::plan::{StartOptions, WaitLimits};
use crate::settings::{PolicySource, Settings};

/// The reason that is shown for an image that was enabled without a signature.
const ENABLED_WAIVER: &str = "`schedctl enable --allow-unsigned`";
/// Time between SIGTERM and SIGKILL when `switch` stops the old scheduler.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct ImageRequest {
    pub(crate) name_or_reference: String,
    version: Option<Tag>,
    pub(crate) trust: TrustRequirement,
    /// What `schedctl enable` found for the name.
    pub(crate) enabled: Option<EnabledImage>,
}

#[derive(Debug)]
pub(crate) struct EnabledImage {
    pub(crate) scheduler: String,
    pub(crate) reference: ImageRef,
    /// The name that it was asked for as, if a catalog led to it.
    pub(crate) catalog_name: Option<String>,
    pub(crate) pin: PinnedRef,
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
    pub(crate) pull: PullPolicy,
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
pub(crate) struct EnableRequest {
    pub(crate) image: ImageRequest,
    pub(crate) pull: PullPolicy,
    pub(crate) args: Vec<String>,
    pub(crate) after: AfterEnable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterEnable {
    Return,
    /// Start it, and wait for the kernel.
    Start,
}

#[derive(Debug)]
pub(crate) struct StopRequest {
    /// `None`: the one that runs.
    pub(crate) target: Option<String>,
    pub(crate) grace: Duration,
    pub(crate) dry_run: bool,
}

#[derive(Debug)]
pub(crate) struct LogsRequest {
    pub(crate) target: Option<String>,
    pub(crate) until: Until,
    pub(crate) lines: LineSelection,
}

/// Which lines of a log are printed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineSelection {
    /// Of what is there now, the last lines only.
    pub(crate) tail: Option<usize>,
    pub(crate) since: Option<Since>,
    pub(crate) times: Times,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    Hidden,
    Shown,
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
            enabled: None,
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
    /// A dry run records nothing.
    pub(crate) fn audit<'a>(&self, settings: &'a Settings) -> Option<&'a AuditLog> {
        let log = settings.audit.as_ref();
        log.filter(|_| self.after != AfterStart::DryRun)
    }

    pub(super) fn run(
        args: args::Run,
        trust: TrustRequirement,
        enabled: Option<EnabledScheduler>,
    ) -> Result<Self, VersionError> {
        let pull = args.start.pull;
        let mut request = Self::new(args.start, StartMode::Run, args.probation, trust)?;
        if let Some(enabled) = enabled {
            request.use_enabled(enabled, pull);
        }
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

    /// As it was enabled, unless the unit's command line says something else.
    fn use_enabled(&mut self, enabled: EnabledScheduler, pull: Option<PullPolicy>) {
        let EnabledScheduler {
            scheduler,
            reference,
            catalog_name,
            image: pin,
            args,
            allow_unsigned,
            environment: _,
        } = enabled;
        // A unit with --version starts another image, and nothing that was decided about this one
        // holds for it.
        if self.image.version.is_none() {
            if allow_unsigned && self.image.trust.waiver.is_none() {
                self.image.trust.waiver = Some(ENABLED_WAIVER);
            }
            self.image.enabled = Some(EnabledImage {
                scheduler,
                reference,
                catalog_name,
                pin,
            });
        }
        if self.args.is_empty() {
            self.args = args;
        }
        // It was verified when it was enabled: a boot needs no registry.
        self.pull = pull.unwrap_or(PullPolicy::Missing);
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
            pull: args.pull.unwrap_or(PullPolicy::Always),
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

impl EnableRequest {
    pub(super) fn new(args: args::Enable, trust: TrustRequirement) -> Result<Self, VersionError> {
        Ok(Self {
            image: ImageRequest::new(args.image, trust)?,
            pull: args.pull.unwrap_or(PullPolicy::Always),
            args: args.args,
            after: match args.now {
                true => AfterEnable::Start,
                false => AfterEnable::Return,
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
            lines: LineSelection {
                tail: args.tail,
                since: args.since,
                times: match args.timestamps {
                    true => Times::Shown,
                    false => Times::Hidden,
                },
            },
        }
    }
}
