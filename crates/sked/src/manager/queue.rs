//! Which SchedExts are to be looked at, and when. Filled by [`crate::wake`], emptied by
//! [`crate::controller`].
//!
//! kube's own `Controller` has a queue that cannot be looked into (its depth is a promised metric)
//! and takes triggers only from watches of its own; here the stores are shared between all
//! SchedExts and the claims wake SchedExts too. The rules are those of client-go's work queue:
//!
//! - a key waits at most once, and the earlier of two wishes counts;
//! - a key that is being worked on is not handed out again, but afterwards if it was woken;
//! - a key that fails waits longer each time, and starts anew once it succeeds;
//!
//! and one of our own: what comes in crowds ([`Queue::soon`]) is dealt with at once after a quiet
//! while, and otherwise at most twice a second.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sked_plan::ObjectKey;
use tokio::sync::Notify;
use tokio::time::Instant;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(300);
/// How long a key rests between two looks at what comes in crowds.
const REST: Duration = Duration::from_millis(500);
/// How many keys that have rested enough are kept in mind before they are forgotten.
const TIDY_AT: usize = 64;

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<ObjectKey>,
    /// Keys in `ready`.
    waiting: HashSet<ObjectKey>,
    /// By time, and by key.
    later: BTreeSet<(Instant, ObjectKey)>,
    due: HashMap<ObjectKey, Instant>,
    /// Being worked on; whether it was woken meanwhile.
    working: HashMap<ObjectKey, bool>,
    failures: HashMap<ObjectKey, u32>,
    /// When work on a key ended last, unless that is long ago.
    ended: HashMap<ObjectKey, Instant>,
}

impl Queue {
    /// Wakes a key now.
    pub(crate) fn now(&self, key: &ObjectKey) {
        let mut state = self.state();
        state.forget_later(key);
        state.make_ready(key);
        drop(state);
        self.news.notify_one();
    }

    /// Wakes a key after a while, so that what happens in between is dealt with in one go.
    pub(crate) fn after(&self, key: &ObjectKey, delay: Duration) {
        self.state().add_later(key, Instant::now() + delay);
        self.news.notify_one();
    }

    /// Wakes a key after a while, or later if it was worked on a moment ago.
    pub(crate) fn soon(&self, key: &ObjectKey, gather: Duration) {
        let mut state = self.state();
        let rested = state.ended.get(key).map(|ended| *ended + REST);
        let at = Instant::now() + gather;
        state.add_later(key, rested.map_or(at, |rested| rested.max(at)));
        drop(state);
        self.news.notify_one();
    }

    /// Hands out the next key; it is being worked on until [`Queue::done`].
    pub(crate) async fn next(&self) -> ObjectKey {
        loop {
            let news = self.news.notified();
            let (key, due) = self.state().take(Instant::now());
            match (key, due) {
                (Some(key), _) => return key,
                (None, Some(due)) => {
                    let _ = tokio::time::timeout_at(due, news).await;
                }
                (None, None) => news.await,
            }
        }
    }

    /// The key is not being worked on any more.
    pub(crate) fn done(&self, key: &ObjectKey) {
        let mut state = self.state();
        state.remember_end(key);
        if state.working.remove(key) == Some(true) {
            state.make_ready(key);
            drop(state);
            self.news.notify_one();
        }
    }

    /// It failed: it is looked at again, later each time.
    pub(crate) fn failed(&self, key: &ObjectKey) -> Duration {
        let mut state = self.state();
        let failures = state.failures.entry(key.clone()).or_default();
        let delay = FIRST_DELAY
            .saturating_mul(1 << (*failures).min(16))
            .min(LONGEST_DELAY);
        *failures += 1;
        state.add_later(key, Instant::now() + delay);
        drop(state);
        self.news.notify_one();
        delay
    }

    /// It went well: the next failure is a first one.
    pub(crate) fn succeeded(&self, key: &ObjectKey) {
        self.state().failures.remove(key);
    }

    /// How many keys wait to be handed out now.
    pub(crate) fn depth(&self) -> usize {
        self.state().ready.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remember_end(&mut self, key: &ObjectKey) {
        let now = Instant::now();
        if self.ended.len() >= TIDY_AT + self.working.len() {
            self.ended.retain(|_, ended| now < *ended + REST);
        }
        self.ended.insert(key.clone(), now);
    }

    fn make_ready(&mut self, key: &ObjectKey) {
        if let Some(woken) = self.working.get_mut(key) {
            *woken = true;
        } else if self.waiting.insert(key.clone()) {
            self.ready.push_back(key.clone());
        }
    }

    fn add_later(&mut self, key: &ObjectKey, at: Instant) {
        if self.waiting.contains(key) || self.due.get(key).is_some_and(|due| *due <= at) {
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

    /// The next key, or else when to look again.
    fn take(&mut self, now: Instant) -> (Option<ObjectKey>, Option<Instant>) {
        while self.later.first().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.due.remove(&key);
                self.make_ready(&key);
            }
        }
        let key = self.ready.pop_front();
        if let Some(key) = &key {
            self.waiting.remove(key);
            self.working.insert(key.clone(), false);
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
    async fn a_key_waits_once_and_is_never_worked_on_twice_at_a_time() {
        let queue = Queue::default();
        queue.now(&key("a"));
        queue.now(&key("a"));
        queue.after(&key("a"), Duration::from_secs(1));
        assert_eq!(queue.depth(), 1);
        assert_eq!(queue.next().await, key("a"));
        queue.now(&key("a"));
        queue.now(&key("b"));
        assert_eq!(queue.next().await, key("b"));
        assert_eq!(queue.depth(), 0, "a is being worked on");
        queue.done(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        queue.done(&key("a"));
        assert_eq!(queue.depth(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_wishes_counts() {
        let queue = Queue::default();
        let begin = Instant::now();
        queue.after(&key("a"), Duration::from_secs(9));
        queue.after(&key("a"), Duration::from_secs(2));
        queue.after(&key("a"), Duration::from_secs(5));
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(begin.elapsed().as_secs(), 2);
        queue.done(&key("a"));
        let more = tokio::time::timeout(Duration::from_secs(60), queue.next()).await;
        assert!(more.is_err(), "it was one wish: {more:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_is_dealt_with_at_once_and_then_at_most_twice_a_second() {
        let queue = Queue::default();
        let begin = Instant::now();
        let mut looks = Vec::new();
        while begin.elapsed() < Duration::from_secs(2) {
            queue.soon(&key("a"), Duration::ZERO);
            tokio::select! {
                next = queue.next() => {
                    looks.push(begin.elapsed().as_millis());
                    queue.done(&next);
                }
                () = tokio::time::sleep(Duration::from_millis(7)) => {}
            }
        }
        assert_eq!(looks, [0, 500, 1000, 1500, 2000]);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_each_time_up_to_a_limit_and_success_ends_it() {
        let queue = Queue::default();
        let delays: Vec<_> = (0..16).map(|_| queue.failed(&key("a"))).collect();
        assert!(delays.is_sorted());
        assert_eq!(delays[1], delays[0] * 2);
        assert_eq!(delays[15], LONGEST_DELAY);
        queue.succeeded(&key("a"));
        assert_eq!(queue.failed(&key("a")), FIRST_DELAY);
    }
}
