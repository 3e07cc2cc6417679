//! Starts a container and waits for the kernel's word; whoever comes first tells how it ended.
//!
//! ```text
//! start ─▶ the kernel has it ─▶ … and keeps it (probation) ─▶ won
//!   │            │                     └─ lost again ─▶ Ejected
//!   │            └─ not in time ─▶ TooSlow
//!   └─ the process ends first ─▶ Exited, or Ejected if the kernel counted it
//! ```
//!
//! Somebody else may attach in between: what the kernel has then is not ours.

use std::pin::pin;
use std::time::Duration;

use schedkit_core::{ExitReason, LoadFailure, OpsName, SchedulerExit};
use schedkit_host::{Fact, SchedExt};
use schedkit_runtime::{ContainerId, Driver, DriverError, ExitCode, Until};
use tokio::time::{Instant, timeout};

use super::{Cause, Machine, NotAttached, Won};
use crate::execute::failure::Why;
use crate::kernel::Taken;
use crate::plan::Wait;
use crate::status::{Held, Status, doubtful, judge};
use crate::tail::Tail;

/// A scheduler that the kernel threw out says why right after.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// A process holds its scheduler a moment after the kernel says that it has it.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What came first.
enum Seen {
    Kept(Won),
    Lost(Taken),
    Nothing,
    Exited(Result<Option<ExitCode>, DriverError>),
}

impl<D: Driver> Machine<'_, D> {
    pub(super) async fn start(&self, id: &ContainerId, wait: Wait) -> Result<Won, Cause> {
        let before = self.kernel.enable_seq();
        let begin = Instant::now();
        self.driver.start(id).await?;
        let mut tail = Tail::default();
        let (seen, code) = {
            let mut take = |piece: schedkit_runtime::OutputChunk<'_>| tail.take(piece);
            let mut listening = pin!(self.driver.output(id, Until::Exit, &mut take));
            let seen = tokio::select! {
                biased;
                seen = self.watch(id, before, begin, wait) => seen,
                ended = &mut listening => Seen::Exited(ended),
            };
            match seen {
                Seen::Lost(_) => {
                    let ended = timeout(LAST_WORDS, listening).await;
                    (seen, ended.ok().and_then(Result::ok).flatten())
                }
                other => (other, None),
            }
        };
        let words = tail.last_words();
        let why = match seen {
            Seen::Kept(won) => return Ok(won),
            Seen::Lost(taken) => Why::Ejected {
                ops: Some(taken.ops),
                code,
            },
            Seen::Nothing => Why::TooSlow(wait.attach),
            Seen::Exited(code) => self.exited(code?, before, words.as_ref()),
        };
        let busy = ExitReason::LoadFailed(LoadFailure::Busy);
        let busy = words.as_ref().is_some_and(|words| words.reason == busy);
        Err(Cause::NotAttached(Box::new(NotAttached {
            why,
            holder: if busy { self.holder() } else { None },
            words,
            lines: tail.lines(),
        })))
    }

    async fn watch(
        &self,
        id: &ContainerId,
        before: Option<u64>,
        begin: Instant,
        wait: Wait,
    ) -> Seen {
        let Ok((taken, at)) = timeout(wait.attach, self.taken(id, before)).await else {
            return Seen::Nothing;
        };
        match timeout(wait.probation, self.kernel.lost(&taken)).await {
            Ok(()) => Seen::Lost(taken),
            Err(_) => Seen::Kept(Won {
                taken,
                attach: at - begin,
                at,
            }),
        }
    }

    /// What the kernel takes from this container, and when.
    async fn taken(&self, id: &ContainerId, before: Option<u64>) -> (Taken, Instant) {
        loop {
            let taken = self.kernel.taken(before).await;
            let at = Instant::now();
            loop {
                if self.is_ours(id).await {
                    return (taken, at);
                }
                let gone = timeout(LOOK_AGAIN, self.kernel.lost(&taken)).await;
                if gone.is_ok() {
                    break;
                }
            }
        }
    }

    /// Whether what the kernel has is this container's, as `schedctl status` would judge it. Where
    /// that cannot be told, it is believed.
    async fn is_ours(&self, id: &ContainerId) -> bool {
        let Ok(mut containers) = self.driver.list().await else {
            return true;
        };
        containers.retain(|container| container.id == *id);
        let runtime = self.runtime;
        let held = |container| Held { runtime, container };
        let ours: Vec<Held> = containers.into_iter().map(held).collect();
        let kernel = self.kernel.now();
        let holds = doubtful(&kernel, &ours).map_or(Fact::Absent, |pid| self.kernel.holds(pid));
        let judged = judge(&kernel, &ours, &holds, None).map(|judgement| judgement.status);
        !matches!(
            judged,
            Ok(Status::OrphanedKernelState | Status::ManagedMismatch)
        )
    }

    /// One that the kernel threw out at once was never seen there; the kernel has counted it.
    fn exited(
        &self,
        code: Option<ExitCode>,
        before: Option<u64>,
        words: Option<&SchedulerExit>,
    ) -> Why {
        let never = words.is_some_and(|words| matches!(words.reason, ExitReason::LoadFailed(_)));
        if !never && before.is_some() && self.kernel.enable_seq() > before {
            return Why::Ejected { ops: None, code };
        }
        Why::Exited(code)
    }

    /// Who is attached in our place.
    fn holder(&self) -> Option<OpsName> {
        let now = self.kernel.now();
        now.known().and_then(SchedExt::attached).cloned()
    }
}
