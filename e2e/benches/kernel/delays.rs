//! The delays from a kernel's line that it detached a scheduler to everything that shows it.

use std::time::{Duration, Instant};

use crate::recorder::{Event, Record, Recorder};
use crate::stolen_time::StolenTime;

/// A sample counts while other virtual machines have no more than this share of the processors.
const MAX_STOLEN: f64 = 0.15;
/// The longest delay of a sample that counts, in seconds: anything longer is a bug.
const MAX_DELAY: f64 = 60.0;
const MAX_UNTIL_DETACHED: f64 = 1.0;
const MAX_UNTIL_REASON: f64 = 5.0;

/// One sample, in seconds.
#[derive(Debug)]
pub(crate) struct Delays {
    kernel: String,
    report: f64,
    pod: f64,
    schedext: f64,
    reason: f64,
    /// The share of this machine's processors that others had meanwhile.
    stolen: f64,
}

/// Every time since then that a kernel ejected a scheduler for this reason.
pub(crate) fn ejections(recorder: &Recorder, since: Instant, reason: &str) -> Vec<Record> {
    let ejected = |record: &Record| {
        record.at >= since && matches!(&record.event, Event::Kernel(text) if text.contains(reason))
    };
    recorder.all().into_iter().filter(ejected).collect()
}

/// The first time after a moment that a node's kernel detached its scheduler.
pub(crate) fn detached(recorder: &Recorder, node: &str, after: Instant) -> Record {
    let detached = |record: &Record| {
        record.node == node && record.at >= after && matches!(record.event, Event::Kernel(_))
    };
    let found = recorder.all().into_iter().find(detached);
    found.unwrap_or_else(|| panic!("{node}'s console shows no detach"))
}

impl Delays {
    /// From a kernel's line on; none while something does not show it yet.
    pub(crate) fn since(
        kernel: &Record,
        recorder: &Recorder,
        stolen_time: &StolenTime,
    ) -> Option<Self> {
        let delay = |is: &dyn Fn(&Event) -> bool| {
            let at = recorder.first(&kernel.node, kernel.at, is)?;
            Some((at - kernel.at).as_secs_f64())
        };
        let has_reason = |event: &Event| matches!(event, Event::Problem(Some(reason)) if reason != "Detached" && reason != "NotAttached");
        let reason = delay(&has_reason)?;
        let until = kernel.at + Duration::from_secs_f64(reason);
        let delays = Self {
            kernel: format!("{:?}", kernel.event),
            report: delay(&|event| matches!(event, Event::Report(state) if state != "enabled"))?,
            pod: delay(&|event| *event == Event::Pod { ready: false })?,
            schedext: delay(&|event| matches!(event, Event::Problem(Some(_))))?,
            stolen: stolen_time.share(kernel.at, until),
            reason,
        };
        let late = delays.counts() && reason >= MAX_DELAY;
        assert!(!late, "shown too late: {delays:?}");
        Some(delays)
    }

    /// Whether it is about sked, and not about who else uses the machine.
    pub(crate) fn counts(&self) -> bool {
        self.stolen <= MAX_STOLEN
    }

    pub(crate) fn print(&self) {
        let Self {
            kernel,
            report,
            pod,
            schedext,
            reason,
            stolen,
        } = self;
        let note = if self.counts() { "" } else { " (not counted)" };
        println!(
            "{kernel:44} report {report:6.3}  pod unready {pod:6.3}  SchedExt {schedext:6.3}  \
             reason {reason:6.3}  stolen {:3.0} %{note}",
            stolen * 100.0
        );
    }
}

/// Prints the median, the 95th percentile and the maximum of each delay. Whether those that have a
/// limit keep it.
pub(crate) fn summarize(samples: &[Delays]) -> bool {
    type Column = (&'static str, fn(&Delays) -> f64, Option<f64>);
    let columns: [Column; 4] = [
        ("report", |one| one.report, None),
        ("pod unready", |one| one.pod, None),
        (
            "SchedExt shows detached",
            |one| one.schedext,
            Some(MAX_UNTIL_DETACHED),
        ),
        (
            "SchedExt shows the reason",
            |one| one.reason,
            Some(MAX_UNTIL_REASON),
        ),
    ];
    let mut met = true;
    for (name, column, limit) in columns {
        let mut values: Vec<f64> = samples.iter().map(column).collect();
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
        let (median, p95, max) = (at(0.5), at(0.95), at(1.0));
        let count = values.len();
        println!("{name:26} {count} samples: median {median:.3} s, p95 {p95:.3} s, max {max:.3} s");
        if let Some(limit) = limit {
            let verdict = if p95 <= limit { "ok" } else { "MISSED" };
            println!("{name:26} p95 {p95:.2} s (at most {limit}) {verdict}");
            met &= p95 <= limit;
        }
    }
    met
}
