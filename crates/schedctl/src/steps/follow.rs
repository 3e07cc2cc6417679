//! `run --attach`: shows a scheduler's output until it exits, and stops it on a signal. The exit code
//! tells a service manager whether to start it again.
//!
//! ```text
//! follow ─▶ it exits ─▶ whose container is it now?
//!    ▲                   ├─ nobody's: remove it ─▶ exit code of an unasked end
//!    │                   ├─ gone: a command stopped it ─▶ exit code 0
//!    ├── runs again ◀────┤  a switch failed
//!    └── runs again ◀────┴─ kept for a trial: wait until the trial is over
//! ```

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use schedkit_core::{ExitReason, SchedulerExit};
use schedkit_runtime::{
    After, Container, ContainerId, Driver, DriverError, ExitCode, OutputChunk, Until,
};
use tokio::time::{sleep, timeout};

use crate::exit::{Exit, ExitCodes};
use crate::forward_output::{OutputForwarder, StdoutTarget};
use crate::interrupt::{Interrupt, Interrupted};
use crate::kernel::KernelMonitor;
use crate::output_tail::OutputTail;
use crate::service_manager::ServiceManager;
use crate::state_dir::{StateDir, StateError};
use crate::steps::take_lock::take_lock;
use crate::trial::Trial;

const GRACE: Duration = Duration::from_secs(10);
/// For the runtime to kill a scheduler.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a process may go on after an ejection before the unit ends it: some attach again.
const DETACHED_LIMIT: Duration = Duration::from_secs(30);
const TRIAL_INTERVAL: Duration = Duration::from_millis(500);
/// For a reader that does not read, after a signal.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

pub(crate) struct Follow<'a, D> {
    pub(crate) driver: &'a D,
    pub(crate) id: &'a ContainerId,
    pub(crate) scheduler: &'a str,
    pub(crate) kernel: &'a KernelMonitor,
    pub(crate) state: &'a StateDir,
    pub(crate) service_manager: &'a ServiceManager,
    pub(crate) target: StdoutTarget,
    pub(crate) exit_codes: ExitCodes,
}

/// The exit code, and the reason if the scheduler ended unasked and that is a failure.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) exit: Exit,
    pub(crate) failure: Option<String>,
}

/// How a scheduler ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// This process got a signal.
    Interrupted,
    /// `stop`, `switch` or the guard of a trial.
    ByCommand,
    /// Nobody asked for it.
    Unasked,
}

enum Event {
    Exited(Result<Option<ExitCode>, DriverError>),
    Interrupted,
    /// The kernel has no scheduler, and the process does not exit.
    Detached,
}

/// A process that has ended.
struct Ended {
    code: Option<ExitCode>,
    report: Option<SchedulerExit>,
    by_signal: bool,
}

/// What has become of the container.
enum Left {
    /// This process has removed it.
    Removed,
    /// A command has.
    Gone,
    /// A command has started it again.
    Runs,
    /// It is started again if this trial is not confirmed.
    Fallback(Trial),
}

