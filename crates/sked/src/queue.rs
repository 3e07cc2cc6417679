//! Which SchedExts are to be looked at, and when. Filled by [`crate::wake`], emptied by
//! [`crate::controller`].
//!
//! kube's own `Controller` has a queue that cannot be looked into (its depth is a promised metric)
//! and takes triggers only from watches of its own; here the stores are shared between all
//! SchedExts and the claims wake SchedExts too. The rules are those of client-go's work queue:
//!
//! - a key waits at most once, and the earlier of two wishes counts;
//! - a key that is being worked on is not handed out again, but afterwards if it was woken;
//! - a key that fails waits longer each time, and starts anew once it succeeds.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sked_plan::ObjectKey;
use tokio::sync::Notify;
use tokio::time::Instant;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(300);

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
