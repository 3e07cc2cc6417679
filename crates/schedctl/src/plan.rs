//! What will be done, step by step, each with what undoes it. Data: `--dry-run` prints it, and
//! [`crate::execute`] is the only one who acts on it. Nothing is left to be decided later. The image
//! is here before a plan begins: nobody waits for a registry while others wait for us.

use std::fmt;
use std::time::Duration;

use schedkit_runtime::{ContainerId, Launch};

use crate::status::{Held, scheduler_of};

/// A swap is never left unattended, also where nobody wants to wait.
const SWAP: Wait = Wait {
    attach: Duration::from_secs(60),
    probation: Duration::ZERO,
};

/// How to start a scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// What.
    pub(crate) launch: Launch,
    /// In this order.
    pub(crate) steps: Vec<Step>,
}

/// How patient to be, and what to do afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// How long to wait for the kernel; nothing when nobody waits.
    pub(crate) wait: Option<Wait>,
    /// How long an old one may take to end.
    pub(crate) grace: Duration,
    /// Whether it goes by itself after some time.
    pub(crate) stay: Stay,
}

/// How long a scheduler stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Until somebody ends it.
    ForGood,
    /// This long, unless somebody confirms it.
    OnTrial(Duration),
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Remove what a run that was cut short left behind.
    Clear(Named),
    /// Make the container.
    Create,
    /// Do everything that its start needs: what cannot start is found while the old one works, and
    /// the kernel is without a scheduler for less long.
    Ready,
    /// Have somebody stand by who goes back when nobody confirms.
    Guard {
        /// After this time.
        trial: Duration,
        /// To this one.
        before: Option<Named>,
    },
    /// Start the container, and wait for the kernel.
    Start(Wait),
    /// Start the container, and wait for nothing.
    Launch,
    /// End the old one, start the new one once the kernel let go, and wait for the kernel.
    Swap {
        /// Which one ends.
        old: Named,
        /// How long it may take to end.
        grace: Duration,
        /// How long to wait for the new one.
        wait: Wait,
    },
    /// Remove the old one: the new one is there.
    Remove(Named),
}

/// How long to wait for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Until it is attached, at most.
    pub(crate) attach: Duration,
    /// And then, that it stays.
    pub(crate) probation: Duration,
}

/// What takes a step back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Remove the new container.
    RemoveNew,
    /// Start the old one again, and wait for the kernel.
    StartOld(Named, Wait),
}

/// A container by its id, and by what people call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// For the runtime.
    pub(crate) id: ContainerId,
    /// For people.
    pub(crate) name: String,
}

impl Plan {
    /// How to start it, in the place of another or not, once what was left over is cleared away.
    pub(crate) fn new(
        leftovers: &[Held],
        replaces: Option<&Held>,
        launch: Launch,
        terms: Terms,
    ) -> Self {
        let Terms { wait, grace, stay } = terms;
        let old = replaces.map(Named::of);
        let mut steps: Vec<Step> = leftovers
            .iter()
            .map(|held| Step::Clear(Named::of(held)))
            .collect();
        steps.push(Step::Create);
        if old.is_some() {
            steps.push(Step::Ready);
        }
        if let Stay::OnTrial(trial) = stay {
            let before = old.clone();
            steps.push(Step::Guard { trial, before });
        }
        steps.push(match (old.clone(), wait) {
            (None, Some(wait)) => Step::Start(wait),
            (None, None) => Step::Launch,
            (Some(old), wait) => Step::Swap {
                old,
                grace,
                wait: wait.unwrap_or(SWAP),
            },
        });
        // What a trial may go back to is kept until it is confirmed.
        if let (Some(old), Stay::ForGood) = (old, stay) {
            steps.push(Step::Remove(old));
        }
        Self { launch, steps }
    }
}

impl Step {
    /// What takes it back once it was begun.
    pub(crate) fn undo(&self) -> Option<Undo> {
        match self {
            Self::Clear(_)
            | Self::Ready
            | Self::Guard { .. }
            | Self::Start(_)
            | Self::Launch
            | Self::Remove(_) => None,
            Self::Create => Some(Undo::RemoveNew),
            Self::Swap { old, wait, .. } => {
                // It has been there before: it need not prove itself again.
                let probation = Duration::ZERO;
                let wait = Wait { probation, ..*wait };
                Some(Undo::StartOld(old.clone(), wait))
            }
        }
    }

    /// How long it waits for the kernel.
    pub(crate) fn wait(&self) -> Option<Wait> {
        match self {
            Self::Start(wait) | Self::Swap { wait, .. } => Some(*wait),
            Self::Clear(_)
            | Self::Create
            | Self::Ready
            | Self::Guard { .. }
            | Self::Launch
            | Self::Remove(_) => None,
        }
    }

    /// Whether somebody who presses Ctrl-C need not wait for its end. The others are short, and
    /// what they make is known only at their end.
    pub(crate) fn may_be_cut_short(&self) -> bool {
        matches!(self, Self::Start(_) | Self::Swap { .. })
    }

    /// One word for programs.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Clear(_) => "clear",
            Self::Create => "create",
            Self::Ready => "ready",
            Self::Guard { .. } => "guard",
            Self::Start(_) => "start",
            Self::Launch => "launch",
            Self::Swap { .. } => "swap",
            Self::Remove(_) => "remove",
        }
    }

    /// One sentence for people; `launch` is what the plan is about.
    pub(crate) fn sentence(&self, launch: &Launch) -> String {
        let new = launch.scheduler();
        match self {
            Self::Clear(left) => format!("remove {left}, which was left behind"),
            Self::Create => format!("create a container for {new}"),
            Self::Ready => format!("make {new} ready to start"),
            Self::Guard {
                trial,
                before: None,
            } => format!("stand by to end it after {trial:?} unless confirmed"),
            Self::Guard {
                trial,
                before: Some(old),
            } => format!("stand by to go back to {old} after {trial:?} unless confirmed"),
            Self::Start(wait) => format!("start it, and wait until the kernel has it{wait}"),
            Self::Launch => "start it, and not wait for the kernel".to_owned(),
            Self::Swap { old, grace, wait } => format!(
                "end {old} (SIGTERM, SIGKILL after {grace:?}), start {new} once the kernel let \
                 go, and wait until the kernel has it{wait}"
            ),
            Self::Remove(old) => format!("remove {old}"),
        }
    }
}

impl Named {
    pub(crate) fn of(held: &Held) -> Self {
        Self {
            id: held.container.id.clone(),
            name: scheduler_of(&held.container),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.id.short())
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attach, probation } = self;
        write!(f, " (at most {attach:?})")?;
        if probation.is_zero() {
            return Ok(());
        }
        write!(f, " and has kept it for {probation:?}")
    }
}