impl<D: Driver> Follow<'_, D> {
    /// Removes the container in the end, unless another command needs it.
    pub(crate) async fn run(&self, interrupt: &Interrupt) -> anyhow::Result<Followed> {
        // A signal ends the scheduler, here and not by dropping this.
        let _hold = interrupt.hold();
        let mut forwarder = OutputForwarder::new(self.target)?;
        let written = forwarder.written();
        let mut by_signal = false;
        let followed = loop {
            let Some(ended) = self.until_exit(&mut forwarder, interrupt).await? else {
                break Exit::Ok.into();
            };
            by_signal = ended.by_signal;
            let ending = match self.await_fate(&ended, interrupt).await? {
                _ if ended.by_signal => Ending::Interrupted,
                Left::Runs => continue,
                Left::Removed => Ending::Unasked,
                Left::Gone | Left::Fallback(_) => Ending::ByCommand,
            };
            break self.followed(ending, &ended);
        };
        // A reader that does not read keeps it only until a signal.
        let interrupted = async {
            if !by_signal {
                interrupt.received().await;
            }
            sleep(LAST_OUTPUT).await;
        };
        tokio::select! {
            () = written.all() => {}
            () = interrupted => {}
        }
        Ok(followed)
    }

    /// Shows the output of one start until its end; `None` if another command has removed the
    /// container.
    async fn until_exit(
        &self,
        forwarder: &mut OutputForwarder,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Option<Ended>> {
        let written = forwarder.written();
        let mut tail = OutputTail::default();
        let mut take = |piece: OutputChunk<'_>| {
            tail.take(piece);
            // A closed pipe does not stop the scheduler.
            forwarder.write(piece);
        };
        let (exited, by_signal) = {
            let mut output = pin!(self.driver.output(self.id, Until::Exit, &mut take));
            let event = tokio::select! {
                exited = written.pace(output.as_mut()) => Event::Exited(exited),
                _ = interrupt.received() => Event::Interrupted,
                () = self.detached() => Event::Detached,
            };
            let by_signal = matches!(event, Event::Interrupted);
            let exited = match event {
                Event::Exited(exited) => exited,
                Event::Interrupted | Event::Detached => {
                    // Its output while it stops is shown, too.
                    let stopping = self.stop(interrupt);
                    let (stopped, code) = tokio::join!(stopping, timeout(2 * GRACE, output));
                    stopped?;
                    // What was repeated while it stopped.
                    interrupt.forget();
                    code.unwrap_or(Ok(None))
                }
            };
            (exited, by_signal)
        };
        let code = match exited {
            Ok(code) => code,
            Err(DriverError::NoContainer { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let report = tail.exit_report();
        Ok(Some(Ended {
            code,
            report,
            by_signal,
        }))
    }

    /// Ends the process; a second signal kills it.
    async fn stop(&self, interrupt: &Interrupt) -> anyhow::Result<()> {
        self.service_manager.stopping("stopping the scheduler");
        let end = |grace| self.driver.end(self.id, grace, After::Keep);
        let stopped = tokio::select! {
            stopped = end(GRACE) => stopped.map_err(anyhow::Error::from),
            signal = interrupt.received() => match timeout(KILL_TIMEOUT, end(Duration::ZERO)).await {
                Ok(killed) => killed.map_err(anyhow::Error::from),
                Err(_) => Err(signal.into()),
            },
        };
        let (scheduler, id) = (self.scheduler, self.id.short());
        stopped
            .with_context(|| format!("{scheduler} may still run: end it with `schedctl stop {id}`"))
    }

    /// Cleans up, once no trial needs the container any more. A signal ends the wait for a trial.
    async fn await_fate(&self, ended: &Ended, interrupt: &Interrupt) -> anyhow::Result<Left> {
        let mut told = false;
        loop {
            let left = tokio::select! {
                left = self.clean_up() => left?,
                signal = interrupt.received() => return Err(self.left_over(signal)),
            };
            match &left {
                Left::Fallback(trial) if !ended.by_signal => {
                    if !told {
                        self.tell_of(trial);
                        told = true;
                    }
                    tokio::select! {
                        over = self.trial_over() => over?,
                        _ = interrupt.received() => return Ok(left),
                    }
                }
                _ => return Ok(left),
            }
        }
    }

    async fn trial_over(&self) -> Result<(), StateError> {
        while self.fallback()?.is_some() {
            sleep(TRIAL_INTERVAL).await;
        }
        Ok(())
    }

    fn tell_of(&self, trial: &Trial) {
        let (old, new) = (self.scheduler, &trial.scheduler);
        let status = format!("{new} is on trial: waiting for its end, to follow {old} again");
        tracing::warn!("{status}");
        self.service_manager.status(&status);
    }

    /// Removes the container, unless a command keeps it or has removed it. Commands hold the lock
    /// while they end a scheduler, so what is found with the lock held tells who ended this one.
    async fn clean_up(&self) -> anyhow::Result<Left> {
        let _lock = take_lock(self.state).await?;
        if let Some(trial) = self.fallback()? {
            return Ok(Left::Fallback(trial));
        }
        let listed = self.driver.list().await?;
        let found = listed.iter().find(|container| container.id == *self.id);
        let Some(found) = found else {
            return Ok(Left::Gone);
        };
        if Container::pid(found).is_some() {
            let status = format!("{} runs again", self.scheduler);
            self.service_manager.status(&status);
            return Ok(Left::Runs);
        }
        self.driver.end(self.id, GRACE, After::Remove).await?;
        Ok(Left::Removed)
    }

    /// The trial that goes back to this container.
    fn fallback(&self) -> Result<Option<Trial>, StateError> {
        let trial = Trial::read(self.state)?;
        Ok(trial.filter(|trial| trial.before.as_ref() == Some(self.id)))
    }

    /// A signal while the container is waited for: its process has ended.
    fn left_over(&self, signal: Interrupted) -> anyhow::Error {
        let (scheduler, id) = (self.scheduler, self.id.short());
        anyhow::Error::from(signal).context(format!(
            "{scheduler} has ended, and its container is left: `schedctl stop {id}` removes it"
        ))
    }

    fn followed(&self, ending: Ending, ended: &Ended) -> Followed {
        let Ended { code, report, .. } = ended;
        let (code, report) = (*code, report.as_ref());
        let exit = exit(self.exit_codes, ending, code, report);
        let failure = (exit == Exit::NotAttached).then(|| ended_text(self.scheduler, code, report));
        Followed { exit, failure }
    }

    /// For the unit: waits until the kernel has had no scheduler for some time.
    async fn detached(&self) {
        if self.exit_codes == ExitCodes::Scheduler {
            pending::<()>().await;
        }
        loop {
            self.kernel.wait_disabled().await;
            let again = self.kernel.wait_attached(None);
            if timeout(DETACHED_LIMIT, again).await.is_err() {
                return;
            }
        }
    }
}

impl From<Exit> for Followed {
    fn from(exit: Exit) -> Self {
        let failure = None;
        Self { exit, failure }
    }
}

/// Whether a service manager starts the scheduler again depends on this.
fn exit(
    exit_codes: ExitCodes,
    ending: Ending,
    code: Option<ExitCode>,
    report: Option<&SchedulerExit>,
) -> Exit {
    let code = code.map(|ExitCode(code)| u8::try_from(code).unwrap_or(u8::MAX));
    let reason = report.map(|report| &report.reason);
    match (exit_codes, ending) {
        (_, Ending::ByCommand) | (ExitCodes::Unit, Ending::Interrupted) => Exit::Ok,
        (ExitCodes::Unit, Ending::Unasked) => match (code, reason) {
            // Somebody sent it a signal, or made the kernel detach it.
            (Some(0), Some(ExitReason::Unregistered | ExitReason::SysRq)) => Exit::Ok,
            _ => Exit::NotAttached,
        },
        (ExitCodes::Scheduler, _) => match code {
            None => Exit::Failure,
            Some(0) if reason.is_some_and(is_ejection) => Exit::NotAttached,
            Some(code) => Exit::Scheduler(code),
        },
    }
}

/// Whether the kernel detached the scheduler by itself.
fn is_ejection(reason: &ExitReason) -> bool {
    match reason {
        ExitReason::Stall
        | ExitReason::RuntimeError
        | ExitReason::BpfError
        | ExitReason::Hotplug
        | ExitReason::UnregisteredByKernel
        | ExitReason::ParentExiting => true,
        ExitReason::SysRq
        | ExitReason::Unregistered
        | ExitReason::UnregisteredByBpf
        | ExitReason::LoadFailed(_)
        | ExitReason::Panicked(_)
        | ExitReason::OutOfMemory
        | ExitReason::Unknown(_) => false,
    }
}

fn ended_text(scheduler: &str, code: Option<ExitCode>, report: Option<&SchedulerExit>) -> String {
    let code = code.map_or_else(String::new, |ExitCode(code)| format!(" with code {code}"));
    let reason = report.map_or_else(String::new, |report| format!(": {}", report.reason));
    let remedy = report.and_then(|report| report.reason.remedy());
    let remedy = remedy.map_or_else(String::new, |remedy| format!(" ({remedy})"));
    format!("{scheduler} was ejected or exited by itself{code}{reason}{remedy}")
}

#[cfg(test)]
mod tests;
