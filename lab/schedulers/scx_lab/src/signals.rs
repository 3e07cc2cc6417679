//! SIGTERM and SIGINT, and waiting for them.
//!
//! `run.rs` polls for them; they interrupt nothing.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// How often signals and ejections are checked.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// Whether the process was asked to stop.
pub(crate) struct Signals(Arc<AtomicBool>);

impl Signals {
    /// From now on both signals are requests to stop.
    pub(crate) fn handle() -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        flag::register(SIGTERM, Arc::clone(&stop))?;
        flag::register(SIGINT, Arc::clone(&stop))?;
        Ok(Self(stop))
    }

    /// From now on both signals are ignored.
    pub(crate) fn ignore() -> io::Result<Self> {
        Self::handle()?;
        Ok(Self(Arc::new(AtomicBool::new(false))))
    }

    pub(crate) fn stop_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps until the time is over or a stop is requested, whichever comes first.
    pub(crate) fn sleep(&self, duration: Duration) {
        let start = Instant::now();
        while !self.stop_requested() && start.elapsed() < duration {
            thread::sleep(POLL.min(duration.saturating_sub(start.elapsed())));
        }
    }
}
