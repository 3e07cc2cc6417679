//! The guard process of a trial: ends the trial when its time is up, or when the kernel ejects the
//! scheduler. It is a process in a session of its own, so it outlives the schedctl that began the
//! trial, and the terminal.
//!
//! ```text
//! trial.json exists ─▶ time is up, or ejected ─▶ take the lock, read again ─▶ end the trial
//!        ├── still starting, and the lock is free: its starter was killed ────────┘
//!        └── deleted, or of another trial: confirmed or stopped ─▶ exit
//! ```

use std::fmt;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_runtime::{After, Container, ContainerId, Driver};
use tokio::time::sleep;

use crate::execute::{Executor, FailureCause};
use crate::kernel::{Attachment, KernelMonitor};
use crate::plan::WaitLimits;
use crate::runtimes::{Endpoint, driver_name};
use crate::state_dir::{StateDir, StateError};
use crate::trial::{Stage, Trial};

const INTERVAL: Duration = Duration::from_millis(500);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(10);
/// For the old scheduler. Generous: there is nothing else to restore.
const RESTORE: WaitLimits = WaitLimits {
    attach: Duration::from_secs(120),
    probation: Duration::ZERO,
};
const READY: &[u8] = b"ready";
/// After so many failures to stop the candidate, the kernel is asked to detach it.
const MAX_FAILURES: u32 = 3;

#[derive(Debug)]
pub(crate) enum TrialEnd {
    /// Confirmed or stopped by a command.
    ByCommand,
    /// The candidate was removed; the old scheduler, if there was one, is attached again.
    Restored(Option<Attachment>),
    /// The candidate was removed; the old scheduler is not attached.
    NotRestored(FailureCause),
}

impl fmt::Display for TrialEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByCommand => f.write_str("it was confirmed or stopped"),
            Self::Restored(None) => f.write_str("it was stopped; no scheduler ran before it"),
            Self::Restored(Some(attachment)) => {
                write!(
                    f,
                    "it was stopped, and {} is attached again",
                    attachment.ops
                )
            }
            Self::NotRestored(cause) => {
                write!(
                    f,
                    "it was stopped, but the old scheduler did not start: {cause}"
                )
            }
        }
    }
}

/// Starts the guard process, and returns once it watches.
pub(crate) fn start_guard(endpoint: &Endpoint, trial: &Trial) -> io::Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--driver", driver_name(endpoint.runtime), "--socket"])
        .arg(&endpoint.socket)
        .args(["guard", trial.candidate.as_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = &mut child.stdout {
        stdout.take(READY.len() as u64).read_to_end(&mut output)?;
    }
    if output == READY {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(io::Error::other("the guard process ended at once"))
}

/// Called in the guard process: leaves the terminal's session, and reports that to its parent.
pub(crate) fn detach_from_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    // The parent may have been killed; the guard goes on.
    let _ = io::Write::write_all(&mut io::stdout(), READY);
    let _ = io::Write::flush(&mut io::stdout());
    Ok(())
}

/// Waits for the end of this candidate's trial, and ends it if necessary. Errors are retried; after
/// some, the kernel is made to detach the scheduler.
pub(crate) async fn watch<D: Driver>(
    executor: &Executor<'_, D>,
    candidate: &ContainerId,
) -> TrialEnd {
    let mut failures = 0;
    loop {
        match check(executor, candidate).await {
            Ok(Some(end)) => return end,
            Ok(None) => {}
            Err(cause) => {
                tracing::warn!("the trial of {candidate} could not be ended: {cause}");
                failures += 1;
                if failures == MAX_FAILURES {
                    force_detach(executor, candidate);
                }
            }
        }
        sleep(INTERVAL * (1 << failures.min(6))).await;
    }
}

async fn check<D: Driver>(
    executor: &Executor<'_, D>,
    candidate: &ContainerId,
) -> Result<Option<TrialEnd>, FailureCause> {
    let Some(trial) = read_trial(executor.state, candidate)? else {
        return Ok(Some(TrialEnd::ByCommand));
    };
    if !may_be_over(&trial, Timestamp::now(), executor.kernel) {
        return Ok(None);
    }
    // The process that starts a trial holds the lock until it has begun, and so does one that ends
    // it.
    let Some(_lock) = executor.state.try_lock()? else {
        return Ok(None);
    };
    // It may have changed just before the lock was released.
    if read_trial(executor.state, candidate)?.as_ref() != Some(&trial) {
        return Ok(None);
    }
    end_trial(executor, &trial).await.map(Some)
}

fn read_trial(state: &StateDir, candidate: &ContainerId) -> Result<Option<Trial>, StateError> {
    let trial = Trial::read(state)?;
    Ok(trial.filter(|trial| trial.candidate == *candidate))
}

/// A trial that is being started is over if its starter was killed, which the lock shows.
fn may_be_over(trial: &Trial, now: Timestamp, kernel: &KernelMonitor) -> bool {
    let Stage::Begun { enable_seq } = trial.stage else {
        return true;
    };
    let ejected = match kernel.read() {
        Fact::Known(kernel) => {
            let number = kernel.enable_seq.known();
            kernel.attached().is_none() && !kernel.is_transitional()
                || enable_seq.is_some_and(|ours| number.is_some_and(|now| *now != ours))
        }
        Fact::Absent | Fact::Unreadable(_) | Fact::Malformed(_) => false,
    };
    ejected || now >= trial.until
}

/// Removes the candidate and restores the old scheduler. Called with the lock held. If the candidate
/// cannot be removed, the trial is kept.
pub(crate) async fn end_trial<D: Driver>(
    executor: &Executor<'_, D>,
    trial: &Trial,
) -> Result<TrialEnd, FailureCause> {
    let removed = executor.driver.end(&trial.candidate, GRACE, After::Remove);
    removed.await?;
    let end = match &trial.before {
        None => TrialEnd::Restored(None),
        Some(old) => match restore(executor, old).await {
            Ok(attachment) => TrialEnd::Restored(Some(attachment)),
            Err(cause) => TrialEnd::NotRestored(cause),
        },
    };
    Trial::delete(executor.state)?;
    Ok(end)
}

/// The runtime does not stop the candidate, but the kernel can detach its scheduler.
fn force_detach<D: Driver>(executor: &Executor<'_, D>, candidate: &ContainerId) {
    let trial = read_trial(executor.state, candidate).ok().flatten();
    let Some(Stage::Begun { enable_seq }) = trial.map(|trial| trial.stage) else {
        return;
    };
    // Only if the attached scheduler is the candidate's.
    if enable_seq.is_some() && executor.kernel.enable_seq() == enable_seq {
        let _ = executor.kernel.force_detach();
    }
}

async fn restore<D: Driver>(
    executor: &Executor<'_, D>,
    old: &ContainerId,
) -> Result<Attachment, FailureCause> {
    let all = executor.driver.list().await?;
    let found = all.iter().find(|container| container.id == *old);
    // A trial that was interrupted early may not have stopped the old scheduler.
    if found.and_then(Container::pid).is_some() {
        let kernel = executor.kernel.settled(SETTLE_TIMEOUT).await;
        if let Some(ops) = kernel.known().and_then(KernelSchedExt::attached) {
            return Ok(Attachment {
                ops: ops.clone(),
                enable_seq: executor.kernel.enable_seq(),
            });
        }
    }
    executor.restore(None, old, RESTORE).await
}
