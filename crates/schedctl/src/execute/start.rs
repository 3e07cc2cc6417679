//! Starts a container and waits for the kernel; the first of these events decides.
//!
//! ```text
//! start ─▶ attached ─▶ still attached after the probation ─▶ Started
//!   │         │            └─ detached before ─▶ Ejected
//!   │         └─ not within the limit ─▶ Timeout
//!   └─ the process exits first ─▶ Exited, or Ejected if the kernel counted an attach
//! ```
//!
//! Another scheduler may be attached meanwhile: that one is not taken for ours.

use std::io;
use std::pin::pin;
use std::time::Duration;

use schedkit_core::{ExitReason, LoadFailure, OpsName, SchedulerExit};
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Container, ContainerId, Driver, DriverError, ExitCode, OutputChunk, Until};
use tokio::time::{Instant, timeout};

use super::failure::{AttachProgress, FailureCause, NotAttached, NotAttachedReason};
use crate::container::RuntimeContainer;
use crate::kernel::{Attachment, KernelMonitor};
use crate::output_tail::OutputTail;
use crate::plan::WaitLimits;
use crate::state_dir::StateDir;
use crate::status::{Status, assess, process_to_inspect};
use crate::trial::Trial;

/// How long an ejected scheduler may take to report why and exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the runtime may take to list its containers after a timeout.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// 128 and the number of SIGKILL.
const KILLED: ExitCode = ExitCode(137);
/// A process shows its struct_ops link a moment after the kernel reports the attach.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);

/// What a plan acts on.
pub(crate) struct Executor<'a, D> {
    pub(crate) driver: &'a D,
    pub(crate) runtime: Runtime,
    pub(crate) kernel: &'a KernelMonitor,
    pub(crate) state: &'a StateDir,
    /// Starts the process that ends a trial.
    pub(crate) start_guard: &'a dyn Fn(&Trial) -> io::Result<()>,
}

/// A scheduler that was attached and passed its probation.
pub(super) struct Started {
    pub(super) attachment: Attachment,
    pub(super) attach_time: Duration,
    pub(super) attached_at: Instant,
}

enum FirstEvent {
    Started(Started),
    Detached(Attachment),
    Timeout,
    Exited(Result<Option<ExitCode>, DriverError>),
}

