//! Waiting for the kernel: until it has taken a scheduler, until it has let go of one, or as long
//! as it keeps one. An event wakes, sysfs tells.

use std::fs;
use std::io;
use std::time::Duration;

use schedkit_core::OpsName;
use schedkit_host::{Fact, HostRoot, SchedExt, SchedExtState, Watch, WatchIntervals, struct_ops};

/// Events come within milliseconds; this is for a kernel whose events cannot be heard.
const PACE: WatchIntervals = WatchIntervals {
    poll: Duration::from_millis(250),
    settle: Duration::from_millis(5),
};

/// A capital S: a small one writes out all disks.
const TRIGGER: &str = "/proc/sysrq-trigger";

/// The kernel of a machine.
#[derive(Debug, Clone)]
pub(crate) struct Kernel(HostRoot);

/// An attach that the kernel told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The kernel's name for the scheduler.
    pub(crate) ops: OpsName,
    /// The number of the attach, where the kernel counts them.
    pub(crate) enable_seq: Option<u64>,
}

impl Kernel {
    pub(crate) fn of(root: HostRoot) -> Self {
        Self(root)
    }

    /// What it says now.
    pub(crate) fn now(&self) -> Fact<SchedExt> {
        SchedExt::read(&self.0)
    }

    /// What it says once nothing is in motion any more, or when that took too long.
    pub(crate) async fn settled(&self, limit: Duration) -> Fact<SchedExt> {
        let mut watch = self.watch();
        let settle = async {
            loop {
                let fact = watch.next().await;
                if !fact.known().is_some_and(SchedExt::is_transitional) {
                    return fact;
                }
            }
        };
        let settled = tokio::time::timeout(limit, settle).await;
        settled.unwrap_or_else(|_| self.now())
    }

    /// The number of the latest attach; what is attached later has a higher one.
    pub(crate) fn enable_seq(&self) -> Option<u64> {
        let now = self.now();
        now.known()
            .and_then(|kernel| kernel.enable_seq.known().copied())
    }

    /// Whether a process holds a scheduler.
    pub(crate) fn holds(&self, pid: u32) -> Fact<bool> {
        struct_ops::holds(&self.0, pid)
    }

    /// Ends when a scheduler is attached that was not at the time of `before`.
    pub(crate) async fn taken(&self, before: Option<u64>) -> Taken {
        self.until(|kernel| {
            let enable_seq = kernel.enable_seq.known().copied();
            let ops = kernel.attached()?.clone();
            // A kernel that does not count cannot tell an old attach from a new one.
            (before.is_none() || enable_seq > before).then_some(Taken { ops, enable_seq })
        })
        .await
    }

    /// Ends when none is attached, nor on its way in or out.
    pub(crate) async fn released(&self) {
        self.until(|kernel| (kernel.state == Fact::Known(SchedExtState::Disabled)).then_some(()))
            .await;
    }

    /// Ends when this attach is over, whatever came after it.
    pub(crate) async fn lost(&self, taken: &Taken) {
        self.until(|kernel| {
            let seq = kernel.enable_seq.known().copied();
            let same = kernel.attached() == Some(&taken.ops) && seq == taken.enable_seq;
            (!same).then_some(())
        })
        .await;
    }

    /// Makes it let go of whatever it has, the way SysRq-S does.
    pub(crate) fn let_go(&self) -> io::Result<()> {
        fs::write(self.0.path(TRIGGER), "S")
    }

    async fn until<T>(&self, mut enough: impl FnMut(&SchedExt) -> Option<T>) -> T {
        let mut watch = self.watch();
        loop {
            let fact = watch.next().await;
            if let Some(found) = fact.known().and_then(&mut enough) {
                return found;
            }
        }
    }

    fn watch(&self) -> Watch {
        Watch::open(self.0.clone(), PACE)
    }
}
