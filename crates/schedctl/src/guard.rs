//! The guard process of a trial: ends the trial when its time is up, or when the kernel ejects the
//! scheduler, and tries again until that has worked. [`crate::guard_process`] starts it.
//!
//! ```text
//! trial.json exists ─▶ time is up, or ejected ─▶ take the lock, read again ─▶ end the trial
//!        │                                  ▲                        │
//!        │                                  └── pause ◀── failed ────┤  noted in trial.json
//!        ├── still starting, and the lock is free: its starter was killed
//!        └── deleted, or of another trial: confirmed or stopped ─▶ exit
//! ```

use std::fmt;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_runtime::{After, ContainerId, Driver};
use tokio::time::sleep;

use crate::boot_time::since_boot;
use crate::error_text;
use crate::execute::{Executor, FailureCause};
use crate::kernel::{Attachment, KernelMonitor};
use crate::plan::WaitLimits;
use crate::state_dir::{StateDir, StateError};
use crate::steps::take_lock::is_suspended;
use crate::trial::{Stage, Trial};

const INTERVAL: Duration = Duration::from_millis(500);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(10);
/// For the old scheduler. Generous: there is nothing else to restore.
const RESTORE: WaitLimits = WaitLimits {
    attach: Duration::from_secs(120),
    probation: Duration::ZERO,
};
/// After so many failures to stop the candidate, the kernel is asked to detach it.
const MAX_FAILURES: u32 = 3;
/// The pause between two attempts doubles that often: half a minute at most.
const MAX_DOUBLINGS: u32 = 6;

#[derive(Debug)]
pub(crate) enum TrialEnd {
    /// Confirmed or stopped by a command.
    ByCommand,
    /// The candidate was removed; the old scheduler, if there was one, is attached again.
    Restored(Option<Attachment>),
    /// The candidate was removed; the old scheduler's container has been removed meanwhile.
    NothingToRestore,
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
            Self::NothingToRestore => f.write_str(
                "it was stopped; the container of the scheduler before it has been removed",
            ),
            Self::NotRestored(cause) => {
                let cause = error_text::one_line(cause);
                write!(
                    f,
                    "it was stopped, but the old scheduler did not start: {cause}"
                )
            }
        }
    }
}

/// Waits for the end of this candidate's trial, and ends it if necessary. What fails is tried again,
/// without the lock in between; after some failures the kernel is made to detach the scheduler.
pub(crate) async fn watch<D: Driver>(
    executor: &Executor<'_, D>,
    candidate: &ContainerId,
) -> TrialEnd {
    let (mut failures, mut last) = (0_u32, String::new());
    loop {
        match check(executor, candidate).await {
            Ok(Some(end)) => return end,
            Ok(None) => {}
            Err(cause) => {
                failures = failures.saturating_add(1);
                let error = error_text::one_line(&cause);
                // It may go on for days: the same again is not worth a line each time.
                if error != last || failures.is_power_of_two() {
                    tracing::warn!(
                        "the trial of {candidate} could not be ended (attempt {failures}): {error}; \
                         trying again in {:?}",
                        pause(failures)
                    );
                }
                last = error;
                if failures == MAX_FAILURES {
                    force_detach(executor, candidate);
                }
            }
        }
        sleep(pause(failures)).await;
    }
}

fn pause(failures: u32) -> Duration {
    INTERVAL * (1 << failures.min(MAX_DOUBLINGS))
}

async fn check<D: Driver>(
    executor: &Executor<'_, D>,
    candidate: &ContainerId,
) -> Result<Option<TrialEnd>, FailureCause> {
    let Some(trial) = read_trial(executor.state, candidate)? else {
        return Ok(Some(TrialEnd::ByCommand));
    };
    if !may_be_over(&trial, since_boot(), executor.kernel) {
        return Ok(None);
    }
    // The process that starts a trial holds the lock until it has begun, and so does one that ends
    // it.
    let Some(_lock) = executor.state.try_lock()? else {
        continue_suspended(executor.state);
        return Ok(None);
    };
    // It may have changed just before the lock was released.
    if read_trial(executor.state, candidate)?.as_ref() != Some(&trial) {
        return Ok(None);
    }
    match end_trial(executor, &trial).await {
        Ok(TrialEnd::NotRestored(cause)) | Err(cause) => {
            // Without the note, as on a full disk, it is still tried again.
            if let Err(error) = trial.with_failure(&cause).save(executor.state) {
                tracing::warn!("{}", error_text::one_line(&error));
            }
            Err(cause)
        }
        Ok(end) => {
            Trial::delete(executor.state)?;
            Ok(Some(end))
        }
    }
}

/// Whoever holds the lock and is suspended (Ctrl-Z) would keep the trial from ending for ever.
fn continue_suspended(state: &StateDir) {
    let Some(holder) = state.lock_holder().filter(|pid| is_suspended(*pid)) else {
        return;
    };
    tracing::warn!(
        "continuing another schedctl (pid {holder}), which is suspended: it keeps the trial from \
         ending"
    );
    let pid = i32::try_from(holder).ok().and_then(Pid::from_raw);
    if let Some(Err(error)) = pid.map(|pid| kill_process(pid, Signal::CONT)) {
        tracing::warn!("it cannot be continued: {error}");
    }
}

fn read_trial(state: &StateDir, candidate: &ContainerId) -> Result<Option<Trial>, StateError> {
    let trial = Trial::read(state)?;
    Ok(trial.filter(|trial| trial.candidate == *candidate))
}

/// A trial that is being started is over if its starter was killed, which the lock shows.
fn may_be_over(trial: &Trial, now: Duration, kernel: &KernelMonitor) -> bool {
    if trial.failed.is_some() {
        return true;
    }
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
    ejected || now >= trial.deadline
}

/// Removes the candidate and restores the old scheduler. Called with the lock held. The caller
/// deletes the trial, or keeps it to try again.
pub(crate) async fn end_trial<D: Driver>(
    executor: &Executor<'_, D>,
    trial: &Trial,
) -> Result<TrialEnd, FailureCause> {
    let removed = executor.driver.end(&trial.candidate, GRACE, After::Remove);
    removed.await?;
    let Some(old) = &trial.before else {
        return Ok(TrialEnd::Restored(None));
    };
    Ok(match restore(executor, old).await {
        Ok(Some(attachment)) => TrialEnd::Restored(Some(attachment)),
        Ok(None) => TrialEnd::NothingToRestore,
        Err(cause) => TrialEnd::NotRestored(cause),
    })
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

/// `None` if the old container does not exist any more.
async fn restore<D: Driver>(
    executor: &Executor<'_, D>,
    old: &ContainerId,
) -> Result<Option<Attachment>, FailureCause> {
    let all = executor.driver.list().await?;
    let Some(found) = all.iter().find(|container| container.id == *old) else {
        return Ok(None);
    };
    // A trial that was interrupted early may not have stopped the old scheduler; an attempt that
    // took too long may have started it.
    if found.pid().is_some() {
        let kernel = executor.kernel.settled(SETTLE_TIMEOUT).await;
        if let Some(ops) = kernel.known().and_then(KernelSchedExt::attached) {
            return Ok(Some(Attachment {
                ops: ops.clone(),
                enable_seq: executor.kernel.enable_seq(),
            }));
        }
    }
    executor.restore(None, old, RESTORE).await.map(Some)
}

#[cfg(test)]
mod tests;