impl<D: Driver> Executor<'_, D> {
    pub(super) async fn start(
        &self,
        id: &ContainerId,
        wait: WaitLimits,
    ) -> Result<Started, FailureCause> {
        let before = self.kernel.enable_seq();
        let oom_kills = self.kernel.oom_kills();
        let begin = Instant::now();
        self.driver.start(id).await?;
        let mut tail = OutputTail::default();
        let (event, code) = {
            let mut take = |piece: OutputChunk<'_>| tail.take(piece);
            let mut output = pin!(self.driver.output(id, Until::Exit, &mut take));
            let event = tokio::select! {
                biased;
                event = self.watch(id, before, begin, wait) => event,
                exited = &mut output => FirstEvent::Exited(exited),
            };
            match event {
                FirstEvent::Detached(_) => {
                    let exited = timeout(EXIT_TIMEOUT, output).await;
                    (event, exited.ok().and_then(Result::ok).flatten())
                }
                other => (other, None),
            }
        };
        let exit_report = tail.exit_report();
        let reason = match event {
            FirstEvent::Started(started) => return Ok(started),
            FirstEvent::Detached(attachment) => NotAttachedReason::Ejected {
                ops: Some(attachment.ops),
                code,
            },
            FirstEvent::Timeout => {
                NotAttachedReason::Timeout(Box::new(self.progress(id, wait).await))
            }
            FirstEvent::Exited(code) => self.exited(code?, before, exit_report.as_ref()),
        };
        let short_memory = oom_kills.is_some() && self.kernel.oom_kills() > oom_kills;
        let exit_report = match reason.exit_code() {
            Some(KILLED) if short_memory => Some(out_of_memory()),
            _ => exit_report,
        };
        let busy = ExitReason::LoadFailed(LoadFailure::Busy);
        let report = exit_report.as_ref();
        let busy = report.is_some_and(|report| report.reason == busy);
        Err(FailureCause::NotAttached(Box::new(NotAttached {
            reason,
            holder: if busy { self.attached_ops() } else { None },
            exit_report,
            last_lines: tail.last_lines(),
        })))
    }

    async fn progress(&self, id: &ContainerId, wait: WaitLimits) -> AttachProgress {
        let listed = timeout(LIST_TIMEOUT, self.driver.list()).await;
        let has_process = listed.ok().and_then(Result::ok).map(|containers| {
            let container = containers.iter().find(|container| container.id == *id);
            container.and_then(Container::pid).is_some()
        });
        AttachProgress {
            limit: wait.attach,
            has_process,
            kernel: self.kernel.read(),
        }
    }

    async fn watch(
        &self,
        id: &ContainerId,
        before: Option<u64>,
        begin: Instant,
        wait: WaitLimits,
    ) -> FirstEvent {
        let attached = timeout(wait.attach, self.wait_attached(id, before)).await;
        let Ok((attachment, attached_at)) = attached else {
            return FirstEvent::Timeout;
        };
        match timeout(wait.probation, self.kernel.wait_detached(&attachment)).await {
            Ok(()) => FirstEvent::Detached(attachment),
            Err(_) => FirstEvent::Started(Started {
                attachment,
                attach_time: attached_at - begin,
                attached_at,
            }),
        }
    }

    /// Waits until the scheduler of this container is attached.
    async fn wait_attached(&self, id: &ContainerId, before: Option<u64>) -> (Attachment, Instant) {
        loop {
            let attachment = self.kernel.wait_attached(before).await;
            let at = Instant::now();
            loop {
                if self.is_attached(id).await {
                    return (attachment, at);
                }
                let detached = self.kernel.wait_detached(&attachment);
                if timeout(RECHECK_INTERVAL, detached).await.is_ok() {
                    break;
                }
            }
        }
    }

    /// Whether the attached scheduler is this container's, by the rules of `schedctl status`. If
    /// that cannot be determined, it is assumed to be.
    async fn is_attached(&self, id: &ContainerId) -> bool {
        let Ok(mut containers) = self.driver.list().await else {
            return true;
        };
        containers.retain(|container| container.id == *id);
        let containers: Vec<_> = RuntimeContainer::list(self.runtime, containers).collect();
        let kernel = self.kernel.read();
        let process = process_to_inspect(&kernel, &containers);
        let holds = process.map_or(Fact::Absent, |pid| self.kernel.holds_scheduler(pid));
        let status = assess(&kernel, &containers, &holds, None).map(|found| found.status);
        !matches!(
            status,
            Ok(Status::OrphanedKernelState | Status::ManagedMismatch)
        )
    }

    /// A scheduler that is ejected at once is never seen as attached; `enable_seq` shows that it
    /// was.
    fn exited(
        &self,
        code: Option<ExitCode>,
        before: Option<u64>,
        report: Option<&SchedulerExit>,
    ) -> NotAttachedReason {
        let load_failed =
            report.is_some_and(|report| matches!(report.reason, ExitReason::LoadFailed(_)));
        if !load_failed && before.is_some() && self.kernel.enable_seq() > before {
            return NotAttachedReason::Ejected { ops: None, code };
        }
        NotAttachedReason::Exited(code)
    }

    fn attached_ops(&self) -> Option<OpsName> {
        let now = self.kernel.read();
        now.known().and_then(KernelSchedExt::attached).cloned()
    }
}

/// A process that is killed has no last words.
fn out_of_memory() -> SchedulerExit {
    SchedulerExit {
        reason: ExitReason::OutOfMemory,
        message: String::new(),
    }
}
