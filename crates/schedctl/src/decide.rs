//! Whether a scheduler may be started, and instead of which one. Pure: what was observed and what
//! is wanted in, a decision or a refusal out. Asks no network: it comes before the image is looked
//! at, so that a refusal costs nothing.
//!
//! ```text
//!                          run             switch
//! nothing runs             start           start
//! the same runs            done already    done already
//! ours runs, other         refused         replace it
//! ours runs, detached      clear it away, start (run: if it is the same, else refused)
//! a stranger is attached   refused         refused
//! sked runs one here       refused         refused (unless ours is the one that is attached)
//! several of ours run      refused         refused
//! a trial goes on          refused         refused
//! ```

use schedkit_core::OpsName;
use schedkit_host::{Fact, SchedExt};
use schedkit_runtime::driver::Runtime;

use crate::observe::Observed;
use crate::runtimes::name_of;
use crate::sked::SkedPod;
use crate::status::{Held, Status, attached, judge, scheduler_of};

/// What somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// What people call it.
    pub(crate) scheduler: String,
    /// The reference, as text.
    pub(crate) reference: String,
    /// The image by digest, once that is known.
    pub(crate) image: Option<String>,
    /// What is appended to its entrypoint.
    pub(crate) args: Vec<String>,
    /// Through whom.
    pub(crate) runtime: Runtime,
}

/// What to do with one that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `run`: it stays.
    Join,
    /// `switch`: it goes.
    Replace,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Nothing: the kernel runs it already.
    Runs(Runs),
    /// Start it.
    Start {
        /// What a run that was cut short left behind, to be cleared away first.
        leftovers: Vec<Held>,
        /// What it takes the place of.
        replaces: Option<Held>,
    },
}

/// A scheduler that the kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    /// The container.
    pub(crate) held: Held,
    /// The kernel's name for it, where it shows one.
    pub(crate) ops: Option<OpsName>,
    /// What a run that was cut short left behind beside it.
    pub(crate) leftovers: Vec<Held>,
}

/// Why it may not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// Another of ours runs.
    #[error(
        "{running} runs already: `schedctl switch {wanted}` replaces it, `schedctl stop {running}` \
         ends it"
    )]
    OtherRuns {
        /// What runs.
        running: String,
        /// What was wanted.
        wanted: String,
    },
    /// The same name with another image or other words.
    #[error(
        "{running} runs already, with {difference}: `schedctl switch` replaces it, `schedctl stop \
         {running}` ends it"
    )]
    OtherEdition {
        /// What runs.
        running: String,
        /// In what it differs.
        difference: String,
    },
    /// It is in the other runtime.
    #[error(
        "{running} runs through {runtime}: say `--driver {}` to work with it there, or end it with \
         `schedctl --driver {} stop {running}`",
        name_of(*.runtime), name_of(*.runtime)
    )]
    OtherRuntime {
        /// What runs.
        running: String,
        /// Where.
        runtime: Runtime,
    },
    /// The kernel runs one that we did not start.
    #[error(
        "the kernel runs {ops}, which schedctl did not start: end it where it was started, or \
         force it out with `schedctl detach --force`"
    )]
    Foreign {
        /// The kernel's name for it.
        ops: String,
    },
    /// The kernel runs one that sked keeps here.
    #[error(
        "the kernel runs {ops} for sked ({whose}), and schedctl leaves that alone: end or change it \
         in the cluster with {remedy}"
    )]
    Sked {
        /// The kernel's name for it.
        ops: String,
        /// Its pod.
        whose: String,
        /// What to say to kubectl.
        remedy: String,
    },
    /// One that sked keeps here is about to attach, or tries to.
    #[error(
        "sked runs a scheduler here ({whose}) that the kernel has not attached yet, and the two \
         would fight: end or change it in the cluster with {remedy}"
    )]
    SkedStarts {
        /// Its pod.
        whose: String,
        /// What to say to kubectl.
        remedy: String,
    },
    /// More than one of ours.
    #[error("{} run at once: end all but one with `schedctl stop`", .0.join(" and "))]
    Several(Vec<String>),
    /// Somebody has not made up their mind yet.
    #[error(
        "{scheduler} is on trial: keep it with `schedctl confirm`, or end the trial with \
         `schedctl stop {scheduler}`"
    )]
    OnTrial {
        /// What is tried.
        scheduler: String,
    },
    /// It cannot be told what is attached.
    #[error("{0}")]
    Blind(String),
}

