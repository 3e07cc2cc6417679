//! Watches sched_ext and returns its state whenever it changed.
//!
//! ```text
//!            ┌── an event about sched_ext, or one was missed ──┐
//!   wait ────┼── a short interval after an event or a change ──┼──▶ read sysfs ──▶ changed? return
//!            └── the slow poll: events can be lost ────────────┘
//! ```
//!
//! An event only triggers a read; the returned state is read from sysfs. After an event sysfs is read
//! a few more times at short intervals, because the kernel sends some events early: it announces an
//! attach before it increments `enable_seq`, and until then the attach is not returned.

use std::future::{Future, pending};
use std::time::Duration;

use tokio::time::timeout;

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::sched_ext::KernelSchedExt;
use crate::uevent_stream::{Received, UeventStream};

/// How many reads at short intervals follow an event or a change, also in a stable state.
const FAST_READS: u32 = 3;
/// How many reads wait for the kernel to increment `enable_seq` after an attach: more than a second,
/// for what takes a busy machine milliseconds. Then the state is returned as it is.
const MAX_UNCOUNTED: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchIntervals {
    /// In a stable state.
    pub poll: Duration,
    /// The first interval after a change and in a transitional state; each next one is twice as long,
    /// up to `poll`.
    pub settle: Duration,
}

impl Default for WatchIntervals {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(30),
            settle: Duration::from_millis(20),
        }
    }
}

/// A source of wake-ups, such as uevents.
pub trait Wakeups {
    /// Completes when sysfs should be read. It may never complete, and must be cancel-safe.
    fn woken(&mut self) -> impl Future<Output = ()> + Send;
}

#[derive(Debug)]
pub enum UeventSource {
    Socket(UeventStream),
    /// There is no socket, or it failed: only polling is left.
    Unavailable,
}

#[derive(Debug)]
pub struct Watch<W = UeventSource> {
    root: HostRoot,
    intervals: WatchIntervals,
    wakeups: W,
    last: Option<Fact<KernelSchedExt>>,
    idle_reads: u32,
    uncounted: u32,
}

impl Watch {
    /// Uses uevents, or only polls where there is no socket. Must be called within a tokio runtime that
    /// has I/O and time enabled.
    pub fn open(root: HostRoot, intervals: WatchIntervals) -> Self {
        let source = match UeventStream::open() {
            Ok(stream) => UeventSource::Socket(stream),
            Err(_) => UeventSource::Unavailable,
        };
        Self::with(root, intervals, source)
    }

    pub fn receives_events(&self) -> bool {
        matches!(self.wakeups, UeventSource::Socket(_))
    }
}

impl<W: Wakeups> Watch<W> {
    /// Uses another source of wake-ups.
    pub fn with(root: HostRoot, intervals: WatchIntervals, wakeups: W) -> Self {
        Self {
            root,
            intervals,
            wakeups,
            last: None,
            idle_reads: 0,
            uncounted: 0,
        }
    }

    /// Returns the current state at once the first time, then whenever it differs in more than
    /// counters. Cancel-safe.
    pub async fn next(&mut self) -> Fact<KernelSchedExt> {
        loop {
            if self.last.is_some() {
                self.wait().await;
            }
            let now = KernelSchedExt::read(&self.root);
            let last = self.last.as_ref();
            if last.is_some_and(|last| is_uncounted(last, &now)) && self.uncounted < MAX_UNCOUNTED {
                self.uncounted += 1;
                continue;
            }
            self.uncounted = 0;
            if !last.is_some_and(|last| is_same(last, &now)) {
                self.last = Some(now.clone());
                self.idle_reads = 0;
                return now;
            }
        }
    }

    async fn wait(&mut self) {
        let transitional = self.last.as_ref().and_then(Fact::known);
        let transitional =
            transitional.is_some_and(KernelSchedExt::is_transitional) || self.uncounted > 0;
        let limit = self.intervals.limit(self.idle_reads, transitional);
        match timeout(limit, self.wakeups.woken()).await {
            Ok(()) => self.idle_reads = 0,
            Err(_) => self.idle_reads = self.idle_reads.saturating_add(1),
        }
    }
}

impl WatchIntervals {
    /// How long to wait after this many reads without a change.
    fn limit(&self, idle_reads: u32, transitional: bool) -> Duration {
        if transitional || idle_reads < FAST_READS {
            let longer = 2_u32.saturating_pow(idle_reads.min(16));
            self.settle.saturating_mul(longer).min(self.poll)
        } else {
            self.poll
        }
    }
}

impl Wakeups for UeventSource {
    async fn woken(&mut self) {
        loop {
            let Self::Socket(stream) = self else {
                return pending().await;
            };
            match stream.next().await {
                Ok(Received::Overflow) => return,
                Ok(Received::Event(event)) if event.is_about_sched_ext() => return,
                Ok(Received::Event(_)) => {}
                Err(_) => *self = Self::Unavailable,
            }
        }
    }
}

/// Whether another scheduler is attached than before although `enable_seq` is the same.
fn is_uncounted(before: &Fact<KernelSchedExt>, now: &Fact<KernelSchedExt>) -> bool {
    let (Fact::Known(before), Fact::Known(now)) = (before, now) else {
        return false;
    };
    now.attached().is_some()
        && now.attached() != before.attached()
        && now.enable_seq.known().is_some()
        && now.enable_seq == before.enable_seq
}

fn is_same(before: &Fact<KernelSchedExt>, now: &Fact<KernelSchedExt>) -> bool {
    match (before, now) {
        (Fact::Known(before), Fact::Known(now)) => before.equals_except_counters(now),
        (before, now) => before == now,
    }
}

#[cfg(test)]
mod tests;
