//! Labs that the tests of one suite share, one test at a time.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::Cluster;
use crate::wait::{NODE_TIMEOUT, eventually_or};

/// A test's turn on a shared cluster. When it ends, the cluster must be as it was: namespaces that
/// were made through it are deleted here, anything else that is left or missing fails the test.
pub struct Shared {
    cluster: &'static Cluster,
    before: BTreeSet<String>,
    namespaces: Mutex<Vec<String>>,
    _turn: MutexGuard<'static, ()>,
}

/// The control plane of this suite, with the CRDs and kwok nodes.
pub fn control_plane() -> Shared {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    Shared::new(|| CLUSTER.get_or_init(|| Cluster::fresh("e2e-control-plane")))
}

impl Shared {
    /// A turn on a cluster that a suite holds in a static of its own.
    pub fn new(cluster: impl FnOnce() -> &'static Cluster) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = cluster();
        Self {
            cluster,
            before: cluster.inventory(),
            namespaces: Mutex::default(),
            _turn: turn,
        }
    }

    /// Makes a namespace that goes with the turn.
    #[track_caller]
    pub fn namespace(&self, name: &str) {
        self.cluster.kubectl(&["create", "namespace", name]);
        self.namespaces.lock().unwrap().push(name.to_owned());
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
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for namespace in &*namespaces {
            let args = [
                "delete",
                "namespace",
                namespace,
                "--wait=false",
                "--ignore-not-found",
            ];
            self.cluster.run(&args);
        }
        // A test that failed has no chance to clean up; the next one is told by its own check.
        if std::thread::panicking() {
            return;
        }
        let difference = || {
            let now = self.cluster.inventory();
            let difference = self.before.symmetric_difference(&now);
            difference.cloned().collect::<Vec<_>>()
        };
        eventually_or(
            "the test leaves the cluster as it found it",
            NODE_TIMEOUT,
            || difference().is_empty().then_some(()),
            || difference().join("\n"),
        );
    }
}
