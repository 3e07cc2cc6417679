//! Whether a scheduler may be started, and which one it replaces. Pure: the observation and the
//! desired scheduler in, a decision or a refusal out. Called before the registry is asked, so that
//! a refusal needs no network.
//!
//! ```text
//!                                            run             switch
//! nothing runs                               start           start
//! the same scheduler runs
//!   with another image than requested        refuse          replace it
//!   unverified, and that is not waived now   refuse (3)      replace it
//!   with other arguments                     refuse          replace it
//!   on trial, and no trial is requested      refuse          refuse
//!   not on trial, and a trial is requested   refuse          refuse
//!   otherwise                                done            done
//! another of schedctl's runs                 refuse          replace it
//! schedctl's runs, not attached              remove it, start (run: only if it is the same, else refuse)
//! a container runs that is not certainly     refuse (3 if it is the same and that is not waived,
//!   schedctl's                                       else 5)         refuse
//! a foreign scheduler is attached            refuse          refuse
//! sked runs one here                         refuse          refuse (unless schedctl's is attached)
//! several of schedctl's run                  refuse          refuse
//! a trial is in progress                     refuse          refuse
//! ```
//!
//! A refusal is exit code 5, or 3 where the table has it. An image is the requested one if its
//! reference is, or if the request names the digest that runs. What was enabled is requested by its
//! digest.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_core::{ImageRef, OpsName};
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_runtime::Trust;
use schedkit_runtime::driver::Runtime;

use crate::container::RuntimeContainer;
use crate::observe::Observed;
use crate::runtimes::driver_name;
use crate::status::{Status, attached_pod};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DesiredScheduler {
    pub(crate) name: String,
    pub(crate) reference: ImageRef,
    /// The image by digest, once that is known.
    pub(crate) image: Option<String>,
    /// Appended to its entrypoint.
    pub(crate) args: Vec<String>,
    /// The flag or variable that allows an unsigned image.
    pub(crate) waiver: Option<&'static str>,
    pub(crate) trial: Option<Duration>,
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
    /// If it is on trial.
    pub(crate) trial_until: Option<Timestamp>,
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
    /// The same scheduler, but nobody vouched for its image.
    #[error(
        "{running} runs already, but its image was not verified ({why}): `schedctl switch` verifies \
         and replaces it, `--allow-unsigned` accepts it as it is"
    )]
    Unverified { running: String, why: String },
    /// The same scheduler, started by an older schedctl or by somebody else.
    #[error(
        "{running} runs already, in a container that this schedctl did not create, so it is unknown \
         whether its image was verified: stop it with `schedctl stop {id}`, then start it again"
    )]
    UnknownTrust { running: String, id: String },
    #[error(
        "{running} runs already, in a container that this schedctl did not create and does not \
         replace: stop it with `schedctl stop {id}`, then try again"
    )]
    Unproven { running: String, id: String },
    #[error(
        "{running} runs already, and not on trial: omit --trial to keep it, or stop it with \
         `schedctl stop {running}` first"
    )]
    NotOnTrial { running: String },
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
            let attached = status == Status::Running;
            if !container.is_ours() {
                return Err(unproven(container, desired, mode));
            }
            let difference = difference(container, desired, mode);
            if attached && difference.is_none() {
                return already_runs(observed, container, desired, leftovers);
            }
            match (mode, difference) {
                // It is started again, from an image that is verified by then.
                (StartMode::Run, Some(Difference::Unverified(_))) if !attached => {}
                (StartMode::Run, Some(difference)) => {
                    return Err(other(container, desired, difference));
                }
                (StartMode::Run, None) | (StartMode::Switch, _) => {}
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

/// How a running scheduler differs from the desired one.
enum Difference {
    /// Its image or its arguments.
    Variant(String),
    /// Why its image is not trusted now.
    Unverified(String),
}

/// If a tag has moved since the start, that is another image for `switch`, and the same one for
/// `run`.
fn difference(
    running: &RuntimeContainer,
    desired: &DesiredScheduler,
    mode: StartMode,
) -> Option<Difference> {
    let record = &running.container.record;
    let moved = desired.image.is_some() && record.image != desired.image;
    if mode == StartMode::Switch && moved {
        let older = "an older image of that name".to_owned();
        return Some(Difference::Variant(older));
    }
    if !is_requested_image(running, &desired.reference) {
        let recorded = match desired.reference.digest() {
            // The name may be the same.
            Some(_) => record.image.as_ref(),
            None => record.requested.as_ref(),
        };
        let image = recorded.unwrap_or(&running.container.image);
        return Some(Difference::Variant(format!("the image {image}")));
    }
    if desired.waiver.is_none() {
        let why = match &record.trust {
            Some(Trust::Verified { .. }) => None,
            Some(Trust::Waived(waiver)) => Some(format!("because of {waiver}")),
            None => Some("no verification is recorded".to_owned()),
        };
        if let Some(why) = why {
            return Some(Difference::Unverified(why));
        }
    }
    if record.args != desired.args {
        return Some(Difference::Variant(match record.args.as_slice() {
            [] => "no arguments".to_owned(),
            args => format!("the arguments {}", args.join(" ")),
        }));
    }
    None
}

/// By the reference, or by a digest in it.
fn is_requested_image(running: &RuntimeContainer, reference: &ImageRef) -> bool {
    let record = &running.container.record;
    let digest = reference.digest();
    let pinned = digest.map(|digest| format!("{}@{digest}", reference.repository()));
    record.requested.as_deref() == Some(&reference.to_string())
        || pinned.is_some() && record.image == pinned
}

/// The desired scheduler is attached; the question left is whether it is on trial.
fn already_runs(
    observed: &Observed,
    container: &RuntimeContainer,
    desired: &DesiredScheduler,
    leftovers: Vec<RuntimeContainer>,
) -> Result<Decision, Refusal> {
    let trial_until = match (&observed.trial, desired.trial) {
        (None, None) => None,
        (Some(trial), Some(_)) if trial.candidate == container.container.id => Some(trial.until),
        (Some(trial), _) => {
            let scheduler = trial.scheduler.clone();
            return Err(Refusal::OnTrial { scheduler });
        }
        (None, Some(_)) => {
            let running = container.scheduler();
            return Err(Refusal::NotOnTrial { running });
        }
    };
    Ok(Decision::AlreadyRuns(Running {
        container: container.clone(),
        ops: ops(&observed.kernel),
        trial_until,
        leftovers,
    }))
}

/// A container that is not certainly schedctl's is never replaced or removed.
fn unproven(container: &RuntimeContainer, desired: &DesiredScheduler, mode: StartMode) -> Refusal {
    let (running, id) = (container.scheduler(), container.container.id.short());
    let (same, id) = (running == desired.name, id.to_owned());
    if mode == StartMode::Run && same && desired.waiver.is_none() {
        Refusal::UnknownTrust { running, id }
    } else {
        Refusal::Unproven { running, id }
    }
}

fn other(
    running: &RuntimeContainer,
    desired: &DesiredScheduler,
    difference: Difference,
) -> Refusal {
    let running = running.scheduler();
    match difference {
        _ if running != desired.name => {
            let desired = desired.name.clone();
            Refusal::OtherRuns { running, desired }
        }
        Difference::Variant(difference) => Refusal::OtherVariant {
            running,
            difference,
        },
        Difference::Unverified(why) => Refusal::Unverified { running, why },
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
