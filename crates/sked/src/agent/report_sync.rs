//! What the API server has, what it should have, and what to do about the difference: decided here,
//! done in [`crate::agent::write`]. No clock, no cluster.
//!
//! ```text
//! readings ──▶ wanted ─┐
//!                      ├─▶ gone: create · another Node's: delete · differs: patch · alike: rest
//! news ──────▶ held ───┘      not before the bucket, the back-off and a passing state allow it
//! ```
//!
//! Only the latest reading counts: what changed and changed back meanwhile is never written.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::kernel::Kernel;
use schedkit_host::{Fact, SchedExt};
use sked_api::node::SchedExtNodeStatus;
use tokio::time::Instant;

use super::identity::Identity;
use super::pace::{Backoff, Bucket, Dice};
use super::report::{recall, report};

/// How long a state that passes by itself may take before it is worth a write.
const PASSING: Duration = Duration::from_millis(50);

/// A report as the API server has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    /// Which of all objects of this name.
    pub(super) uid: String,
    /// Grows with every write, where it can be read as a number.
    pub(super) version: Option<u64>,
    /// The Node that it goes with, if it is one and no other.
    pub(super) owner: Option<Identity>,
    /// What it says.
    pub(super) status: SchedExtNodeStatus,
}

/// What the API server has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Held {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// Nothing.
    Gone,
    /// This.
    There(Box<Report>),
}

/// What came from the watch of the own report.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum News {
    /// All that there is: the beginning of a watch.
    Listed(Option<Report>),
    /// From now on every change is heard of.
    Following,
    /// It came or changed.
    Changed(Report),
    /// It went, at this version.
    Deleted(Option<u64>),
    /// The watch broke off, and why.
    Lost(String),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// There is none.
    Create,
    /// It belongs to a Node that had this name before, or to nobody.
    Delete { uid: String },
    /// It says something else.
    Patch(Box<SchedExtNodeStatus>),
}

/// All that an agent remembers.
#[derive(Debug)]
pub(super) struct Ledger {
    identity: Identity,
    held: Held,
    newest: Option<u64>,
    wanted: Option<SchedExtNodeStatus>,
    passing_until: Option<Instant>,
    watch: Watching,
    bucket: Bucket,
    backoff: Backoff,
    paused_until: Option<Instant>,
    failure: Option<String>,
}

#[derive(Debug, Default, PartialEq)]
enum Watching {
    #[default]
    NotYet,
    Alive,
    Lost(String),
}

impl Ledger {
    /// Of an agent that has just begun.
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            identity,
            held: Held::Unknown,
            newest: None,
            wanted: None,
            passing_until: None,
            watch: Watching::NotYet,
            bucket: Bucket::default(),
            backoff: Backoff::default(),
            paused_until: None,
            failure: None,
        }
    }

    /// Which node this is.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The token was read again.
    pub(super) fn identify(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// The kernel was read.
    pub(super) fn read(
        &mut self,
        reading: &Fact<SchedExt>,
        kernel: &Kernel,
        now: Timestamp,
        moment: Instant,
    ) {
        let moves = reading.known().is_some_and(SchedExt::is_in_motion);
        self.passing_until = moves.then(|| self.passing_until.unwrap_or(moment + PASSING));
        let previous = self.wanted.as_ref().or(match &self.held {
            Held::There(report) => Some(&report.status),
            Held::Gone | Held::Unknown => None,
        });
        self.wanted = Some(report(reading, kernel, previous, now));
    }

    /// The watch told something.
    pub(super) fn heard(&mut self, news: News) {
        match news {
            // A list is the beginning of all that follows, also after a restored backup, whose
            // versions are lower.
            News::Listed(report) => {
                self.newest = report.as_ref().and_then(|report| report.version);
                self.first_look(report.as_ref());
                self.held = report.map_or(Held::Gone, |report| Held::There(Box::new(report)));
            }
            News::Following => self.watch = Watching::Alive,
            News::Changed(report) if self.is_new(report.version) => self.hold(report),
            News::Deleted(version) if self.is_new(version) => self.held = Held::Gone,
            // From before our own latest write.
            News::Changed(_) | News::Deleted(_) => {}
            News::Lost(why) => self.watch = Watching::Lost(why),
        }
    }

    /// Whether the watch is known to be broken for this very reason: it need not be said again.
    pub(super) fn knows_lost(&self, why: &str) -> bool {
        matches!(&self.watch, Watching::Lost(known) if known == why)
    }

    /// A step was taken and this is what there is now.
    pub(super) fn done(&mut self, held: Held) {
        match held {
            Held::There(report) => self.hold(*report),
            Held::Gone | Held::Unknown => self.held = held,
        }
        self.backoff.succeeded();
        self.paused_until = None;
        self.failure = None;
    }

    /// A step failed. Says whether that is news.
    pub(super) fn failed(&mut self, why: String, dice: &mut Dice, moment: Instant) -> bool {
        self.paused_until = Some(moment + self.backoff.failed(dice));
        let new = self.failure.as_ref() != Some(&why);
        self.failure = Some(why);
        new
    }

    /// A step is about to be taken.
    pub(super) fn begin(&mut self, moment: Instant) {
        self.bucket.take(moment);
    }

    /// What is to be done.
    pub(super) fn step(&self) -> Option<Step> {
        let wanted = self.wanted.as_ref()?;
        match &self.held {
            Held::Unknown => None,
            Held::Gone => Some(Step::Create),
            Held::There(report) if report.owner.as_ref() != Some(&self.identity) => {
                let uid = report.uid.clone();
                Some(Step::Delete { uid })
            }
            Held::There(report) if report.status != *wanted => {
                Some(Step::Patch(Box::new(wanted.clone())))
            }
            Held::There(_) => None,
        }
    }

    /// When it is to be done, if anything is.
    pub(super) fn due(&self, moment: Instant) -> Option<Instant> {
        self.step()?;
        let earliest = self.bucket.free_at(moment);
        let later = [self.paused_until, self.passing_until];
        Some(later.into_iter().flatten().fold(earliest, Instant::max))
    }

    /// What stands between the API server's report and the truth, in sentences; nothing when it can
    /// be believed.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        match &self.watch {
            Watching::Alive => {}
            Watching::NotYet => missing.push("the own report was not looked at yet".to_owned()),
            Watching::Lost(why) => missing.push(format!("the own report is not watched: {why}")),
        }
        if self.wanted.is_none() {
            missing.push("the kernel was not asked yet".to_owned());
        } else if self.step().is_some() {
            missing.push(match &self.failure {
                Some(why) => format!("the report is not written: {why}"),
                None => "the report waits to be written".to_owned(),
            });
        }
        missing
    }

    /// What the agent before this one knew is taken over before anything is written.
    fn first_look(&mut self, report: Option<&Report>) {
        if let (Held::Unknown, Some(wanted), Some(report)) = (&self.held, &mut self.wanted, report)
        {
            recall(wanted, &report.status);
        }
    }

    fn hold(&mut self, report: Report) {
        self.newest = self.newest.max(report.version);
        self.held = Held::There(Box::new(report));
    }

    fn is_new(&self, version: Option<u64>) -> bool {
        version.is_none() || version >= self.newest
    }
}

#[cfg(test)]
mod tests;
