//! Whether the caches are filled. Every watch reports here; `/readyz` and the manager read it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct CacheHealth {
    watches: Mutex<BTreeMap<String, SyncState>>,
    changed: Notify,
}

#[derive(Debug, PartialEq)]
enum SyncState {
    Waiting,
    Synced,
    Failed(String),
}

impl CacheHealth {
    /// A watch starts: its cache is empty.
    pub(crate) fn expect(&self, watch: &str) {
        self.watches().insert(watch.to_owned(), SyncState::Waiting);
    }

    /// The watch has filled its cache.
    pub(crate) fn synced(&self, watch: &str) {
        let before = self.watches().insert(watch.to_owned(), SyncState::Synced);
        if let Some(SyncState::Failed(_)) = before {
            tracing::info!(watch, "the watch works again");
        }
        self.changed.notify_waiters();
    }

    /// The watch cannot fill its cache. Repeated failures with one message are logged once.
    pub(crate) fn failed(&self, watch: &str, message: String) {
        let mut watches = self.watches();
        let state = watches
            .entry(watch.to_owned())
            .or_insert(SyncState::Waiting);
        let now = SyncState::Failed(message);
        if *state != now {
            if let SyncState::Failed(message) = &now {
                tracing::warn!(watch, "{message}");
            }
            *state = now;
        }
    }

    pub(crate) async fn all_synced(&self) {
        loop {
            let changed = self.changed.notified();
            if self.missing().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// The watches whose caches are not filled, with the reason.
    pub(crate) fn missing(&self) -> Vec<String> {
        let watches = self.watches();
        let missing = watches.iter().filter_map(|(watch, state)| match state {
            SyncState::Synced => None,
            SyncState::Waiting => Some(format!("{watch}: the first list has not arrived yet")),
            SyncState::Failed(message) => Some(format!("{watch}: {message}")),
        });
        missing.collect()
    }

    fn watches(&self) -> MutexGuard<'_, BTreeMap<String, SyncState>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
