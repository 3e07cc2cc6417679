//! `run --attach`: shows a scheduler's output until it exits, and stops it on a signal. The exit code
//! tells a service manager whether to start it again.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use schedkit_core::{ExitReason, SchedulerExit};
use schedkit_runtime::{
    After, Container, ContainerId, Driver, DriverError, ExitCode, OutputChunk, Until,
};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::exit::{Exit, ExitCodes};
use crate::forward_output::{OutputForwarder, StdoutTarget};
use crate::interrupt::Interrupt;
use crate::kernel::KernelMonitor;
use crate::output_tail::OutputTail;
use crate::service_manager::ServiceManager;
use crate::state_dir::StateDir;
use crate::steps::take_lock::take_lock;
use crate::trial::Trial;

const GRACE: Duration = Duration::from_secs(10);
/// How long a process may go on after an ejection before the unit ends it: some attach again.
const DETACHED_LIMIT: Duration = Duration::from_secs(30);

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

impl<D: Driver> Follow<'_, D> {
    /// Removes the container in the end, unless another command needs it.
    pub(crate) async fn run(&self, interrupt: &Interrupt) -> anyhow::Result<Followed> {
        // A closed pipe does not stop the scheduler.
        let closed = Notify::new();
        let mut forwarder = OutputForwarder::new(self.target, &closed);
        let mut tail = OutputTail::default();
        let mut interrupted = false;
        let exited = {
            let _hold = interrupt.hold();
            let mut take = |piece: OutputChunk<'_>| {
                tail.take(piece);
                forwarder.write(piece);
            };
            let mut output = pin!(self.driver.output(self.id, Until::Exit, &mut take));
            let event = tokio::select! {
                exited = &mut output => Event::Exited(exited),
                _ = interrupt.received() => Event::Interrupted,
                () = self.detached() => Event::Detached,
            };
            match event {
                Event::Exited(exited) => exited,
                Event::Interrupted | Event::Detached => {
                    interrupted = matches!(event, Event::Interrupted);
                    self.service_manager.stopping("stopping the scheduler");
                    // Its output while it stops is shown, too.
                    let stopping = self.driver.end(self.id, GRACE, After::Keep);
                    let (stopped, code) = tokio::join!(stopping, timeout(2 * GRACE, output));
                    stopped?;
                    code.unwrap_or(Ok(None))
                }
            }
        };
        let code = match exited {
            Ok(code) => code,
            // Another command stopped and removed it.
            Err(DriverError::NoContainer { .. }) => return Ok(Exit::Ok.into()),
            Err(error) => return Err(error.into()),
        };
        let ending = match self.clean_up().await? {
            _ if interrupted => Ending::Interrupted,
            ending => ending,
        };
        let report = tail.exit_report();
        let exit = exit(self.exit_codes, ending, code, report.as_ref());
        let failure =
            (exit == Exit::NotAttached).then(|| ended(self.scheduler, code, report.as_ref()));
        Ok(Followed { exit, failure })
    }

    /// Removes the container, unless a command keeps it or has removed it. Commands hold the lock
    /// while they end a scheduler, so what is found with the lock held tells who ended this one.
    async fn clean_up(&self) -> anyhow::Result<Ending> {
        let _lock = take_lock(self.state).await?;
        let trial = Trial::read(self.state)?;
        if trial.is_some_and(|trial| trial.before.as_ref() == Some(self.id)) {
            return Ok(Ending::ByCommand);
        }
        let listed = self.driver.list().await?;
        let found = listed.iter().find(|container| container.id == *self.id);
        // A switch that failed has started it again.
        if found.is_none_or(|container| Container::pid(container).is_some()) {
            return Ok(Ending::ByCommand);
        }
        self.driver.end(self.id, GRACE, After::Remove).await?;
        Ok(Ending::Unasked)
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

fn ended(scheduler: &str, code: Option<ExitCode>, report: Option<&SchedulerExit>) -> String {
    let code = code.map_or_else(String::new, |ExitCode(code)| format!(" with code {code}"));
    let reason = report.map_or_else(String::new, |report| format!(": {}", report.reason));
    let remedy = report.and_then(|report| report.reason.remedy());
    let remedy = remedy.map_or_else(String::new, |remedy| format!(" ({remedy})"));
    format!("{scheduler} was ejected or exited by itself{code}{reason}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(reason: ExitReason) -> Option<SchedulerExit> {
        let message = String::new();
        Some(SchedulerExit { reason, message })
    }

    #[test]
    fn the_unit_is_restarted_after_an_ejection_and_not_after_a_stop() {
        let exit = |ending, code, report: Option<SchedulerExit>| {
            exit(ExitCodes::Unit, ending, code, report.as_ref())
        };
        // 3 and 5 are the scheduler's own here: they must not look like those of schedctl.
        for code in [0, 1, 3, 5, 137].map(ExitCode).map(Some) {
            for ending in [Ending::ByCommand, Ending::Interrupted] {
                assert_eq!(exit(ending, code, report(ExitReason::Stall)), Exit::Ok);
            }
            let ejected = exit(Ending::Unasked, code, report(ExitReason::Stall));
            assert_eq!(ejected, Exit::NotAttached, "{code:?}");
            assert_eq!(exit(Ending::Unasked, code, None), Exit::NotAttached);
        }
        let unregistered = report(ExitReason::Unregistered);
        let own = exit(Ending::Unasked, Some(ExitCode(0)), unregistered.clone());
        assert_eq!(own, Exit::Ok, "somebody sent it a signal");
        let failed = exit(Ending::Unasked, Some(ExitCode(1)), unregistered);
        assert_eq!(failed, Exit::NotAttached);
    }

    #[test]
    fn otherwise_the_exit_code_is_the_schedulers_unless_it_hides_an_ejection() {
        let exit = |ending, code, reason: Option<ExitReason>| {
            let report = reason.and_then(report);
            exit(ExitCodes::Scheduler, ending, code, report.as_ref())
        };
        let stall = || Some(ExitReason::Stall);
        for (ending, code, reason, expected) in [
            (Ending::Unasked, Some(3), None, Exit::Scheduler(3)),
            (Ending::Unasked, Some(3), stall(), Exit::Scheduler(3)),
            (Ending::Unasked, Some(300), None, Exit::Scheduler(255)),
            (Ending::Unasked, Some(0), None, Exit::Scheduler(0)),
            (Ending::Unasked, Some(0), stall(), Exit::NotAttached),
            (Ending::Unasked, None, None, Exit::Failure),
            (Ending::Interrupted, Some(1), None, Exit::Scheduler(1)),
            (Ending::ByCommand, Some(137), None, Exit::Ok),
        ] {
            let found = exit(ending, code.map(ExitCode), reason);
            assert_eq!(found, expected, "{ending:?} {code:?}");
        }
    }
}
