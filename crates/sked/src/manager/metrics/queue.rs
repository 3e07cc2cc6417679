//! Metrics of a work queue, with the names and meanings of client-go's.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

type FloatGauge = Gauge<f64, std::sync::atomic::AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQueue {
    name: &'static str,
    controller: &'static str,
}

/// What a queue records while it is used.
#[derive(Clone, Debug)]
pub(crate) struct QueueMetrics {
    /// Keys that became ready to be processed; a key that is ready already does not count again.
    pub(crate) adds: Counter,
    /// Keys that were added again with a delay, after a failure or to check a deadline.
    pub(crate) retries: Counter,
    /// How long keys were ready before they were processed.
    pub(crate) queue_duration: Histogram,
    /// How long processing a key took.
    pub(crate) work_duration: Histogram,
}

/// The state of a queue at the time of a scrape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct QueueSnapshot {
    /// Keys that are ready and not being processed.
    pub(crate) depth: usize,
    /// The sum of how long each key in progress has been processed so far.
    pub(crate) unfinished_work: Duration,
    /// The longest of these.
    pub(crate) longest_running: Duration,
}

/// The gauges that are set at each scrape.
#[derive(Debug)]
pub(super) struct QueueGauges {
    depth: Gauge,
    unfinished_work: FloatGauge,
    longest_running: FloatGauge,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        Self {
            adds: Counter::default(),
            retries: Counter::default(),
            queue_duration: durations(),
            work_duration: durations(),
        }
    }
}

/// From 10 ns to 1000 s, as in client-go.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(10e-9, 10.0, 12))
}

/// Registers the metrics of the queue of this controller. The registry appends `_total` to the names
/// of counters.
pub(super) fn register(
    registry: &mut Registry,
    controller: &'static str,
) -> (QueueMetrics, QueueGauges) {
    let of = OfQueue {
        name: controller,
        controller,
    };
    let mut counter = |name: &str, help: &str| {
        let family = Family::<OfQueue, Counter>::default();
        registry.register(name, help, family.clone());
        family.get_or_create(&of).clone()
    };
    let adds = counter("workqueue_adds", "SchedExts added to the queue");
    let retries = counter(
        "workqueue_retries",
        "SchedExts added again with a delay, after a failure or to check a deadline",
    );
    let mut histogram = |name: &str, help: &str| {
        let family = Family::<OfQueue, Histogram>::new_with_constructor(durations);
        registry.register(name, help, family.clone());
        family.get_or_create(&of).clone()
    };
    let queue_duration = histogram(
        "workqueue_queue_duration_seconds",
        "How long SchedExts waited in the queue",
    );
    let work_duration = histogram(
        "workqueue_work_duration_seconds",
        "How long processing a SchedExt took",
    );
    let depth = Family::<OfQueue, Gauge>::default();
    registry.register(
        "workqueue_depth",
        "SchedExts that wait in the queue",
        depth.clone(),
    );
    let mut gauge = |name: &str, help: &str| {
        let family = Family::<OfQueue, FloatGauge>::default();
        registry.register(name, help, family.clone());
        family.get_or_create(&of).clone()
    };
    let gauges = QueueGauges {
        depth: depth.get_or_create(&of).clone(),
        unfinished_work: gauge(
            "workqueue_unfinished_work_seconds",
            "The sum of how long each SchedExt in progress has been processed so far",
        ),
        longest_running: gauge(
            "workqueue_longest_running_processor_seconds",
            "How long the longest of these has been processed so far",
        ),
    };
    let metrics = QueueMetrics {
        adds,
        retries,
        queue_duration,
        work_duration,
    };
    (metrics, gauges)
}

impl QueueGauges {
    pub(super) fn set(&self, snapshot: &QueueSnapshot) {
        let QueueSnapshot {
            depth,
            unfinished_work,
            longest_running,
        } = snapshot;
        self.depth.set(i64::try_from(*depth).unwrap_or(i64::MAX));
        self.unfinished_work.set(unfinished_work.as_secs_f64());
        self.longest_running.set(longest_running.as_secs_f64());
    }
}
