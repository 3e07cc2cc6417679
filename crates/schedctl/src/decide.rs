//! Whether a scheduler may be started, and which one it replaces. Pure: the observation and the
//! desired scheduler in, a decision or a refusal out. Called before the registry is asked, so that
//! a refusal needs no network.
//!
//! ```text
//!                                    run             switch
//! nothing runs                       start           start
//! the same scheduler runs            done            done
//! another of schedctl's runs         refuse          replace it
//! schedctl's runs, not attached      remove it, start (run: only if it is the same, else refuse)
//! a foreign scheduler is attached    refuse          refuse
//! sked runs one here                 refuse          refuse (unless schedctl's is attached)
//! several of schedctl's run          refuse          refuse
//! a trial is in progress             refuse          refuse
//! ```

use schedkit_core::OpsName;
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_runtime::driver::Runtime;

use crate::container::RuntimeContainer;
use crate::observe::Observed;
use crate::runtimes::driver_name;
use crate::status::{Status, attached_pod};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DesiredScheduler {
    pub(crate) name: String,
    pub(crate) reference: String,
    /// The image by digest, once that is known.
    pub(crate) image: Option<String>,
    /// Appended to its entrypoint.
    pub(crate) args: Vec<String>,
    pub(crate) runtime: Runtime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartMode {
    /// A running scheduler is kept.
    Run,
    /// A running scheduler is replaced.
    Switch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    AlreadyRuns(Running),
    Start {
        /// Left behind by an interrupted run, to be removed first.
        leftovers: Vec<RuntimeContainer>,
        replaces: Option<RuntimeContainer>,
    },
}

/// A scheduler that the kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) container: RuntimeContainer,
    pub(crate) ops: Option<OpsName>,
    /// Left behind by an interrupted run.
    pub(crate) leftovers: Vec<RuntimeContainer>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "{running} runs already: `schedctl switch {desired}` replaces it, `schedctl stop {running}` \
         stops it"
    )]
    OtherRuns { running: String, desired: String },
    /// The same scheduler with another image or other arguments.
    #[error(
        "{running} runs already, with {difference}: `schedctl switch` replaces it, `schedctl stop \
         {running}` stops it"
    )]
    OtherVariant { running: String, difference: String },
    #[error(
        "{running} runs through {runtime}: use `--driver {}` to change it there, or stop it with \
         `schedctl --driver {} stop {running}`",
        driver_name(*.runtime), driver_name(*.runtime)
    )]
    OtherRuntime { running: String, runtime: Runtime },
    #[error(
        "the kernel runs {ops}, which schedctl did not start: stop it where it was started, or \
         detach it with `schedctl detach --force`"
    )]
    Foreign { ops: String },
    #[error(
        "the kernel runs {ops} for sked ({pod}), which schedctl does not change: change it in the \
         cluster with {remedy}"
    )]
    Sked {
        ops: String,
        pod: String,
        remedy: String,
    },
    #[error(
        "sked runs a scheduler here ({pod}) that the kernel has not attached yet, and only one can \
         be attached: change it in the cluster with {remedy}"
    )]
    SkedStarts { pod: String, remedy: String },
    #[error("{} run at once: stop all but one with `schedctl stop`", .0.join(" and "))]
    Several(Vec<String>),
    #[error(
        "{scheduler} is on trial: keep it with `schedctl confirm`, or end the trial with \
         `schedctl stop {scheduler}`"
    )]
    OnTrial { scheduler: String },
    #[error("{0}")]
    UnknownKernelState(String),
}

pub(crate) fn decide(
    observed: &Observed,
    desired: &DesiredScheduler,
    mode: StartMode,
) -> Result<Decision, Refusal> {
    let assessment = observed.assess();
    let assessment = assessment.map_err(|error| Refusal::UnknownKernelState(error.to_string()))?;
    let reachable = |left: &&RuntimeContainer| left.runtime == desired.runtime;
    let leftovers = observed.leftovers().filter(reachable);
    let mut leftovers: Vec<RuntimeContainer> = leftovers.cloned().collect();
    let replaces = match (assessment.status, assessment.container) {
        (Status::OrphanedKernelState | Status::ManagedMismatch, _) => {
            return Err(foreign(observed));
        }
        (Status::MultipleManaged, _) => return Err(several(observed)),
        (Status::Idle, _) | (_, None) => match observed.sked.first() {
            Some(pod) => {
                let (pod, remedy) = (pod.location(), pod.remedy());
                return Err(Refusal::SkedStarts { pod, remedy });
            }
            None => None,
        },
        (status, Some(container)) => {
            if container.runtime != desired.runtime {
                let (running, runtime) = (container.scheduler(), container.runtime);
                return Err(Refusal::OtherRuntime { running, runtime });
            }
            let difference = difference(container, desired, mode);
            let attached = status == Status::Running;
            if attached && difference.is_none() {
                return Ok(Decision::AlreadyRuns(Running {
                    container: container.clone(),
                    ops: ops(&observed.kernel),
                    leftovers,
                }));
            }
            if let (StartMode::Run, Some(difference)) = (mode, difference) {
                return Err(other(container, desired, difference));
            }
            if attached {
                Some(container.clone())
            } else {
                // It is not attached, so there is no point in restoring it.
                leftovers.push(container.clone());
                None
            }
        }
    };
    match &observed.trial {
        Some(trial) => Err(Refusal::OnTrial {
            scheduler: trial.scheduler.clone(),
        }),
        None => Ok(Decision::Start {
            leftovers,
            replaces,
        }),
    }
}

/// How the running scheduler differs from the desired one. If a tag has moved since the start, that
/// is another image for `switch`, and the same one for `run`.
fn difference(
    running: &RuntimeContainer,
    desired: &DesiredScheduler,
    mode: StartMode,
) -> Option<String> {
    let record = &running.container.record;
    let moved = desired.image.is_some() && record.image != desired.image;
    if mode == StartMode::Switch && moved {
        return Some("an older image of that name".to_owned());
    }
    if record.requested.as_ref() != Some(&desired.reference) {
        let image = record
            .requested
            .as_ref()
            .unwrap_or(&running.container.image);
        return Some(format!("the image {image}"));
    }
    if record.args != desired.args {
        return Some(match record.args.as_slice() {
            [] => "no arguments".to_owned(),
            args => format!("the arguments {}", args.join(" ")),
        });
    }
    None
}

fn other(running: &RuntimeContainer, desired: &DesiredScheduler, difference: String) -> Refusal {
    let running = running.scheduler();
    if running == desired.name {
        Refusal::OtherVariant {
            running,
            difference,
        }
    } else {
        let desired = desired.name.clone();
        Refusal::OtherRuns { running, desired }
    }
}

/// The attached scheduler is not schedctl's.
fn foreign(observed: &Observed) -> Refusal {
    let kernel = &observed.kernel;
    let ops = ops(kernel).map_or_else(|| "a scheduler".to_owned(), |ops| ops.to_string());
    match attached_pod(kernel, &observed.sked) {
        Some(pod) => Refusal::Sked {
            ops,
            pod: pod.location(),
            remedy: pod.remedy(),
        },
        None => Refusal::Foreign { ops },
    }
}

fn several(observed: &Observed) -> Refusal {
    let live = observed.containers.iter().filter(|one| one.is_live());
    Refusal::Several(live.map(RuntimeContainer::scheduler).collect())
}

fn ops(kernel: &Fact<KernelSchedExt>) -> Option<OpsName> {
    kernel.known().and_then(KernelSchedExt::attached).cloned()
}

#[cfg(test)]
mod tests;
