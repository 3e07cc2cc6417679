//! Decides which write makes the API server's report equal to the kernel's state. The clock and the
//! results of writes are parameters; [`crate::agent::write`] executes the writes.
//!
//! ```text
//! readings ───▶ desired ─┐
//!                        ├─▶ absent: create · of another Node: delete · different: patch · equal: nothing
//! events ─────▶ stored ──┘    not before the rate limit, the backoff and the settle time allow it
//! ```
//!
//! Only the latest reading is written: a change that was reverted in the meantime is not.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::kernel::KernelInfo;
use schedkit_host::{Fact, KernelSchedExt};
use sked_api::node::SchedExtNodeStatus;
use tokio::time::Instant;

use super::identity::Identity;
use super::random::Random;
use super::rate_limit::RateLimit;
use super::report::{keep_since, report};
use crate::backoff::Backoff;

/// How long a transitional state (enabling, disabling) must last before it is written.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// The backoff of writes and of the watch.
pub(super) const BACKOFF: Backoff =
    Backoff::new(Duration::from_millis(200), Duration::from_secs(10));

/// A report as the API server stores it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PublishedReport {
    pub(super) uid: String,
    /// The resource version, which grows with every write; `None` if it is no number.
    pub(super) version: Option<u64>,
    /// The Node in its owner reference, if that is its only owner.
    pub(super) owner: Option<Identity>,
    pub(super) status: SchedExtNodeStatus,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum StoredReport {
    /// Not read yet.
    #[default]
    Unknown,
    Absent,
    Present(Box<PublishedReport>),
}

/// An event of the watch of the own report.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReportEvent {
    /// The result of the list at the beginning of a watch.
    Listed(Option<PublishedReport>),
    /// The watch is established: every change is received from now on.
    Watching,
    Changed(PublishedReport),
    /// At this resource version.
    Deleted(Option<u64>),
    /// The watch failed, and why.
    Lost(String),
}

/// The next write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReportWrite {
    Create,
    /// The report belongs to an earlier Node of this name, or to none.
    Delete {
        uid: String,
    },
    Patch(Box<SchedExtNodeStatus>),
}

#[derive(Debug)]
pub(super) struct ReportSync {
    identity: Identity,
    stored: StoredReport,
    newest: Option<u64>,
    /// What the kernel lacks; it does not change before the next boot.
    kernel_gaps: Option<String>,
    desired: Option<SchedExtNodeStatus>,
    /// What was written last and what the API server stored of it, if that differs.
    partly_stored: Option<(SchedExtNodeStatus, SchedExtNodeStatus)>,
    settles_at: Option<Instant>,
    watch: WatchState,
    rate_limit: RateLimit,
    backoff: Backoff,
    paused_until: Option<Instant>,
    failure: Option<String>,
}

#[derive(Debug, Default, PartialEq)]
enum WatchState {
    #[default]
    NotStarted,
    Established,
    Lost(String),
}