/// Makes up its mind.
pub(crate) fn decide(
    observed: &Observed,
    wanted: &Wanted,
    manner: Manner,
) -> Result<Decision, Refusal> {
    let judgement = judge(&observed.kernel, &observed.ours, &observed.holds, None);
    let judgement = judgement.map_err(|untold| Refusal::Blind(untold.to_string()))?;
    let on_trial = observed.trial.as_ref().map(|trial| Refusal::OnTrial {
        scheduler: trial.scheduler.clone(),
    });
    let reachable = |held: &&Held| held.runtime == wanted.runtime;
    let leftovers = observed.leftovers().filter(reachable);
    let mut leftovers: Vec<Held> = leftovers.cloned().collect();
    let replaces = match (judgement.status, judgement.scheduler) {
        (Status::OrphanedKernelState | Status::ManagedMismatch, _) => {
            return Err(foreign(observed));
        }
        (Status::MultipleManaged, _) => return Err(several(observed)),
        (Status::Idle, _) | (_, None) => match observed.sked.first() {
            Some(pod) => return Err(starting(pod)),
            None => None,
        },
        (status, Some(held)) => {
            if held.runtime != wanted.runtime {
                return Err(elsewhere(held));
            }
            let difference = difference(held, wanted, manner);
            let running = status == Status::Running;
            if running && difference.is_none() {
                return Ok(Decision::Runs(Runs {
                    held: held.clone(),
                    ops: ops(&observed.kernel),
                    leftovers,
                }));
            }
            if let (Manner::Join, Some(difference)) = (manner, difference) {
                return Err(other(held, wanted, difference));
            }
            if running {
                Some(held.clone())
            } else {
                // The kernel does not run it, so nobody would want it back.
                leftovers.push(held.clone());
                None
            }
        }
    };
    match on_trial {
        Some(refusal) => Err(refusal),
        None => Ok(Decision::Start {
            leftovers,
            replaces,
        }),
    }
}

/// In what the one that runs is not the one that is wanted. A tag that has moved since is another
/// image for whoever wants to switch; for whoever wants it to run, it does.
fn difference(held: &Held, wanted: &Wanted, manner: Manner) -> Option<String> {
    let record = &held.container.record;
    let moved = wanted.image.is_some() && record.image != wanted.image;
    if manner == Manner::Replace && moved {
        return Some("an older image of that name".to_owned());
    }
    if record.requested.as_ref() != Some(&wanted.reference) {
        let image = record.requested.as_ref().unwrap_or(&held.container.image);
        return Some(format!("the image {image}"));
    }
    if record.args != wanted.args {
        return Some(match record.args.as_slice() {
            [] => "no arguments".to_owned(),
            args => format!("the arguments {}", args.join(" ")),
        });
    }
    None
}

fn other(held: &Held, wanted: &Wanted, difference: String) -> Refusal {
    let running = scheduler_of(&held.container);
    if running == wanted.scheduler {
        Refusal::OtherEdition {
            running,
            difference,
        }
    } else {
        let wanted = wanted.scheduler.clone();
        Refusal::OtherRuns { running, wanted }
    }
}

/// Whom what is attached and not ours belongs to.
fn foreign(observed: &Observed) -> Refusal {
    let kernel = &observed.kernel;
    let ops = ops(kernel).map_or_else(|| "a scheduler".to_owned(), |ops| ops.to_string());
    match attached(kernel, &observed.sked) {
        Some(pod) => Refusal::Sked {
            ops,
            whose: pod.whose(),
            remedy: pod.remedy(),
        },
        None => Refusal::Foreign { ops },
    }
}

fn starting(pod: &SkedPod) -> Refusal {
    let (whose, remedy) = (pod.whose(), pod.remedy());
    Refusal::SkedStarts { whose, remedy }
}

fn elsewhere(held: &Held) -> Refusal {
    let (running, runtime) = (scheduler_of(&held.container), held.runtime);
    Refusal::OtherRuntime { running, runtime }
}

fn several(observed: &Observed) -> Refusal {
    let live = observed.ours.iter().filter(|held| held.is_live());
    let names = live.map(|held| scheduler_of(&held.container));
    Refusal::Several(names.collect())
}

fn ops(kernel: &Fact<SchedExt>) -> Option<OpsName> {
    kernel.known().and_then(SchedExt::attached).cloned()
}

#[cfg(test)]
mod tests;
