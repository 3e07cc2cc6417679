//! Reads what runs: the kernel's state, schedctl's containers in both runtimes, sked's containers on
//! a Kubernetes node, and a trial in progress. Changes nothing; [`crate::decide`] decides about it.

use std::time::Duration;

use schedkit_host::{Fact, HostRoot, KernelSchedExt};
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{ContainerState, DriverError};

use crate::container::RuntimeContainer;
use crate::inventory::{READ_TIMEOUT, list, list_both};
use crate::kernel::KernelMonitor;
use crate::runtimes::Runtimes;
use crate::sked::{self, SkedPod};
use crate::state_dir::{StateDir, StateError};
use crate::status::{Assessment, UnknownKernelState, assess, process_to_inspect};
use crate::trial::Trial;

/// How long a transition of the kernel may take; it usually takes milliseconds.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
/// Longer than for commands that only read: a loaded machine makes runtimes slow, and a change
/// must not fail for that.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) kernel: Fact<KernelSchedExt>,
    /// schedctl's containers in both runtimes.
    pub(crate) containers: Vec<RuntimeContainer>,
    /// sked's containers; empty if they could not be listed.
    pub(crate) sked: Vec<SkedPod>,
    /// Whether the process of [`process_to_inspect`] holds a scheduler.
    pub(crate) holds_scheduler: Fact<bool>,
    pub(crate) trial: Option<Trial>,
}

/// What runs, as far as the runtimes answer.
#[derive(Debug)]
pub(crate) struct Reachable {
    pub(crate) observed: Observed,
    pub(crate) answered: Vec<Runtime>,
    /// Why containers of a runtime are unknown.
    pub(crate) unread: Vec<DriverError>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ObserveError {
    #[error("cannot determine what runs on this machine")]
    Driver(#[from] DriverError),
    #[error(transparent)]
    State(#[from] StateError),
}

/// The chosen runtime must answer, and the other one if it is installed: without knowing all
/// containers nothing may be changed. An error about sked's containers is only a warning, because
/// the kernel refuses a second scheduler anyway.
pub(crate) async fn observe(
    root: &HostRoot,
    state: &StateDir,
    runtimes: &Runtimes,
) -> Result<Observed, ObserveError> {
    let pods = sked::list(runtimes, CHANGE_TIMEOUT);
    let (inventory, pods) = tokio::join!(list_both(runtimes, CHANGE_TIMEOUT, list), pods);
    if let Some(error) = inventory.chosen_error.or(inventory.other_error) {
        return Err(error.into());
    }
    Ok(with_kernel(root, state, inventory.containers, pods).await?)
}

/// For commands that act on a container which is there already: a runtime that is down or hangs
/// does not keep them from acting on one of the other runtime.
pub(crate) async fn observe_reachable(
    root: &HostRoot,
    state: &StateDir,
    runtimes: &Runtimes,
) -> Result<Reachable, StateError> {
    let pods = sked::list(runtimes, READ_TIMEOUT);
    let (inventory, pods) = tokio::join!(list_both(runtimes, READ_TIMEOUT, list), pods);
    let unread = inventory.chosen_error.into_iter();
    Ok(Reachable {
        answered: inventory.answered,
        unread: unread.chain(inventory.other_error).collect(),
        observed: with_kernel(root, state, inventory.containers, pods).await?,
    })
}

async fn with_kernel(
    root: &HostRoot,
    state: &StateDir,
    containers: Vec<RuntimeContainer>,
    pods: Result<Vec<SkedPod>, DriverError>,
) -> Result<Observed, StateError> {
    let monitor = KernelMonitor::new(root.clone());
    let kernel = monitor.settled(SETTLE_TIMEOUT).await;
    let mut sked = pods.unwrap_or_else(|error| {
        tracing::warn!("cannot determine whether sked runs a scheduler here: {error}");
        Vec::new()
    });
    sked::read_links(&mut sked, &kernel, root);
    let process = process_to_inspect(&kernel, &containers);
    let holds_scheduler = process.map_or(Fact::Absent, |pid| monitor.holds_scheduler(pid));
    Ok(Observed {
        kernel,
        containers,
        sked,
        holds_scheduler,
        trial: Trial::read(state)?,
    })
}

impl Observed {
    pub(crate) fn assess(&self) -> Result<Assessment<'_>, UnknownKernelState> {
        let Self {
            kernel,
            containers,
            holds_scheduler,
            ..
        } = self;
        assess(kernel, containers, holds_scheduler, None)
    }

    /// Containers that an interrupted run left behind: certainly schedctl's, created or exited, and not
    /// the fallback of a trial.
    pub(crate) fn leftovers(&self) -> impl Iterator<Item = &RuntimeContainer> {
        let fallback = self.trial.as_ref().and_then(|trial| trial.before.as_ref());
        self.containers.iter().filter(move |one| {
            let stopped = matches!(
                one.container.state,
                ContainerState::Created | ContainerState::Exited(_)
            );
            stopped && one.is_ours() && fallback != Some(&one.container.id)
        })
    }
}

#[cfg(test)]
mod tests;
