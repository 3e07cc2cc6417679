//! Executes a plan: the only code that acts on a [`PlanStep`]. If a step fails, the steps that were
//! begun are undone, the latest first, so that the old scheduler runs again and no container is left.

pub(crate) mod failure;
mod start;

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::KernelSchedExt;
use schedkit_runtime::{After, ContainerId, Driver, DriverError};
use tokio::time::{Instant, timeout};

pub(crate) use failure::{FailureCause, PlanFailure, Rollback};
pub(crate) use start::Executor;
use start::Started;

use crate::boot_time::since_boot;
use crate::interrupt::Interrupt;
use crate::kernel::{Attachment, DETACH_TIMEOUT};
use crate::plan::{NamedContainer, Plan, PlanStep, Undo, WaitLimits};
use crate::trial::{Stage, Trial};

/// For a scheduler that never was attached, or that has failed.
const SHORT_GRACE: Duration = Duration::from_secs(5);
/// How long a container may take to be prepared while the old scheduler runs.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Success {
    pub(crate) container: ContainerId,
    /// `None` if the kernel was not waited for.
    pub(crate) attachment: Option<Attachment>,
    /// From the start until the kernel had attached it.
    pub(crate) attach_time: Option<Duration>,
    /// How long the kernel had no scheduler attached in between.
    pub(crate) gap: Option<Duration>,
    /// When the trial ends.
    pub(crate) trial_until: Option<Timestamp>,
    /// What could not be removed; the scheduler runs nevertheless.
    pub(crate) leftovers: Vec<Rollback>,
}

/// What the executed steps have achieved.
#[derive(Default)]
struct Progress {
    new: Option<ContainerId>,
    started: Option<Started>,
    gap: Option<Duration>,
    trial: Option<Trial>,
    leftovers: Vec<Rollback>,
}

struct Swapped {
    gap: Option<Duration>,
    started: Started,
    leftover: Option<Rollback>,
}

pub(crate) async fn execute<D: Driver>(
    plan: &Plan,
    executor: &Executor<'_, D>,
    interrupt: &Interrupt,
    on_step: &mut dyn FnMut(&PlanStep),
) -> Result<Success, Box<PlanFailure>> {
    // A signal undoes what was begun, here and not by dropping it.
    let _hold = interrupt.hold();
    let mut progress = Progress::default();
    for (at, step) in plan.steps.iter().enumerate() {
        // A signal that arrived before this step: there is nothing of it to undo.
        let interrupted = tokio::select! {
            biased;
            signal = interrupt.received(), if step.is_interruptible() => Some(signal),
            () = std::future::ready(()) => None,
        };
        let (begun, result) = if let Some(signal) = interrupted {
            (&plan.steps[..at], Err(signal.into()))
        } else {
            on_step(step);
            let result = tokio::select! {
                result = executor.perform(step, plan, &mut progress) => result,
                signal = interrupt.received(), if step.is_interruptible() => Err(signal.into()),
            };
            (&plan.steps[..=at], result)
        };
        if let Err(cause) = result {
            let begun = begun.iter().rev();
            let rollback = executor.roll_back(begun, &progress).await;
            return Err(Box::new(PlanFailure { cause, rollback }));
        }
    }
    progress.success().ok_or_else(|| {
        let (cause, rollback) = (FailureCause::NothingStarted, Vec::new());
        Box::new(PlanFailure { cause, rollback })
    })
}

