//! What runs: the containers of ours held against what the kernel says. Pure: `cmd/status.rs`
//! looks, this judges, `output/status.rs` prints.
//!
//! ```text
//!  kernel ╲ ours live │ none                   one                          several
//!  ───────────────────┼─────────────────────────────────────────────────────────────────
//!  no sched_ext       │ idle                   managed-detached             multiple-managed
//!  disabled           │ idle                   managed-detached             multiple-managed
//!  still in motion    │ orphaned-kernel-state  managed-detached             multiple-managed
//!  enabled            │ orphaned-kernel-state  running | managed-mismatch   multiple-managed
//!  cannot be told     │ ──────────────────── no judgement ───────────────────────────────
//! ```
//!
//! A container is live when its scheduler was started; one that was only created, or has ended, is a
//! leftover: worth a warning, never a status. Trouble is never a verdict: what the kernel does not
//! tell is not guessed. What sked runs is not ours and comes afterwards: [`cluster`].

mod cluster;
mod names;
mod sentences;

use schedkit_core::OpsName;
use schedkit_host::{Fact, SchedExt, SchedExtState};
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Container, ContainerId, ContainerState};
use serde::Serialize;

pub(crate) use cluster::{attached, recognise};
pub(crate) use names::scheduler_of;
use names::{Comparison, Names};

use crate::sked::SkedPod;

/// A container of ours and who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) runtime: Runtime,
    pub(crate) container: Container,
}

/// The six answers. Their names and exit codes are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    Idle,
    Running,
    OrphanedKernelState,
    ManagedDetached,
    ManagedMismatch,
    MultipleManaged,
}

/// An answer and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judgement<'a> {
    pub(crate) status: Status,
    /// The one that is meant, where there is one.
    pub(crate) scheduler: Option<&'a Held>,
    /// The one that is meant where it is not ours but sked's.
    pub(crate) sked: Option<&'a SkedPod>,
    /// How our view and the kernel's differ, and what to do.
    pub(crate) discrepancy: Option<String>,
    /// What a person should know besides.
    pub(crate) remarks: Vec<String>,
}

/// What the kernel says that matters here.
#[derive(Debug, PartialEq, Eq)]
enum Kernel<'a> {
    Unsupported,
    Disabled,
    /// On its way, and not there after all our patience.
    Moving(&'a SchedExtState),
    /// A scheduler is attached; it may show no name.
    Enabled(Option<&'a OpsName>),
}

/// Why there is no answer: what about the kernel cannot be told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell what the kernel runs: {0}")]
pub(crate) struct Untold(String);

impl Held {
    /// Whether its scheduler was started, and so may be attached.
    pub(crate) fn is_live(&self) -> bool {
        match self.container.state {
            ContainerState::Running { .. } | ContainerState::Other(_) => true,
            ContainerState::Created | ContainerState::Exited(_) => false,
        }
    }
}

/// The process that must be looked at before [`judge`] can tell: names alone do not say whether
/// the scheduler in it is the one that is attached.
pub(crate) fn doubtful(kernel: &Fact<SchedExt>, ours: &[Held]) -> Option<u32> {
    let Ok(Kernel::Enabled(ops)) = Kernel::of(kernel) else {
        return None;
    };
    let mut live = ours.iter().filter(|held| held.is_live());
    let (only, None) = (live.next()?, live.next()) else {
        return None;
    };
    match Names::of(&only.container).compare(ops) {
        Comparison::Same => None,
        _ => only.container.pid(),
    }
}

/// The answer. `holds` tells whether the [`doubtful`] process holds a scheduler; absent where
/// nobody looked. `spare` is what a trial goes back to: it does not run, and is no leftover.
pub(crate) fn judge<'a>(
    kernel: &Fact<SchedExt>,
    ours: &'a [Held],
    holds: &Fact<bool>,
    spare: Option<&ContainerId>,
) -> Result<Judgement<'a>, Untold> {
    let kernel = Kernel::of(kernel)?;
    let (live, mut left): (Vec<&Held>, Vec<&Held>) = ours.iter().partition(|held| held.is_live());
    left.retain(|held| spare != Some(&held.container.id));
    let mut judgement = match live.as_slice() {
        [] => without_us(&kernel),
        [only] => with_one(&kernel, only, holds),
        several => with_several(&kernel, several),
    };
    judgement.remarks.extend(sentences::leftovers(&left));
    Ok(judgement)
}