impl ReportSync {
    pub(super) fn new(identity: Identity, kernel_gaps: Option<String>) -> Self {
        Self {
            identity,
            kernel_gaps,
            stored: StoredReport::Unknown,
            newest: None,
            desired: None,
            partly_stored: None,
            settles_at: None,
            watch: WatchState::NotStarted,
            rate_limit: RateLimit::default(),
            backoff: BACKOFF,
            paused_until: None,
            failure: None,
        }
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// After the token was read again.
    pub(super) fn identify(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// Processes a reading of the kernel.
    pub(super) fn read(
        &mut self,
        reading: &Fact<KernelSchedExt>,
        kernel: &KernelInfo,
        now: Timestamp,
        moment: Instant,
    ) {
        let transitional = reading.known().is_some_and(KernelSchedExt::is_transitional);
        self.settles_at = transitional.then(|| self.settles_at.unwrap_or(moment + SETTLE_TIME));
        let previous = self.desired.as_ref().or(match &self.stored {
            StoredReport::Present(report) => Some(&report.status),
            StoredReport::Absent | StoredReport::Unknown => None,
        });
        let mut desired = report(reading, kernel, previous, now);
        // A kernel without sched_ext has no use for anything else.
        let has_sched_ext = desired.supported == Some(true);
        desired.kernel_gaps = self.kernel_gaps.clone().filter(|_| has_sched_ext);
        self.desired = Some(desired);
    }

    pub(super) fn handle(&mut self, event: ReportEvent) {
        match event {
            // A list replaces everything, also after a restored backup, whose versions are lower.
            ReportEvent::Listed(report) => {
                self.newest = report.as_ref().and_then(|report| report.version);
                self.take_over(report.as_ref());
                self.stored = report.map_or(StoredReport::Absent, |report| {
                    StoredReport::Present(Box::new(report))
                });
            }
            ReportEvent::Watching => self.watch = WatchState::Established,
            ReportEvent::Changed(report) if self.is_new(report.version) => self.store(report),
            ReportEvent::Deleted(version) if self.is_new(version) => {
                self.stored = StoredReport::Absent;
            }
            // Older than our own latest write.
            ReportEvent::Changed(_) | ReportEvent::Deleted(_) => {}
            ReportEvent::Lost(why) => self.watch = WatchState::Lost(why),
        }
    }

    /// Whether the watch failed with the same message before, so that it is logged once.
    pub(super) fn knows_lost(&self, why: &str) -> bool {
        matches!(&self.watch, WatchState::Lost(known) if known == why)
    }

    /// A write succeeded; `stored` is its result. An older CRD does not keep every field: what it
    /// keeps is as current as it gets, and writing it again changes nothing. Returns whether that is
    /// so, and was not before.
    pub(super) fn done(&mut self, write: &ReportWrite, stored: StoredReport) -> bool {
        let complete_before = self.partly_stored.is_none();
        if let (ReportWrite::Patch(sent), StoredReport::Present(report)) = (write, &stored) {
            let differs = **sent != report.status;
            self.partly_stored = differs.then(|| ((**sent).clone(), report.status.clone()));
        }
        match stored {
            StoredReport::Present(report) => self.store(*report),
            StoredReport::Absent | StoredReport::Unknown => self.stored = stored,
        }
        self.backoff.succeeded();
        self.paused_until = None;
        self.failure = None;
        complete_before && self.partly_stored.is_some()
    }

    /// A write failed. Returns whether the message differs from that of the last failure.
    pub(super) fn failed(&mut self, why: String, random: &mut Random, moment: Instant) -> bool {
        let delay = self.backoff.failed_with_jitter(random());
        self.paused_until = Some(moment + delay);
        let new = self.failure.as_ref() != Some(&why);
        self.failure = Some(why);
        new
    }

    /// A write starts.
    pub(super) fn begin(&mut self, moment: Instant) {
        self.rate_limit.take(moment);
    }

    pub(super) fn next_write(&self) -> Option<ReportWrite> {
        let desired = self.desired.as_ref()?;
        match &self.stored {
            StoredReport::Unknown => None,
            StoredReport::Absent => Some(ReportWrite::Create),
            StoredReport::Present(report) if report.owner.as_ref() != Some(&self.identity) => {
                let uid = report.uid.clone();
                Some(ReportWrite::Delete { uid })
            }
            StoredReport::Present(report) if !self.is_current(&report.status, desired) => {
                Some(ReportWrite::Patch(Box::new(desired.clone())))
            }
            StoredReport::Present(_) => None,
        }
    }

    fn is_current(&self, stored: &SchedExtNodeStatus, desired: &SchedExtNodeStatus) -> bool {
        let partly = self.partly_stored.as_ref();
        stored == desired || partly.is_some_and(|(sent, kept)| sent == desired && kept == stored)
    }

    /// When the next write is due, if there is one.
    pub(super) fn due(&self, moment: Instant) -> Option<Instant> {
        self.next_write()?;
        let earliest = self.rate_limit.free_at(moment);
        let later = [self.paused_until, self.settles_at];
        Some(later.into_iter().flatten().fold(earliest, Instant::max))
    }

    /// Why the API server may not have the current report; empty if it has.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        match &self.watch {
            WatchState::Established => {}
            WatchState::NotStarted => missing.push("the own report was not read yet".to_owned()),
            WatchState::Lost(why) => missing.push(format!("the own report is not watched: {why}")),
        }
        if self.desired.is_none() {
            missing.push("the kernel was not read yet".to_owned());
        } else if self.next_write().is_some() {
            missing.push(match &self.failure {
                Some(why) => format!("the report is not written: {why}"),
                None => "the report waits to be written".to_owned(),
            });
        }
        missing
    }

    /// Takes over what the report of an earlier agent says, before anything is written.
    fn take_over(&mut self, report: Option<&PublishedReport>) {
        if let (StoredReport::Unknown, Some(desired), Some(report)) =
            (&self.stored, &mut self.desired, report)
        {
            keep_since(desired, &report.status);
        }
    }

    fn store(&mut self, report: PublishedReport) {
        self.newest = self.newest.max(report.version);
        self.stored = StoredReport::Present(Box::new(report));
    }

    fn is_new(&self, version: Option<u64>) -> bool {
        version.is_none() || version >= self.newest
    }
}

#[cfg(test)]
mod tests;
