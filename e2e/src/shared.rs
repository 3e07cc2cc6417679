//! Labs that the tests of one suite share, one test at a time.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::json;

use crate::cluster::Cluster;
use crate::wait::{TIMEOUT, eventually_or};

/// A test's turn on a shared cluster. When it ends, the cluster must be as it was: namespaces that
/// were made through it are deleted here, anything else that is left or missing fails the test.
pub struct Shared {
    cluster: &'static Cluster,
    before: BTreeSet<String>,
    namespaces: Mutex<Vec<String>>,
    /// Gets the inventory when a test has left the cluster as it found it.
    turn: MutexGuard<'static, Option<BTreeSet<String>>>,
}

/// The control plane of this suite, with kwok and everything of `config/default`: CRDs, roles,
/// admission policies, the DaemonSet of node agents. No manager runs; tests start their own.
pub fn control_plane() -> Shared {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    static TURN: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);
    let mut turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = CLUSTER.get_or_init(|| {
        let cluster = Cluster::fresh("e2e-control-plane");
        cluster.apply_config_default();
        cluster
    });
    let before = turn.take().unwrap_or_else(|| cluster.inventory());
    Shared::begin(cluster, before, turn)
}

impl Shared {
    /// A turn on a cluster that a suite holds in a static of its own; `cluster` may change it first.
    pub fn new(cluster: impl FnOnce() -> &'static Cluster) -> Self {
        static TURN: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = cluster();
        Self::begin(cluster, cluster.inventory(), turn)
    }

    fn begin(
        cluster: &'static Cluster,
        before: BTreeSet<String>,
        turn: MutexGuard<'static, Option<BTreeSet<String>>>,
    ) -> Self {
        Self {
            cluster,
            before,
            namespaces: Mutex::default(),
            turn,
        }
    }

    /// Makes a namespace that is deleted at the end of the turn.
    #[track_caller]
    pub fn namespace(&self, name: &str) {
        let metadata = json!({"name": name});
        self.cluster
            .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}));
        self.namespaces.lock().unwrap().push(name.to_owned());
    }

    /// What is there now is what must be there at the end of the turn.
    pub fn accept_what_is_there(&mut self) {
        self.before = self.cluster.inventory();
    }

    /// A failed test must not fail the ones after it.
    fn delete_what_is_left(&self) {
        for row in self.cluster.inventory().difference(&self.before) {
            let mut columns = row.split([' ', '/']);
            if let [Some(kind), Some(namespace), Some(name)] = [(); 3].map(|()| columns.next()) {
                let object = [kind, name, "--wait=false", "--namespace", namespace];
                self.cluster.run(&[&["delete"], &object[..]].concat());
            }
        }
    }
}

impl Deref for Shared {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.cluster
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let namespaces = self
            .namespaces
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if !namespaces.is_empty() {
            // The namespace controller takes a minute to come to them, and the next test may need
            // all nodes.
            for namespace in namespaces.iter() {
                self.cluster.delete_all("schedexts", namespace);
            }
            let args = ["delete", "namespace", "--wait=false", "--ignore-not-found"];
            let names = namespaces.iter().map(String::as_str);
            let args: Vec<&str> = args.into_iter().chain(names).collect();
            self.cluster.run(&args);
        }
        if std::thread::panicking() {
            // A second panic would end the whole suite.
            let _ = catch_unwind(AssertUnwindSafe(|| self.delete_what_is_left()));
            return;
        }
        let mut now = BTreeSet::new();
        let difference = |now: &BTreeSet<String>| {
            let rows = self.before.symmetric_difference(now);
            rows.cloned().collect::<Vec<_>>().join("\n")
        };
        eventually_or(
            "the test leaves the cluster as it found it",
            TIMEOUT,
            || {
                now = self.cluster.inventory();
                difference(&now).is_empty().then_some(())
            },
            || difference(&self.cluster.inventory()),
        );
        *self.turn = Some(now);
    }
}
