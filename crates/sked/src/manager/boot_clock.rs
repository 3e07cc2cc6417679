//! The clock of the leader election. Only [`crate::manager::leader`] and
//! [`crate::manager::leadership`] use it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A time since boot. This clock runs on while the process is stopped and while the machine is
/// suspended, and it cannot be set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BootInstant(Duration);

impl BootInstant {
    pub(crate) fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Self(Duration::new(seconds, nanoseconds))
    }

    #[cfg(test)]
    pub(crate) const fn after_boot(duration: Duration) -> Self {
        Self(duration)
    }

    pub(crate) fn since_boot(self) -> Duration {
        self.0
    }

    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}
