//! Whether the caches are filled: every watch says so here, `/readyz` and the manager ask.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The state of all watches.
#[derive(Debug, Default)]
pub(crate) struct Health {
    watches: Mutex<BTreeMap<String, State>>,
    news: Notify,
}

#[derive(Debug, PartialEq)]
enum State {
    Waiting,
    Synced,
    Trouble(String),
}

impl Health {
    /// A watch begins: its cache is empty.
    pub(crate) fn expect(&self, watch: &str) {
        self.watches().insert(watch.to_owned(), State::Waiting);
    }

    /// Its cache is filled.
    pub(crate) fn synced(&self, watch: &str) {
        let before = self.watches().insert(watch.to_owned(), State::Synced);
        if let Some(State::Trouble(_)) = before {
            tracing::info!(watch, "the watch works again");
        }
        self.news.notify_waiters();
    }

    /// Its cache cannot be filled, and why. Said once, however often it happens.
    pub(crate) fn trouble(&self, watch: &str, sentence: String) {
        let mut watches = self.watches();
        let state = watches.entry(watch.to_owned()).or_insert(State::Waiting);
        let now = State::Trouble(sentence);
        if *state != now {
            if let State::Trouble(sentence) = &now {
                tracing::warn!(watch, "{sentence}");
            }
            *state = now;
        }
    }

    /// Waits until every cache is filled.
    pub(crate) async fn all_synced(&self) {
        loop {
            let news = self.news.notified();
            if self.missing().is_empty() {
                return;
            }
            news.await;
        }
    }

    /// The watches whose caches are not filled, with the reason.
    pub(crate) fn missing(&self) -> Vec<String> {
        let watches = self.watches();
        let missing = watches.iter().filter_map(|(watch, state)| match state {
            State::Synced => None,
            State::Waiting => Some(format!("{watch}: the first list is not there yet")),
            State::Trouble(sentence) => Some(format!("{watch}: {sentence}")),
        });
        missing.collect()
    }

    fn watches(&self) -> MutexGuard<'_, BTreeMap<String, State>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