fn without_us<'a>(kernel: &Kernel<'_>) -> Judgement<'a> {
    match kernel {
        Kernel::Unsupported | Kernel::Disabled => Judgement::plain(Status::Idle, None),
        Kernel::Moving(state) => {
            let why = sentences::strange_motion(state);
            Judgement::differing(Status::OrphanedKernelState, None, why)
        }
        Kernel::Enabled(ops) => {
            let why = sentences::orphaned(*ops);
            Judgement::differing(Status::OrphanedKernelState, None, why)
        }
    }
}

fn with_one<'a>(kernel: &Kernel<'_>, only: &'a Held, holds: &Fact<bool>) -> Judgement<'a> {
    let detached = |why| Judgement::differing(Status::ManagedDetached, Some(only), why);
    match kernel {
        Kernel::Unsupported => detached(sentences::unsupported(only)),
        Kernel::Disabled => detached(sentences::detached(only)),
        Kernel::Moving(state) => detached(sentences::still_moving(only, state)),
        Kernel::Enabled(ops) => with_attached(*ops, only, holds),
    }
}

/// Names that agree suffice. Where they do not, the process decides: a scheduler may call itself
/// as it likes, and what holds a scheduler is one. Where that cannot be seen, names that differ
/// count, and names that there are none of do not: an image without a telling name is never
/// accused.
fn with_attached<'a>(ops: Option<&OpsName>, only: &'a Held, holds: &Fact<bool>) -> Judgement<'a> {
    let running = Judgement::plain(Status::Running, Some(only));
    let comparison = Names::of(&only.container).compare(ops);
    match (comparison, holds) {
        (Comparison::Same, _) => running,
        (_, Fact::Known(true)) => running.remark(sentences::other_name(only, ops)),
        (Comparison::Different, _) | (_, Fact::Known(false)) => {
            let why = sentences::mismatch(only, ops, holds);
            Judgement::differing(Status::ManagedMismatch, Some(only), why)
        }
        (Comparison::Unknown, _) => running.remark(sentences::nothing_to_compare(only, ops)),
    }
}

fn with_several<'a>(kernel: &Kernel<'_>, several: &[&'a Held]) -> Judgement<'a> {
    let attached = match kernel {
        Kernel::Enabled(ops) => several
            .iter()
            .find(|held| Names::of(&held.container).compare(*ops) == Comparison::Same),
        _ => None,
    };
    let meant = attached.or(several.first()).copied();
    let why = sentences::several(kernel, several);
    Judgement::differing(Status::MultipleManaged, meant, why)
}

impl<'a> Kernel<'a> {
    fn of(fact: &'a Fact<SchedExt>) -> Result<Self, Untold> {
        let untold =
            |what: &str, why: Option<String>| Untold(format!("{what} {}", why.unwrap_or_default()));
        let seen = match fact {
            Fact::Known(seen) => seen,
            Fact::Absent => return Ok(Self::Unsupported),
            trouble => return Err(untold("/sys/kernel/sched_ext", trouble.problem())),
        };
        match &seen.state {
            Fact::Known(SchedExtState::Disabled) => Ok(Self::Disabled),
            Fact::Known(SchedExtState::Enabled) => Ok(Self::Enabled(seen.ops.known())),
            Fact::Known(state @ SchedExtState::Unknown(word)) if !state.is_transitional() => {
                Err(Untold(format!(
                    "it calls its state {word:?}, which this schedctl does not know"
                )))
            }
            Fact::Known(state) => Ok(Self::Moving(state)),
            trouble => Err(untold("/sys/kernel/sched_ext/state", trouble.problem())),
        }
    }
}

impl<'a> Judgement<'a> {
    fn plain(status: Status, scheduler: Option<&'a Held>) -> Self {
        Self {
            status,
            scheduler,
            sked: None,
            discrepancy: None,
            remarks: Vec::new(),
        }
    }

    fn differing(status: Status, scheduler: Option<&'a Held>, why: String) -> Self {
        Self {
            discrepancy: Some(why),
            ..Self::plain(status, scheduler)
        }
    }

    fn remark(mut self, sentence: String) -> Self {
        self.remarks.push(sentence);
        self
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{held, kernel, sked_pod};
