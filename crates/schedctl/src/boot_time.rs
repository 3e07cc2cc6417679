//! The clock of trials. It runs on while the machine is suspended, and nobody can set it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(crate) fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}
