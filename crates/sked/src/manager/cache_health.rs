//! Whether the caches are filled. Every watch reports here; `/readyz` and the manager read it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::probe::ReadyReport;

#[derive(Debug, Default)]
pub(crate) struct CacheHealth {
    watches: Mutex<BTreeMap<String, SyncState>>,
    changed: Notify,
}

#[derive(Debug, PartialEq)]
enum SyncState {
    Waiting,
    Synced,
    /// The API server does not know the kind, and the manager can work without it.
    Absent(String),
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
        if let Some(SyncState::Failed(_) | SyncState::Absent(_)) = before {
            tracing::info!(watch, "the watch works again");
        }
        self.changed.notify_waiters();
    }

    /// The watch cannot fill its cache.
    pub(crate) fn failed(&self, watch: &str, message: String) {
        self.set(watch, SyncState::Failed(message));
    }

    /// There is nothing to fill the cache with, and that is no reason to wait.
    pub(crate) fn absent(&self, watch: &str, message: String) {
        if self.set(watch, SyncState::Absent(message)) {
            self.changed.notify_waiters();
        }
    }

    /// Repeated failures with one message are logged once. Returns whether it changed.
    fn set(&self, watch: &str, now: SyncState) -> bool {
        let mut watches = self.watches();
        let state = watches.entry(watch.to_owned());
        let state = state.or_insert(SyncState::Waiting);
        let changed = *state != now;
        if changed {
            if let SyncState::Failed(message) | SyncState::Absent(message) = &now {
                tracing::warn!(watch, "{message}");
            }
            *state = now;
        }
        changed
    }

    /// Waits until the manager has all that it needs.
    pub(crate) async fn all_synced(&self) {
        loop {
            let changed = self.changed.notified();
            let enough =
                |state: &SyncState| matches!(state, SyncState::Synced | SyncState::Absent(_));
            if self.watches().values().all(enough) {
                return;
            }
            changed.await;
        }
    }

    /// What is missing, for `/readyz`. A manager without an optional kind is ready: in a rolling
    /// update of its Deployment the one before it would otherwise never end.
    pub(crate) fn readiness(&self) -> ReadyReport {
        let mut readiness = ReadyReport::default();
        for (watch, state) in self.watches().iter() {
            match state {
                SyncState::Synced => {}
                SyncState::Waiting => readiness
                    .missing
                    .push(format!("{watch}: the first list has not arrived yet")),
                SyncState::Failed(message) => readiness.missing.push(format!("{watch}: {message}")),
                SyncState::Absent(message) => readiness.notes.push(format!("{watch}: {message}")),
            }
        }
        readiness
    }

    /// Waits until a watch has listed, or the API server does not know its kind any more.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn watches(&self) -> MutexGuard<'_, BTreeMap<String, SyncState>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
