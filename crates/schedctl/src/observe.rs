//! What is there: the kernel's word, the containers of ours in every runtime that answers, what
//! sked runs where this is a node of a cluster, and a trial that goes on. Reads only; [`crate::decide`] makes up its mind about it.

use std::time::Duration;

use schedkit_host::{Fact, HostRoot, SchedExt, struct_ops};
use schedkit_runtime::{ContainerState, DriverError};

use crate::kernel::Kernel;
use crate::runtimes::{Runtimes, list, survey};
use crate::sked::{self, SkedPod};
use crate::state_dir::{StateDir, StateError};
use crate::status::{Held, doubtful};
use crate::trial::Trial;

/// A scheduler that comes or goes does so in milliseconds; one that hangs there is told as it is.
const SETTLING: Duration = Duration::from_secs(3);
/// A machine that is busy makes its runtimes slow, and a change that is refused for that is worse
/// than one that takes a while.
const PATIENCE: Duration = Duration::from_secs(30);

/// A machine at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// What the kernel says.
    pub(crate) kernel: Fact<SchedExt>,
    /// Containers of ours, in both runtimes.
    pub(crate) ours: Vec<Held>,
    /// What sked runs here, as far as that could be seen.
    pub(crate) sked: Vec<SkedPod>,
    /// Whether the process whose name tells nothing holds a scheduler.
    pub(crate) holds: Fact<bool>,
    /// A scheduler that is tried and not confirmed yet.
    pub(crate) trial: Option<Trial>,
}

/// Why it cannot be told what is there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObserveError {
    /// A runtime does not say what it has.
    #[error("it cannot be told what runs on this machine")]
    Driver(#[from] DriverError),
    /// Something that schedctl keeps between runs cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Looks. The chosen runtime must answer, and the other one unless it is not there: who cannot see
/// everything must not change anything. That holds for what is ours: trouble with the kubelet's
/// containers keeps nobody from anything, since the kernel refuses a second scheduler anyway.
pub(crate) async fn observe(
    root: &HostRoot,
    state: &StateDir,
    runtimes: &Runtimes,
) -> Result<Observed, ObserveError> {
    let looked = sked::look(runtimes, PATIENCE);
    let (sight, sked) = tokio::join!(survey(runtimes, PATIENCE, list), looked);
    if let Some(error) = sight.blind.or(sight.half_blind) {
        return Err(error.into());
    }
    let ours = sight.ours;
    let kernel = Kernel::of(root.clone()).settled(SETTLING).await;
    let mut sked = sked.unwrap_or_else(|error| {
        tracing::warn!("whether sked runs a scheduler here is not known: {error}");
        Vec::new()
    });
    sked::examine(&mut sked, &kernel, root);
    let holds = doubtful(&kernel, &ours);
    let holds = holds.map_or(Fact::Absent, |pid| struct_ops::holds(root, pid));
    Ok(Observed {
        kernel,
        ours,
        sked,
        holds,
        trial: Trial::read(state)?,
    })
}

impl Observed {
    /// What a run that was cut short left behind: made or ended, and nobody will start it again.
    pub(crate) fn leftovers(&self) -> impl Iterator<Item = &Held> {
        let spare = self.trial.as_ref().and_then(|trial| trial.before.as_ref());
        self.ours.iter().filter(move |held| {
            let over = matches!(
                held.container.state,
                ContainerState::Created | ContainerState::Exited(_)
            );
            over && spare != Some(&held.container.id)
        })
    }
}
