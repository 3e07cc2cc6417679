//! What is to be changed on this machine, with every choice made.

use std::time::Duration;

use schedctl_args::args;
use schedkit_core::{ImageRef, Tag};
use schedkit_image::catalog::Resolution;
use schedkit_image::foreign;
use schedkit_runtime::{ContainerId, Until};

use super::PolicySource;
use crate::decide::Manner;
use crate::plan::{Stay, Terms, Wait};

/// The scheduler's own time to end; then it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// An image, and what it must have to run.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// A name or a reference.
    pub(crate) word: String,
    /// Which version of it.
    version: Option<Tag>,
    /// Who must have signed it.
    pub(crate) demand: Demand,
}

/// Who must have signed an image.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// Whom this policy trusts.
    pub(crate) policy: PolicySource,
    /// Or nobody, when one says so: which flag or variable it was.
    pub(crate) waiver: Option<&'static str>,
}

/// A scheduler that is to run.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) wanted: Wanted,
    pub(crate) args: Vec<String>,
    pub(crate) manner: Manner,
    pub(crate) terms: Terms,
    pub(crate) ending: Ending,
}

/// What to do once it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Return.
    Return,
    /// Stay with it.
    Stay,
    /// It is not started: print how it would be.
    DryRun,
}

/// A scheduler that is to end.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) word: String,
    pub(crate) grace: Duration,
    pub(crate) ending: Ending,
}

/// Whose words are to be shown, and how long.
#[derive(Debug)]
pub(crate) struct Logs {
    pub(crate) word: Option<String>,
    pub(crate) until: Until,
}

/// Why a version makes no image.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VersionError {
    /// Not a tag.
    #[error("{0:?} is no version: a tag has letters, digits, `_`, `.` and `-`")]
    Tag(String),
    /// A digest is one version already.
    #[error("{0} names its version by a digest: leave --version out")]
    Pinned(ImageRef),
}

impl Wanted {
    pub(super) fn of(args: args::Wanted, demand: Demand) -> Result<Self, VersionError> {
        let tag = |text: String| {
            text.parse()
                .map_err(|_| VersionError::Tag(foreign::brief(&text)))
        };
        Ok(Self {
            word: args.image,
            version: args.version.map(tag).transpose()?,
            demand,
        })
    }

    /// The image that is meant, now that it is known what the word stands for.
    pub(crate) fn image(&self, found: &Resolution) -> Result<ImageRef, VersionError> {
        let image = found.image().clone();
        match &self.version {
            None => Ok(image),
            Some(_) if image.digest().is_some() => Err(VersionError::Pinned(image)),
            Some(tag) => Ok(image.with_tag(tag.clone())),
        }
    }
}

impl Start {
    pub(super) fn run(args: args::Run, demand: Demand) -> Result<Self, VersionError> {
        let ending = if args.attach {
            Ending::Stay
        } else {
            Ending::Return
        };
        let mut start = Self::of(args.start, Manner::Join, args.probation, demand, ending)?;
        if args.no_wait {
            start.terms.wait = None;
        }
        Ok(start)
    }

    pub(super) fn switch(args: args::Switch, demand: Demand) -> Result<Self, VersionError> {
        Self::of(
            args.start,
            Manner::Replace,
            args.probation,
            demand,
            Ending::Return,
        )
    }

    fn of(
        args: args::Start,
        manner: Manner,
        probation: Duration,
        demand: Demand,
        ending: Ending,
    ) -> Result<Self, VersionError> {
        let attach = args.timeout;
        Ok(Self {
            wanted: Wanted::of(args.wanted, demand)?,
            args: args.args,
            manner,
            terms: Terms {
                wait: Some(Wait { attach, probation }),
                grace: GRACE,
                stay: args.trial.map_or(Stay::ForGood, Stay::OnTrial),
            },
            ending: if args.dry_run { Ending::DryRun } else { ending },
        })
    }
}

impl From<args::Stop> for Stop {
    fn from(args: args::Stop) -> Self {
        Self {
            word: args.which,
            grace: args.grace,
            ending: if args.dry_run {
                Ending::DryRun
            } else {
                Ending::Return
            },
        }
    }
}

impl From<args::Logs> for Logs {
    fn from(args: args::Logs) -> Self {
        Self {
            word: args.which,
            until: if args.follow { Until::Exit } else { Until::Now },
        }
    }
}

/// The container that a guard looks after.
pub(super) fn candidate(args: args::Guard) -> ContainerId {
    ContainerId::new(args.candidate)
}
