//! Keeps a store in step with a watch, and says what stands in the way.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::{self, Config, Event, watcher};
use sked_plan::ObjectKey;

use super::store::{Change, Store};
use super::wire::{Seen, Watched};
use crate::health::Health;
use crate::leadership::GRANT;

/// What a watch is called, and the namespace that it sees.
pub(super) struct Scope {
    pub(super) watch: String,
    pub(super) namespace: Option<String>,
}

/// Follows for ever.
pub(super) async fn follow<T: Watched>(
    api: Api<Seen<T>>,
    config: Config,
    scope: Scope,
    store: &Store<T>,
    health: &Health,
    tell: impl Fn(&Change<T>),
) {
    // Every new list begins with a word of success: only a minute of them is one.
    let backoff = ResetTimerBackoff::new(Steps::default(), Duration::from_secs(60));
    let mut events = pin!(watcher(api, config).backoff(backoff));
    let mut listed = HashSet::new();
    let mut interrupted = false;
    while let Some(event) = events.next().await {
        // A new list begins with a word, whoever hears it.
        if interrupted && matches!(event, Ok(ref event) if !matches!(event, Event::Init)) {
            interrupted = false;
            tracing::info!(watch = scope.watch, "the watch goes on");
        }
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(seen)) => {
                listed.insert(key(&seen));
                put(store, seen).iter().for_each(&tell);
            }
            Ok(Event::InitDone) => {
                let gone = store.keep_only(&listed, scope.namespace.as_deref());
                gone.iter().for_each(&tell);
                listed = HashSet::new();
                health.synced(&scope.watch);
            }
            Ok(Event::Apply(seen)) => put(store, seen).iter().for_each(&tell),
            Ok(Event::Delete(seen)) => store.remove(&key(&seen)).iter().for_each(&tell),
            Err(watcher::Error::InitialListFailed(error)) => {
                health.trouble(&scope.watch, sentence(&error));
            }
            Err(watcher::Error::WatchStartFailed(error)) if !interrupted => {
                interrupted = true;
                let sentence = sentence(&error);
                tracing::warn!(
                    watch = scope.watch,
                    "{sentence}; what runs goes on, and it is tried again"
                );
            }
            // It is taken up again where it ended and is ordinary.
            Err(error) => {
                let error = crate::retry::chain(&error);
                tracing::debug!(watch = scope.watch, "the watch broke off: {error}");
            }
        }
    }
}

fn put<T: Watched>(store: &Store<T>, seen: Seen<T>) -> Option<Change<T>> {
    let version = seen.meta.resource_version.clone().unwrap_or_default();
    // Much of what a watch tells is what we wrote ourselves.
    if store.knows(&key(&seen), &version) {
        return None;
    }
    store.put(&version, T::read(seen.wire)?)
}

fn key<T: Watched>(seen: &Seen<T>) -> ObjectKey {
    ObjectKey {
        namespace: seen.meta.namespace.clone().unwrap_or_default(),
        name: seen.meta.name.clone().unwrap_or_default(),
    }
}

/// What stands between us and a list or a watch. A cache that cannot be filled makes us unready; one
/// that was filled and grows old does not, since what it is good for goes on.
fn sentence(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 404 => {
            "the API server does not know this kind: install the CRD (make install)".to_owned()
        }
        kube::Error::Api(status) if status.code == 403 => {
            format!("may not be listed and watched: {GRANT}: {}", status.message)
        }
        kube::Error::Api(status) => format!("the API server refuses: {}", status.message),
        other => format!(
            "the API server cannot be reached: {}",
            crate::retry::chain(other)
        ),
    }
}

/// Waits a little longer each time, up to ten seconds.
#[derive(Debug, Default)]
struct Steps {
    failures: u32,
}

impl Iterator for Steps {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let delay = Duration::from_millis(500 << self.failures.min(5));
        self.failures += 1;
        Some(delay.min(Duration::from_secs(10)))
    }
}

impl Backoff for Steps {
    fn reset(&mut self) {
        self.failures = 0;
    }
}
