//! A queue of keys: which SchedExts (or pods) to process, and when. [`crate::manager::requeue`] fills
//! it, [`crate::manager::controller`] and [`crate::manager::gates`] process it.
//!
//! kube's own `Controller` does not expose its queue (its depth is a documented metric) and accepts
//! triggers only from its own watches; here all SchedExts share the stores, and the claims trigger
//! SchedExts too. The rules are those of client-go's work queue:
//!
//! - a key is in the queue once, and the earlier of two delays counts;
//! - a key in progress is not handed out again, but is ready again afterwards if it was added;
//! - a key that fails is delayed with a backoff until it succeeds;
//!
//! and one rule of our own: frequent triggers ([`Queue::soon`]) are handled at once after a quiet
//! period, and at most twice a second otherwise.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sked_plan::ObjectKey;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::manager::metrics::{QueueMetrics, QueueSnapshot};

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(300);
/// The shortest time between two runs that [`Queue::soon`] triggers.
const SOON_INTERVAL: Duration = Duration::from_millis(500);
/// How many ends of work are remembered before old ones are dropped.
const TIDY_AT: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
    metrics: QueueMetrics,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    ready: VecDeque<ObjectKey>,
    /// The keys in `ready`, with when they were added.
    added: HashMap<ObjectKey, Instant>,
    /// Delayed keys by time, and by key.
    later: BTreeSet<(Instant, ObjectKey)>,
    due: HashMap<ObjectKey, Instant>,
    working: HashMap<ObjectKey, Work>,
    failures: HashMap<ObjectKey, Backoff>,
    /// When work on a key ended, for recent ones.
    ended: HashMap<ObjectKey, Instant>,
}

/// A key in progress.
#[derive(Debug)]
struct Work {
    started: Instant,
    /// When the key was added again in the meantime.
    added: Option<Instant>,
}

impl Queue {
    /// A queue that drops what is added until [`Queue::open`]: a manager that does not lead takes
    /// nothing out of it.
    pub(crate) fn closed(metrics: QueueMetrics) -> Self {
        let state = State {
            closed: true,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            metrics,
            ..Self::default()
        }
    }

    /// From now on keys are kept. What was dropped is for the caller to add.
    pub(crate) fn open(&self) {
        self.state().closed = false;
    }

    /// Makes a key ready.
    pub(crate) fn now(&self, key: &ObjectKey) {
        let mut state = self.state();
        state.forget_later(key);
        state.make_ready(key, &self.metrics);
        drop(state);
        self.changed.notify_one();
    }

    /// Makes a key ready after a delay, to check it again.
    pub(crate) fn after(&self, key: &ObjectKey, delay: Duration) {
        self.metrics.retries.inc();
        self.state().add_later(key, Instant::now() + delay);
        self.changed.notify_one();
    }

