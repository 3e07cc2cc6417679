//! Keeps a store in step with a watch, and reports failures of the watch.
//!
//! A cache that could not be filled makes the manager unready. A cache that was filled and becomes
//! outdated does not: what the manager knows is still useful.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::ResetTimerBackoff;
use kube::runtime::watcher::{self, Config, Event, watcher};
use sked_plan::ObjectKey;

use crate::backoff::Backoff;
use crate::error_chain::chain;
use crate::manager::cache_health::CacheHealth;
use crate::manager::stores::{Decoded, Source, Store, Watched};
use crate::manager::write_error::GRANT;

const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// The name of a watch in logs, and its namespace.
pub(super) struct Scope {
    pub(super) watch: String,
    pub(super) namespace: Option<String>,
}

/// Never returns. The caller drops it to begin with a new list.
pub(super) async fn follow<T: Watched>(
    api: Api<Decoded<T>>,
    config: Config,
    scope: &Scope,
    store: &Store<T>,
    health: &CacheHealth,
) {
    // Every list attempt starts with a successful event, so only a minute without an error resets
    // the backoff.
    let backoff = WatchBackoff(Backoff::new(FIRST_DELAY, LONGEST_DELAY));
    let backoff = ResetTimerBackoff::new(backoff, Duration::from_secs(60));
    let mut events = pin!(watcher(api, config).backoff(backoff));
    let mut listed = HashSet::new();
    let mut interrupted = false;
    while let Some(event) = events.next().await {
        // `Init` is sent before the first response, so it is no sign of success.
        if interrupted && matches!(event, Ok(ref event) if !matches!(event, Event::Init)) {
            interrupted = false;
            tracing::info!(watch = scope.watch, "the watch works again");
        }
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(decoded)) => {
                listed.insert(key(&decoded));
                put(store, decoded);
            }
            Ok(Event::InitDone) => {
                store.set_absent(false);
                store.keep_only(&listed, scope.namespace.as_deref());
                listed = HashSet::new();
                health.synced(&scope.watch);
            }
            Ok(Event::Apply(decoded)) => put(store, decoded),
            Ok(Event::Delete(decoded)) => store.remove(Source::Watch, &key(&decoded)),
            Err(watcher::Error::InitialListFailed(error)) => match &error {
                kube::Error::Api(status) if status.code == 404 && T::OPTIONAL => {
                    store.set_absent(true);
                    health.absent(&scope.watch, message(&error));
                }
                _ => health.failed(&scope.watch, message(&error)),
            },
            Err(watcher::Error::WatchStartFailed(error)) if !interrupted => {
                interrupted = true;
                let message = message(&error);
                tracing::warn!(
                    watch = scope.watch,
                    "{message}; the manager continues with its cached state and tries again"
                );
            }
            // An ordinary end: the watcher resumes where it stopped.
            Err(error) => {
                let error = chain(&error);
                tracing::debug!(watch = scope.watch, "the watch was interrupted: {error}");
            }
        }
    }
}

fn put<T: Watched>(store: &Store<T>, decoded: Decoded<T>) {
    let version = decoded.meta.resource_version.clone().unwrap_or_default();
    // Most events of a watch report our own writes: do not parse those objects again.
    if store.knows(&key(&decoded), &version) {
        return;
    }
    let key = key(&decoded);
    match T::read(decoded.raw) {
        Some(object) => store.put(Source::Watch, &version, object),
        // It was ours once: an owner was removed, for example.
        None => store.remove(Source::Watch, &key),
    }
}

fn key<T: Watched>(decoded: &Decoded<T>) -> ObjectKey {
    ObjectKey {
        namespace: decoded.meta.namespace.clone().unwrap_or_default(),
        name: decoded.meta.name.clone().unwrap_or_default(),
    }
}

/// Why a list or a watch failed.
fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 404 => {
            "the API server does not know this kind: install the CRD (make install)".to_owned()
        }
        kube::Error::Api(status) if status.code == 403 => {
            format!("may not be listed and watched: {GRANT}: {}", status.message)
        }
        kube::Error::Api(status) => format!("the API server refuses: {}", status.message),
        other => format!("the API server cannot be reached: {}", chain(other)),
    }
}

/// [`Backoff`] in the form that kube's watcher takes.
struct WatchBackoff(Backoff);

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.0.failed())
    }
}

impl kube::runtime::utils::Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.0.succeeded();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sked_plan::LivePod;

    use super::*;

    fn pod(version: &str, owners: &Value) -> Decoded<LivePod> {
        let metadata = json!({
            "name": "a-x", "namespace": "here", "resourceVersion": version,
            "creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": owners,
        });
        serde_json::from_value(json!({"metadata": metadata, "spec": {}, "status": {}})).unwrap()
    }

    /// The garbage collector strips an owner that does not exist from an object with another one.
    #[test]
    fn an_object_that_is_not_ours_any_more_leaves_the_store() {
        let store = Store::<LivePod>::default();
        let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "uid": "u", "controller": true}]);
        put(&store, pod("1", &owner));
        assert_eq!(store.all().len(), 1);
        put(&store, pod("2", &json!([])));
        assert_eq!(store.all().len(), 0);
    }
}