impl<D: Driver> Executor<'_, D> {
    async fn perform(
        &self,
        step: &PlanStep,
        plan: &Plan,
        progress: &mut Progress,
    ) -> Result<(), FailureCause> {
        match step {
            // A leftover that cannot be removed does not prevent a start: it is not attached.
            PlanStep::Clear(old) => progress.leftovers.extend(self.try_remove(&old.id).await),
            PlanStep::Create => progress.new = Some(self.driver.create(&plan.launch).await?),
            // The old scheduler may starve the runtime. Then `start` does the rest of the work after
            // the old one has stopped.
            PlanStep::Prepare => {
                let ready = self.driver.prepare(progress.created()?);
                if let Ok(ready) = timeout(READY_TIMEOUT, ready).await {
                    ready?;
                }
            }
            PlanStep::Guard { trial, before } => {
                let before = before.as_ref();
                progress.trial =
                    Some(self.begin_trial(plan, *trial, before, progress.created()?)?);
            }
            PlanStep::Start(wait) => {
                let started = self.start(progress.created()?, *wait).await?;
                self.record_start(progress, started)?;
            }
            PlanStep::Launch => self.driver.start(progress.created()?).await?,
            PlanStep::Swap { old, grace, wait } => {
                let swapped = self.swap(old, *grace, progress.created()?, *wait).await?;
                progress.gap = swapped.gap;
                progress.leftovers.extend(swapped.leftover);
                self.record_start(progress, swapped.started)?;
            }
            // The new scheduler is attached: an error about the old container does not undo that.
            PlanStep::Remove(old) => progress.leftovers.extend(self.try_remove(&old.id).await),
        }
        Ok(())
    }

    /// Stops the old container, and starts the new one as soon as the kernel has detached the old
    /// scheduler, without waiting for the runtime to clean up.
    async fn swap(
        &self,
        old: &NamedContainer,
        grace: Duration,
        new: &ContainerId,
        wait: WaitLimits,
    ) -> Result<Swapped, FailureCause> {
        let kernel = self.kernel.read();
        let attached = kernel.known().and_then(KernelSchedExt::attached).is_some();
        let mut stopping = pin!(self.driver.end(&old.id, grace, After::Keep));
        // If the old scheduler is not attached it may be about to attach: wait for its exit.
        let stopped = tokio::select! {
            biased;
            () = self.kernel.wait_disabled(), if attached => None,
            stopped = &mut stopping => Some(stopped),
        };
        let begin = Instant::now();
        let (started, leftover) = if let Some(stopped) = stopped {
            stopped?;
            self.wait_disabled().await?;
            (self.start(new, wait).await?, None)
        } else {
            let (stopped, started) = tokio::join!(stopping, self.start(new, wait));
            let leftover = stopped.err().map(|error| Rollback::Leftover(error.into()));
            (started?, leftover)
        };
        // Without the probation. If nothing was attached, the gap began earlier and is unknown.
        let gap = attached.then(|| started.attached_at - begin);
        Ok(Swapped {
            gap,
            started,
            leftover,
        })
    }

    async fn wait_disabled(&self) -> Result<(), FailureCause> {
        let disabled = timeout(DETACH_TIMEOUT, self.kernel.wait_disabled());
        disabled.await.map_err(|_| FailureCause::NotDetached)
    }

    /// Writes the trial's file and starts its guard.
    fn begin_trial(
        &self,
        plan: &Plan,
        length: Duration,
        before: Option<&NamedContainer>,
        candidate: &ContainerId,
    ) -> Result<Trial, FailureCause> {
        // The trial begins when the scheduler is attached, so the guard must not act before.
        let waits = plan.steps.iter().filter_map(PlanStep::wait);
        let start_time: Duration = waits.map(|wait| wait.attach + wait.probation).sum();
        let trial = Trial {
            scheduler: plan.launch.scheduler().to_owned(),
            runtime: self.runtime,
            candidate: candidate.clone(),
            before: before.map(|old| old.id.clone()),
            length,
            until: Timestamp::now() + start_time + length,
            deadline: since_boot() + start_time + length,
            boot_id: self.state.boot_id().map(str::to_owned),
            stage: Stage::Starting,
            failed: None,
        };
        trial.save(self.state)?;
        match (self.start_guard)(&trial) {
            Ok(()) => Ok(trial),
            Err(error) => {
                // Without a guard the trial would never end.
                Trial::delete(self.state)?;
                Err(FailureCause::Guard(error))
            }
        }
    }

    /// The scheduler is attached: its trial begins now.
    fn record_start(&self, progress: &mut Progress, started: Started) -> Result<(), FailureCause> {
        if let Some(trial) = &mut progress.trial {
            trial.until = Timestamp::now() + trial.length;
            trial.deadline = since_boot() + trial.length;
            trial.stage = Stage::Begun {
                enable_seq: started.attachment.enable_seq,
            };
            trial.save(self.state)?;
        }
        progress.started = Some(started);
        Ok(())
    }

    /// Undoes the steps. The trial is deleted last, and only if everything was undone: until then
    /// its guard goes on.
    async fn roll_back(
        &self,
        begun: impl Iterator<Item = &PlanStep>,
        progress: &Progress,
    ) -> Vec<Rollback> {
        let mut rollback = Vec::new();
        for undo in begun.filter_map(PlanStep::undo) {
            rollback.extend(match undo {
                Undo::StartOld(old, wait) => Some(self.start_old(old, wait, progress).await),
                Undo::RemoveNew => match &progress.new {
                    Some(new) => self.try_remove(new).await,
                    None => None,
                },
            });
        }
        let restored = |one: &Rollback| matches!(one, Rollback::Restored { .. });
        if progress.trial.is_some() && rollback.iter().all(restored) {
            let deleted = Trial::delete(self.state);
            rollback.extend(deleted.err().map(|error| Rollback::Leftover(error.into())));
        }
        rollback
    }

    async fn start_old(
        &self,
        old: NamedContainer,
        wait: WaitLimits,
        progress: &Progress,
    ) -> Rollback {
        let scheduler = old.name;
        match self.restore(progress.new.as_ref(), &old.id, wait).await {
            Ok(Attachment { ops, .. }) => Rollback::Restored { scheduler, ops },
            Err(cause) => Rollback::NotRestored { scheduler, cause },
        }
    }

    /// Starts the old container again, after removing the new one: the kernel attaches one scheduler
    /// at a time.
    pub(crate) async fn restore(
        &self,
        new: Option<&ContainerId>,
        old: &ContainerId,
        wait: WaitLimits,
    ) -> Result<Attachment, FailureCause> {
        if let Some(new) = new {
            self.remove(new).await?;
        }
        // An earlier request to stop it may still be in progress.
        self.driver.end(old, SHORT_GRACE, After::Keep).await?;
        self.wait_disabled().await?;
        let started = self.start(old, wait).await?;
        Ok(started.attachment)
    }

    async fn try_remove(&self, id: &ContainerId) -> Option<Rollback> {
        let removed = self.remove(id).await;
        removed.err().map(|error| Rollback::Leftover(error.into()))
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.driver.end(id, SHORT_GRACE, After::Remove).await
    }
}

impl Progress {
    fn created(&self) -> Result<&ContainerId, FailureCause> {
        self.new.as_ref().ok_or(FailureCause::NothingStarted)
    }

    fn success(self) -> Option<Success> {
        let attach_time = self.started.as_ref().map(|started| started.attach_time);
        Some(Success {
            container: self.new?,
            attachment: self.started.map(|started| started.attachment),
            attach_time,
            gap: self.gap,
            trial_until: self.trial.map(|trial| trial.until),
            leftovers: self.leftovers,
        })
    }
}

#[cfg(test)]
mod tests;
