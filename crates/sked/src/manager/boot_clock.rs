//! The clock that leadership is measured by. Only [`crate::leader`] and [`crate::leadership`]
//! look at it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment since this machine booted. It goes on while the process is stopped and while the
/// machine sleeps, and nobody can set it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    /// The present one.
    pub(crate) fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Self(Duration::new(seconds, nanoseconds))
    }

    /// A moment so long after boot.
    #[cfg(test)]
    pub(crate) const fn after_boot(duration: Duration) -> Self {
        Self(duration)
    }

    /// How long after boot it is.
    pub(crate) fn since_boot(self) -> Duration {
        self.0
    }

    /// So much later.
    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}
