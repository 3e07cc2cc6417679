//! Does what a plan says: the only place that acts on a [`Step`]. When a step fails, what was begun
//! is taken back, the latest first, so that what ran before runs again and nothing half-made stays.

pub(crate) mod failure;
mod waiting;

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::SchedExt;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{After, ContainerId, Driver};
use tokio::time::{Instant, timeout};

pub(crate) use failure::{Aftermath, Cause, Failure, NotAttached};

use crate::interrupt::Interrupt;
use crate::kernel::{Kernel, Taken};
use crate::plan::{Named, Plan, Step, Undo, Wait};
use crate::state_dir::StateDir;
use crate::trial::{Stage, Trial};

/// The kernel lets go of a scheduler whose process is gone within milliseconds.
const LETTING_GO: Duration = Duration::from_secs(10);
/// For a scheduler that never was attached, or that has failed.
const SHORT_GRACE: Duration = Duration::from_secs(5);
/// How long a container may take to be made ready while the old scheduler works.
const READY: Duration = Duration::from_secs(10);

/// Everything that a plan acts on.
pub(crate) struct Machine<'a, D> {
    /// Who runs containers.
    pub(crate) driver: &'a D,
    /// Which one that is.
    pub(crate) runtime: Runtime,
    /// Whose word counts.
    pub(crate) kernel: &'a Kernel,
    /// What outlives this run.
    pub(crate) state: &'a StateDir,
    /// Who stands by during a trial.
    pub(crate) stand_by: &'a dyn Fn(&Trial) -> std::io::Result<()>,
}

/// How it went well.
#[derive(Debug)]
pub(crate) struct Success {
    /// The container.
    pub(crate) container: ContainerId,
    /// What the kernel says.
    pub(crate) taken: Option<Taken>,
    /// From its start until the kernel had it.
    pub(crate) attach: Option<Duration>,
    /// How long the kernel's own scheduler had the machine in between.
    pub(crate) gap: Option<Duration>,
    /// When it goes unless confirmed.
    pub(crate) trial: Option<Timestamp>,
    /// What should be gone and is not; the scheduler runs all the same.
    pub(crate) left: Vec<Aftermath>,
}

/// What is known so far.
#[derive(Default)]
struct Work {
    new: Option<ContainerId>,
    won: Option<Won>,
    gap: Option<Duration>,
    trial: Option<Trial>,
    left: Vec<Aftermath>,
}

/// A scheduler that the kernel took.
struct Won {
    taken: Taken,
    attach: Duration,
    at: Instant,
}

/// A scheduler that the kernel took in the place of another.
struct Swapped {
    gap: Option<Duration>,
    won: Won,
    left: Option<Aftermath>,
}

/// Does it all, or leaves things as they were.
pub(crate) async fn execute<D: Driver>(
    plan: &Plan,
    machine: &Machine<'_, D>,
    interrupt: &mut Interrupt,
    begins: &mut dyn FnMut(&Step),
) -> Result<Success, Box<Failure>> {
    let mut work = Work::default();
    for (at, step) in plan.steps.iter().enumerate() {
        // Whoever asked before has nothing of this step to take back.
        let asked = tokio::select! {
            biased;
            () = interrupt.heard(), if step.may_be_cut_short() => true,
            () = std::future::ready(()) => false,
        };
        let (begun, done) = if asked {
            (&plan.steps[..at], Err(Cause::Interrupted))
        } else {
            begins(step);
            let done = tokio::select! {
                done = machine.perform(step, plan, &mut work) => done,
                () = interrupt.heard(), if step.may_be_cut_short() => Err(Cause::Interrupted),
            };
            (&plan.steps[..=at], done)
        };
        if let Err(cause) = done {
            let begun = begun.iter().rev();
            let aftermath = machine.take_back(begun, &work).await;
            return Err(Box::new(Failure { cause, aftermath }));
        }
    }
    work.success().ok_or_else(|| {
        let (cause, aftermath) = (Cause::NothingStarted, Vec::new());
        Box::new(Failure { cause, aftermath })
    })
}

