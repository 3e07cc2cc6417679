//! Waits for state changes of the kernel: until it has attached a scheduler, until it has detached
//! one. A uevent wakes us, sysfs is what counts.

use std::fs;
use std::io;
use std::time::Duration;

use schedkit_core::OpsName;
use schedkit_host::{
    Fact, HostRoot, KernelSchedExt, SchedExtState, Watch, WatchIntervals, struct_ops, vmstat,
};

/// Uevents arrive within milliseconds; polling is for where they cannot be received.
const INTERVALS: WatchIntervals = WatchIntervals {
    poll: Duration::from_millis(250),
    settle: Duration::from_millis(5),
};
/// How long the kernel may take to detach a scheduler whose process has exited, which usually
/// takes milliseconds.
pub(crate) const DETACH_TIMEOUT: Duration = Duration::from_secs(10);

const SYSRQ_TRIGGER: &str = "/proc/sysrq-trigger";
/// Detaches the scheduler. A lower-case `s` would sync all disks.
const SYSRQ_DETACH: &str = "S";

#[derive(Debug, Clone)]
pub(crate) struct KernelMonitor(HostRoot);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub(crate) ops: OpsName,
    /// The kernel's number of this attach; older kernels have none.
    pub(crate) enable_seq: Option<u64>,
}

impl KernelMonitor {
    pub(crate) fn new(root: HostRoot) -> Self {
        Self(root)
    }

    pub(crate) fn read(&self) -> Fact<KernelSchedExt> {
        KernelSchedExt::read(&self.0)
    }

    /// The state after a transition in progress has ended, or when the limit is reached.
    pub(crate) async fn settled(&self, limit: Duration) -> Fact<KernelSchedExt> {
        let now = self.read();
        if !is_in_transition(&now) {
            return now;
        }
        let mut watch = self.watch();
        let settle = async {
            loop {
                let fact = watch.next().await;
                if !is_in_transition(&fact) {
                    return fact;
                }
            }
        };
        let settled = tokio::time::timeout(limit, settle).await;
        settled.unwrap_or_else(|_| self.read())
    }

    /// The number of the latest attach; later ones have higher numbers.
    pub(crate) fn enable_seq(&self) -> Option<u64> {
        let now = self.read();
        now.known()
            .and_then(|kernel| kernel.enable_seq.known().copied())
    }

    pub(crate) fn holds_scheduler(&self, pid: u32) -> Fact<bool> {
        struct_ops::holds(&self.0, pid)
    }

    /// How many processes it has killed because memory was short.
    pub(crate) fn oom_kills(&self) -> Option<u64> {
        vmstat::oom_kills(&self.0).known().copied()
    }

    /// Waits until a scheduler is attached that was not attached when `enable_seq` was `before`.
    pub(crate) async fn wait_attached(&self, before: Option<u64>) -> Attachment {
        self.until(|kernel| {
            let enable_seq = kernel.enable_seq.known().copied();
            let ops = kernel.attached()?.clone();
            // Without a number an old attach cannot be told from a new one.
            (before.is_none() || enable_seq > before).then_some(Attachment { ops, enable_seq })
        })
        .await
    }

    /// Waits until no scheduler is attached, nor being attached or detached.
    pub(crate) async fn wait_disabled(&self) {
        self.until(|kernel| (kernel.state == Fact::Known(SchedExtState::Disabled)).then_some(()))
            .await;
    }

    /// Waits until this attach is over, whatever is attached then.
    pub(crate) async fn wait_detached(&self, attachment: &Attachment) {
        self.until(|kernel| {
            let seq = kernel.enable_seq.known().copied();
            let same = kernel.attached() == Some(&attachment.ops) && seq == attachment.enable_seq;
            (!same).then_some(())
        })
        .await;
    }

    /// Makes the kernel detach whatever is attached, like SysRq-S.
    pub(crate) fn force_detach(&self) -> io::Result<()> {
        fs::write(self.0.path(SYSRQ_TRIGGER), SYSRQ_DETACH)
    }

    async fn until<T>(&self, mut condition: impl FnMut(&KernelSchedExt) -> Option<T>) -> T {
        let mut watch = self.watch();
        loop {
            let fact = watch.next().await;
            if let Some(found) = fact.known().and_then(&mut condition) {
                return found;
            }
        }
    }

    fn watch(&self) -> Watch {
        Watch::open(self.0.clone(), INTERVALS)
    }
}

fn is_in_transition(kernel: &Fact<KernelSchedExt>) -> bool {
    kernel.known().is_some_and(KernelSchedExt::is_transitional)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLING: Duration = Duration::from_secs(2);

    fn kernel(folder: &tempfile::TempDir, state: &str) -> KernelMonitor {
        let sched_ext = folder.path().join("sys/kernel/sched_ext");
        fs::create_dir_all(&sched_ext).unwrap();
        fs::write(sched_ext.join("state"), state).unwrap();
        KernelMonitor::new(HostRoot::at(folder.path()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_transition_gets_time_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let monitor = kernel(&folder, "disabling\n");
        let changing = async {
            tokio::time::sleep(SETTLING / 4).await;
            kernel(&folder, "disabled\n");
        };
        let (settled, ()) = tokio::join!(monitor.settled(SETTLING), changing);
        let state = settled.known().unwrap().state.known().unwrap().clone();
        assert_eq!(state.as_str(), "disabled");
    }

    #[tokio::test(start_paused = true)]
    async fn a_transition_that_does_not_end_is_reported_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let settled = kernel(&folder, "enabling\n").settled(SETTLING).await;
        assert!(is_in_transition(&settled));
    }
}