    /// Makes a key ready after `gather`, or later if it was processed a moment ago.
    pub(crate) fn soon(&self, key: &ObjectKey, gather: Duration) {
        let mut state = self.state();
        let earliest = state.ended.get(key).map(|ended| *ended + SOON_INTERVAL);
        let at = Instant::now() + gather;
        state.add_later(key, earliest.map_or(at, |earliest| earliest.max(at)));
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for the next key; it is in progress until [`Queue::done`].
    pub(crate) async fn next(&self) -> ObjectKey {
        loop {
            let changed = self.changed.notified();
            let (key, due) = self.state().take(Instant::now(), &self.metrics);
            match (key, due) {
                (Some(key), _) => return key,
                (None, Some(due)) => {
                    let _ = tokio::time::timeout_at(due, changed).await;
                }
                (None, None) => changed.await,
            }
        }
    }

    /// The key is not in progress any more.
    pub(crate) fn done(&self, key: &ObjectKey) {
        let mut state = self.state();
        state.remember_end(key);
        let Some(work) = state.working.remove(key) else {
            return;
        };
        let took = work.started.elapsed();
        self.metrics.work_duration.observe(took.as_secs_f64());
        if let Some(added) = work.added {
            state.push_ready(key, added);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Delays a key after a failure. Returns the delay.
    pub(crate) fn failed(&self, key: &ObjectKey) -> Duration {
        self.metrics.retries.inc();
        let mut state = self.state();
        let new = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
        let backoff = state.failures.entry(key.clone()).or_insert(new);
        let delay = backoff.failed();
        state.add_later(key, Instant::now() + delay);
        drop(state);
        self.changed.notify_one();
        delay
    }

    /// Resets the backoff of a key.
    pub(crate) fn succeeded(&self, key: &ObjectKey) {
        self.state().failures.remove(key);
    }

    /// For the metrics.
    pub(crate) fn snapshot(&self) -> QueueSnapshot {
        let state = self.state();
        let running = state.working.values().map(|work| work.started.elapsed());
        QueueSnapshot {
            depth: state.ready.len(),
            unfinished_work: running.clone().sum(),
            longest_running: running.max().unwrap_or_default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remember_end(&mut self, key: &ObjectKey) {
        let now = Instant::now();
        if self.ended.len() >= TIDY_AT + self.working.len() {
            self.ended.retain(|_, ended| now < *ended + SOON_INTERVAL);
        }
        self.ended.insert(key.clone(), now);
    }

    fn make_ready(&mut self, key: &ObjectKey, metrics: &QueueMetrics) {
        if self.closed {
            return;
        }
        let now = Instant::now();
        if let Some(work) = self.working.get_mut(key) {
            if work.added.is_none() {
                work.added = Some(now);
                metrics.adds.inc();
            }
        } else if !self.added.contains_key(key) {
            self.push_ready(key, now);
            metrics.adds.inc();
        }
    }

    fn push_ready(&mut self, key: &ObjectKey, added: Instant) {
        self.added.insert(key.clone(), added);
        self.ready.push_back(key.clone());
    }

    fn add_later(&mut self, key: &ObjectKey, at: Instant) {
        if self.closed
            || self.added.contains_key(key)
            || self.due.get(key).is_some_and(|due| *due <= at)
        {
            return;
        }
        self.forget_later(key);
        self.due.insert(key.clone(), at);
        self.later.insert((at, key.clone()));
    }

    fn forget_later(&mut self, key: &ObjectKey) {
        if let Some(due) = self.due.remove(key) {
            self.later.remove(&(due, key.clone()));
        }
    }

    /// The next key, or when the next delayed key is due.
    fn take(
        &mut self,
        now: Instant,
        metrics: &QueueMetrics,
    ) -> (Option<ObjectKey>, Option<Instant>) {
        while self.later.first().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.due.remove(&key);
                self.make_ready(&key, metrics);
            }
        }
        let key = self.ready.pop_front();
        if let Some(key) = &key {
            let added = self.added.remove(key).unwrap_or(now);
            metrics.queue_duration.observe((now - added).as_secs_f64());
            let work = Work {
                started: now,
                added: None,
            };
            self.working.insert(key.clone(), work);
        }
        (key, self.later.first().map(|(due, _)| *due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey {
            namespace: "here".to_owned(),
            name: name.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_queue_keeps_nothing() {
        let queue = Queue::closed(QueueMetrics::default());
        queue.now(&key("a"));
        queue.soon(&key("b"), Duration::ZERO);
        queue.after(&key("c"), Duration::ZERO);
        assert_eq!(queue.snapshot().depth, 0);
        queue.open();
        queue.now(&key("d"));
        assert_eq!(queue.next().await, key("d"));
        queue.done(&key("d"));
        assert!(queue.state().later.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_in_the_queue_once_and_never_processed_twice_at_a_time() {
        let queue = Queue::default();
        queue.now(&key("a"));
        queue.now(&key("a"));
        queue.after(&key("a"), Duration::from_secs(1));
        assert_eq!(queue.snapshot().depth, 1);
        assert_eq!(queue.next().await, key("a"));
        queue.now(&key("a"));
        queue.now(&key("b"));
        assert_eq!(queue.next().await, key("b"));
        assert_eq!(queue.snapshot().depth, 0, "a is in progress");
        queue.done(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        queue.done(&key("a"));
        assert_eq!(queue.snapshot().depth, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_delays_counts() {
        let queue = Queue::default();
        let begin = Instant::now();
        queue.after(&key("a"), Duration::from_secs(9));
        queue.after(&key("a"), Duration::from_secs(2));
        queue.after(&key("a"), Duration::from_secs(5));
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(begin.elapsed().as_secs(), 2);
        queue.done(&key("a"));
        let more = tokio::time::timeout(Duration::from_secs(60), queue.next()).await;
        assert!(more.is_err(), "the key was in the queue once: {more:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn frequent_triggers_run_at_once_and_then_at_most_twice_a_second() {
        let queue = Queue::default();
        let begin = Instant::now();
        let mut runs = Vec::new();
        while begin.elapsed() < Duration::from_secs(2) {
            queue.soon(&key("a"), Duration::ZERO);
            tokio::select! {
                next = queue.next() => {
                    runs.push(begin.elapsed().as_millis());
                    queue.done(&next);
                }
                () = tokio::time::sleep(Duration::from_millis(7)) => {}
            }
        }
        assert_eq!(runs, [0, 500, 1000, 1500, 2000]);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_back_off_and_success_resets_the_delay() {
        let queue = Queue::default();
        let delays: Vec<_> = (0..16).map(|_| queue.failed(&key("a"))).collect();
        assert!(delays.is_sorted());
        assert_eq!(delays[1], delays[0] * 2);
        assert_eq!(delays[15], LONGEST_DELAY);
        queue.succeeded(&key("a"));
        assert_eq!(queue.failed(&key("a")), FIRST_DELAY);
    }

    #[tokio::test(start_paused = true)]
    async fn metrics_count_as_client_gos_do() {
        let metrics = QueueMetrics::default();
        let queue = Queue::closed(metrics.clone());
        queue.open();
        queue.now(&key("a"));
        queue.now(&key("a"));
        assert_eq!(metrics.adds.get(), 1, "it was in the queue already");
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(queue.next().await, key("a"));
        queue.now(&key("a"));
        queue.now(&key("a"));
        assert_eq!(metrics.adds.get(), 2, "once more, for after this run");
        tokio::time::advance(Duration::from_secs(2)).await;
        let snapshot = queue.snapshot();
        assert_eq!(snapshot.unfinished_work, Duration::from_secs(2));
        assert_eq!(snapshot.longest_running, Duration::from_secs(2));
        queue.failed(&key("b"));
        queue.after(&key("c"), Duration::from_secs(1));
        queue.soon(&key("d"), Duration::ZERO);
        assert_eq!(metrics.retries.get(), 2);
        queue.done(&key("a"));
        assert_eq!(queue.snapshot().unfinished_work, Duration::ZERO);
        assert_eq!(queue.next().await, key("a"));
        let mut registry = prometheus_client::registry::Registry::default();
        registry.register("wait", "", metrics.queue_duration);
        registry.register("work", "", metrics.work_duration);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains("wait_sum 5.0\nwait_count 2\n"), "{text}");
        assert!(text.contains("work_sum 2.0\nwork_count 1\n"), "{text}");
    }
}