impl<D: Driver> Machine<'_, D> {
    async fn perform(&self, step: &Step, plan: &Plan, work: &mut Work) -> Result<(), Cause> {
        match step {
            // What cannot be cleared away is in nobody's way: the kernel does not run it.
            Step::Clear(old) => work.left.extend(self.removed(&old.id).await),
            Step::Create => work.new = Some(self.driver.create(&plan.launch).await?),
            // One that starves others must not save itself by it: the rest is done when it is gone.
            Step::Ready => {
                if let Ok(ready) = timeout(READY, self.driver.ready(work.created()?)).await {
                    ready?;
                }
            }
            Step::Guard { trial, before } => {
                let before = before.as_ref();
                work.trial = Some(self.guard(plan, *trial, before, work.created()?)?);
            }
            Step::Start(wait) => {
                let won = self.start(work.created()?, *wait).await?;
                self.settle(work, won)?;
            }
            Step::Launch => self.driver.start(work.created()?).await?,
            Step::Swap { old, grace, wait } => {
                let swapped = self.swap(old, *grace, work.created()?, *wait).await?;
                work.gap = swapped.gap;
                work.left.extend(swapped.left);
                self.settle(work, swapped.won)?;
            }
            // The kernel runs the new one: nothing about the old one takes that back.
            Step::Remove(old) => work.left.extend(self.removed(&old.id).await),
        }
        Ok(())
    }

    /// The old one ends; as soon as the kernel has let go, and not when the runtime has tidied up,
    /// the new one starts.
    async fn swap(
        &self,
        old: &Named,
        grace: Duration,
        new: &ContainerId,
        wait: Wait,
    ) -> Result<Swapped, Cause> {
        let there = self.kernel.now();
        let there = there.known().and_then(SchedExt::attached).is_some();
        let mut ending = pin!(self.driver.end(&old.id, grace, After::Keep));
        // What the kernel does not hold may be about to attach: it must be gone first.
        let ended = tokio::select! {
            biased;
            () = self.kernel.released(), if there => None,
            ended = &mut ending => Some(ended),
        };
        let begin = Instant::now();
        let (won, left) = if let Some(ended) = ended {
            ended?;
            self.released().await?;
            (self.start(new, wait).await?, None)
        } else {
            let (ended, won) = tokio::join!(ending, self.start(new, wait));
            (won?, ended.err().map(|error| Aftermath::Left(error.into())))
        };
        // Not until now: a probation is no gap. One that was gone before left a longer one.
        let gap = there.then(|| won.at - begin);
        Ok(Swapped { gap, won, left })
    }

    /// The kernel has let go of what was ended.
    async fn released(&self) -> Result<(), Cause> {
        let released = timeout(LETTING_GO, self.kernel.released());
        released.await.map_err(|_| Cause::NotReleased)
    }

    fn guard(
        &self,
        plan: &Plan,
        trial: Duration,
        before: Option<&Named>,
        candidate: &ContainerId,
    ) -> Result<Trial, Cause> {
        // Until the kernel has it the trial has not begun: nobody goes back before that is over.
        let waits = plan.steps.iter().filter_map(Step::wait);
        let patience: Duration = waits.map(|wait| wait.attach + wait.probation).sum();
        let trial = Trial {
            scheduler: plan.launch.scheduler().to_owned(),
            runtime: self.runtime,
            candidate: candidate.clone(),
            before: before.map(|old| old.id.clone()),
            length: trial,
            until: Timestamp::now() + patience + trial,
            stage: Stage::Starting,
        };
        trial.keep(self.state)?;
        match (self.stand_by)(&trial) {
            Ok(()) => Ok(trial),
            Err(error) => {
                // A trial that nobody ends is none.
                Trial::forget(self.state)?;
                Err(Cause::Guard(error))
            }
        }
    }

    /// The kernel has it: a trial begins now.
    fn settle(&self, work: &mut Work, won: Won) -> Result<(), Cause> {
        if let Some(trial) = &mut work.trial {
            trial.until = Timestamp::now() + trial.length;
            trial.stage = Stage::Begun {
                enable_seq: won.taken.enable_seq,
            };
            trial.keep(self.state)?;
        }
        work.won = Some(won);
        Ok(())
    }

    /// Whoever stands by goes home last, and only when all is as it was.
    async fn take_back(&self, begun: impl Iterator<Item = &Step>, work: &Work) -> Vec<Aftermath> {
        let mut aftermath = Vec::new();
        for undo in begun.filter_map(Step::undo) {
            aftermath.extend(match undo {
                Undo::StartOld(old, wait) => Some(self.start_old(old, wait, work).await),
                Undo::RemoveNew => match &work.new {
                    Some(new) => self.removed(new).await,
                    None => None,
                },
            });
        }
        let done = |one: &Aftermath| matches!(one, Aftermath::WentBack { .. });
        if work.trial.is_some() && aftermath.iter().all(done) {
            let forgotten = Trial::forget(self.state);
            aftermath.extend(forgotten.err().map(|error| Aftermath::Left(error.into())));
        }
        aftermath
    }

    async fn start_old(&self, old: Named, wait: Wait, work: &Work) -> Aftermath {
        match self.bring_back(work.new.as_ref(), &old.id, wait).await {
            Ok(Taken { ops, .. }) => Aftermath::WentBack { to: old.name, ops },
            Err(cause) => Aftermath::NotBack {
                to: old.name,
                cause,
            },
        }
    }

    /// The old one runs again. The new one goes first: the kernel takes one at a time.
    pub(crate) async fn bring_back(
        &self,
        new: Option<&ContainerId>,
        old: &ContainerId,
        wait: Wait,
    ) -> Result<Taken, Cause> {
        if let Some(new) = new {
            self.remove(new).await?;
        }
        // Whether its end was asked for and is still to come cannot be seen: end it for sure.
        self.driver.end(old, SHORT_GRACE, After::Keep).await?;
        self.released().await?;
        self.attach(old, wait).await
    }

    /// Starts a container and waits until the kernel has it.
    pub(crate) async fn attach(&self, id: &ContainerId, wait: Wait) -> Result<Taken, Cause> {
        self.start(id, wait).await.map(|won| won.taken)
    }

    /// Removes it; what to say when that did not work.
    async fn removed(&self, id: &ContainerId) -> Option<Aftermath> {
        let removed = self.remove(id).await;
        removed.err().map(|error| Aftermath::Left(error.into()))
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), schedkit_runtime::DriverError> {
        self.driver.end(id, SHORT_GRACE, After::Remove).await
    }
}

impl Work {
    fn created(&self) -> Result<&ContainerId, Cause> {
        self.new.as_ref().ok_or(Cause::NothingStarted)
    }

    fn success(self) -> Option<Success> {
        let attach = self.won.as_ref().map(|won| won.attach);
        Some(Success {
            container: self.new?,
            taken: self.won.map(|won| won.taken),
            attach,
            gap: self.gap,
            trial: self.trial.map(|trial| trial.until),
            left: self.left,
        })
    }
}

#[cfg(test)]
mod tests;
