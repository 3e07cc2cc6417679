//! The steps of `run` and `switch`, each with its undo. Plain data: `--dry-run` prints it, and only
//! [`crate::execute`] acts on it. A plan leaves nothing to be decided later. The image is pulled
//! before a plan is executed, so that no plan waits for a registry.

use std::fmt;
use std::time::Duration;

use schedkit_runtime::{ContainerId, Launch};

use crate::container::RuntimeContainer;

/// A swap always waits for the kernel, also with `--no-wait`.
const SWAP: WaitLimits = WaitLimits {
    // As the default of `--timeout`.
    attach: Duration::from_secs(120),
    probation: Duration::ZERO,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) launch: Launch,
    pub(crate) steps: Vec<PlanStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartOptions {
    /// `None`: do not wait for the kernel.
    pub(crate) wait: Option<WaitLimits>,
    /// Time between SIGTERM and SIGKILL for the old scheduler.
    pub(crate) grace: Duration,
    /// Undo the start after this time unless it is confirmed.
    pub(crate) trial: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanStep {
    /// Remove a container that an interrupted run left behind.
    Clear(NamedContainer),
    Create,
    /// Prepare the start while the old scheduler still runs: errors are found before it is stopped,
    /// and the kernel is without a scheduler for a shorter time.
    Prepare,
    /// Start the process that ends the trial if nobody confirms.
    Guard {
        trial: Duration,
        /// Restored when the trial ends.
        before: Option<NamedContainer>,
    },
    /// Start the container and wait for the kernel.
    Start(WaitLimits),
    /// Start the container without waiting.
    Launch,
    /// Stop the old container, start the new one once the kernel has detached the old scheduler,
    /// and wait for the kernel.
    Swap {
        old: NamedContainer,
        grace: Duration,
        wait: WaitLimits,
    },
    /// Remove the old container after the new one is attached.
    Remove(NamedContainer),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitLimits {
    /// Until it is attached.
    pub(crate) attach: Duration,
    /// How long it must stay attached after that.
    pub(crate) probation: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undo {
    RemoveNew,
    /// Start the old container again and wait for the kernel.
    StartOld(NamedContainer, WaitLimits),
}

/// A container's id with the name of its scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedContainer {
    pub(crate) id: ContainerId,
    pub(crate) name: String,
}

impl Plan {
    pub(crate) fn new(
        leftovers: &[RuntimeContainer],
        replaces: Option<&RuntimeContainer>,
        launch: Launch,
        options: StartOptions,
    ) -> Self {
        let StartOptions { wait, grace, trial } = options;
        let old = replaces.map(NamedContainer::from);
        let leftovers = leftovers.iter().map(NamedContainer::from);
        let mut steps: Vec<PlanStep> = leftovers.map(PlanStep::Clear).collect();
        steps.push(PlanStep::Create);
        if old.is_some() {
            steps.push(PlanStep::Prepare);
        }
        if let Some(trial) = trial {
            let before = old.clone();
            steps.push(PlanStep::Guard { trial, before });
        }
        steps.push(match (old.clone(), wait) {
            (None, Some(wait)) => PlanStep::Start(wait),
            (None, None) => PlanStep::Launch,
            (Some(old), wait) => PlanStep::Swap {
                old,
                grace,
                wait: wait.unwrap_or(SWAP),
            },
        });
        // A trial keeps the old container until it is confirmed.
        if let (Some(old), None) = (old, trial) {
            steps.push(PlanStep::Remove(old));
        }
        Self { launch, steps }
    }
}

impl PlanStep {
    pub(crate) fn undo(&self) -> Option<Undo> {
        match self {
            Self::Clear(_)
            | Self::Prepare
            | Self::Guard { .. }
            | Self::Start(_)
            | Self::Launch
            | Self::Remove(_) => None,
            Self::Create => Some(Undo::RemoveNew),
            Self::Swap { old, wait, .. } => {
                // It was attached before: no probation.
                let probation = Duration::ZERO;
                let wait = WaitLimits { probation, ..*wait };
                Some(Undo::StartOld(old.clone(), wait))
            }
        }
    }

    pub(crate) fn wait(&self) -> Option<WaitLimits> {
        match self {
            Self::Start(wait) | Self::Swap { wait, .. } => Some(*wait),
            Self::Clear(_)
            | Self::Create
            | Self::Prepare
            | Self::Guard { .. }
            | Self::Launch
            | Self::Remove(_) => None,
        }
    }

    /// Whether Ctrl-C interrupts it. The other steps are short, and what they create is known only
    /// at their end.
    pub(crate) fn is_interruptible(&self) -> bool {
        matches!(self, Self::Start(_) | Self::Swap { .. })
    }

    /// The name in JSON documents and in the log.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Clear(_) => "clear",
            Self::Create => "create",
            Self::Prepare => "ready",
            Self::Guard { .. } => "guard",
            Self::Start(_) => "start",
            Self::Launch => "launch",
            Self::Swap { .. } => "swap",
            Self::Remove(_) => "remove",
        }
    }

    pub(crate) fn description(&self, launch: &Launch) -> String {
        let new = launch.scheduler();
        match self {
            Self::Clear(left) => format!("remove {left}, which was left behind"),
            Self::Create => format!("create a container for {new}"),
            Self::Prepare => format!("prepare the start of {new}"),
            Self::Guard {
                trial,
                before: None,
            } => format!("start a guard that stops it after {trial:?} unless confirmed"),
            Self::Guard {
                trial,
                before: Some(old),
            } => format!("start a guard that restores {old} after {trial:?} unless confirmed"),
            Self::Start(wait) => {
                format!("start it, and wait until the kernel has attached it{wait}")
            }
            Self::Launch => "start it without waiting for the kernel".to_owned(),
            Self::Swap { old, grace, wait } => format!(
                "stop {old} (SIGTERM, SIGKILL after {grace:?}), start {new} once the kernel has \
                 detached it, and wait until the kernel has attached {new}{wait}"
            ),
            Self::Remove(old) => format!("remove {old}"),
        }
    }
}

impl From<&RuntimeContainer> for NamedContainer {
    fn from(container: &RuntimeContainer) -> Self {
        Self {
            id: container.container.id.clone(),
            name: container.scheduler(),
        }
    }
}

impl fmt::Display for NamedContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.id.short())
    }
}

impl fmt::Display for WaitLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attach, probation } = self;
        write!(f, " (at most {attach:?})")?;
        if probation.is_zero() {
            return Ok(());
        }
        write!(f, " and has kept it for {probation:?}")
    }
}
