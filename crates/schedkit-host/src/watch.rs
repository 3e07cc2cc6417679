//! The kernel's sched_ext, told whenever it changed.
//!
//! ```text
//!            ┌── an event about sched_ext, or one was missed ──┐
//!   wait ────┼── soon, while a state is passing or news is hot ┼──▶ read sysfs ──▶ changed? yield
//!            └── the slow poll: events can be lost ────────────┘
//! ```
//!
//! An event only wakes; what is yielded was read from sysfs. After an event sysfs is read a few
//! times more in quick succession, because the kernel sends some events before it has finished: it
//! announces an attach before it counts it in `enable_seq`, and until then the attach is not told.

use std::future::{Future, pending};
use std::time::Duration;

use tokio::time::timeout;

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::sched_ext::SchedExt;
use crate::uevent_stream::{Notice, UeventStream};

/// How many quick looks follow a wake-up or a change even when nothing seems to be in motion.
const HOT: u32 = 3;
/// How many quick looks wait for the kernel to count an attach: a second and more, for what takes a
/// busy machine milliseconds. Then it is told as it is.
const UNCOUNTED: u32 = 6;

/// How often to look when nothing wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// At the latest.
    pub poll: Duration,
    /// First while a state is passing by; twice as long each time after that, up to `poll`.
    pub settle: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(30),
            settle: Duration::from_millis(20),
        }
    }
}

/// Something that knows when it is worth looking.
pub trait Wakeups {
    /// Ends when it is. Never ending is allowed: there is a poll. Must lose nothing when it is
    /// dropped while waiting.
    fn woken(&mut self) -> impl Future<Output = ()> + Send;
}

/// The kernel's events as far as they can be heard.
#[derive(Debug)]
pub enum Uevents {
    /// They can.
    Heard(UeventStream),
    /// They cannot: only the poll is left.
    Silent,
}

/// Watches one machine.
#[derive(Debug)]
pub struct Watch<W = Uevents> {
    root: HostRoot,
    pace: Pace,
    wakeups: W,
    last: Option<Fact<SchedExt>>,
    looks: u32,
    uncounted: u32,
}

impl Watch {
    /// Watches with the kernel's events, or by polling alone where there are none. Must be called
    /// within a tokio runtime that has I/O and time enabled.
    pub fn open(root: HostRoot, pace: Pace) -> Self {
        let uevents = match UeventStream::open() {
            Ok(stream) => Uevents::Heard(stream),
            Err(_) => Uevents::Silent,
        };
        Self::with(root, pace, uevents)
    }

    /// Whether events can be heard.
    pub fn hears_events(&self) -> bool {
        matches!(self.wakeups, Uevents::Heard(_))
    }
}

impl<W: Wakeups> Watch<W> {
    /// Watches with something else that wakes.
    pub fn with(root: HostRoot, pace: Pace, wakeups: W) -> Self {
        Self {
            root,
            pace,
            wakeups,
            last: None,
            looks: 0,
            uncounted: 0,
        }
    }

    /// At first what is, at once; then each time what is, as soon as it differs in more than
    /// counters. May be dropped while waiting; nothing is lost.
    pub async fn next(&mut self) -> Fact<SchedExt> {
        loop {
            if self.last.is_some() {
                self.wait().await;
            }
            let now = SchedExt::read(&self.root);
            let last = self.last.as_ref();
            if last.is_some_and(|last| is_uncounted(last, &now)) && self.uncounted < UNCOUNTED {
                self.uncounted += 1;
                continue;
            }
            self.uncounted = 0;
            if !last.is_some_and(|last| agree(last, &now)) {
                self.last = Some(now.clone());
                self.looks = 0;
                return now;
            }
        }
    }

    async fn wait(&mut self) {
        let moving = self.last.as_ref().and_then(Fact::known);
        let moving = moving.is_some_and(SchedExt::is_in_motion) || self.uncounted > 0;
        let limit = self.pace.limit(self.looks, moving);
        match timeout(limit, self.wakeups.woken()).await {
            Ok(()) => self.looks = 0,
            Err(_) => self.looks = self.looks.saturating_add(1),
        }
    }
}

impl Pace {
    /// How long to wait after this many looks in vain.
    fn limit(&self, looks: u32, moving: bool) -> Duration {
        if moving || looks < HOT {
            let longer = 2_u32.saturating_pow(looks.min(16));
            self.settle.saturating_mul(longer).min(self.poll)
        } else {
            self.poll
        }
    }
}

impl Wakeups for Uevents {
    async fn woken(&mut self) {
        loop {
            let Self::Heard(stream) = self else {
                return pending().await;
            };
            match stream.next().await {
                Ok(Notice::Missed) => return,
                Ok(Notice::Event(event)) if event.is_about_sched_ext() => return,
                Ok(Notice::Event(_)) => {}
                Err(_) => *self = Self::Silent,
            }
        }
    }
}

/// Whether another one is attached than before, and the count of attaches says that none was.
fn is_uncounted(before: &Fact<SchedExt>, now: &Fact<SchedExt>) -> bool {
    let (Fact::Known(before), Fact::Known(now)) = (before, now) else {
        return false;
    };
    now.attached().is_some()
        && now.attached() != before.attached()
        && now.enable_seq.known().is_some()
        && now.enable_seq == before.enable_seq
}

fn agree(before: &Fact<SchedExt>, now: &Fact<SchedExt>) -> bool {
    match (before, now) {
        (Fact::Known(before), Fact::Known(now)) => before.agrees_with(now),
        (before, now) => before == now,
    }
}

#[cfg(test)]
mod tests;
