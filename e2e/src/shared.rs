//! Labs that the tests of one suite share, one test at a time.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::cluster::Cluster;
use crate::wait::{TIMEOUT, eventually_or};

/// A test's turn on a shared cluster. When it ends, the cluster must be as it was: namespaces that
/// were made through it are deleted here, anything else that is left or missing fails the test.
pub struct Shared {
    cluster: &'static Cluster,
    before: BTreeSet<String>,
    namespaces: Mutex<Vec<String>>,
    _turn: MutexGuard<'static, ()>,
}

/// The control plane of this suite, with kwok and everything of `config/default`: CRDs, roles,
/// admission policies, the DaemonSet of node agents. No manager runs; tests start their own.
pub fn control_plane() -> Shared {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    Shared::new(|| {
        CLUSTER.get_or_init(|| {
            let cluster = Cluster::fresh("e2e-control-plane");
            cluster.apply_config_default();
            cluster
        })
    })
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

    /// Makes a namespace that is deleted at the end of the turn.
    #[track_caller]
    pub fn namespace(&self, name: &str) {
        self.cluster.kubectl(&["create", "namespace", name]);
        self.namespaces.lock().unwrap().push(name.to_owned());
    }

    /// The cluster for longer than this turn: for fixtures that hold it besides the turn.
    pub fn cluster(&self) -> &'static Cluster {
        self.cluster
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
        if !namespaces.is_empty() {
            let args = ["delete", "namespace", "--wait=false", "--ignore-not-found"];
            let names = namespaces.iter().map(String::as_str);
            let args: Vec<&str> = args.into_iter().chain(names).collect();
            self.cluster.run(&args);
        }
        // A test that failed may leave something behind: it is part of what the next one finds.
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
            TIMEOUT,
            || difference().is_empty().then_some(()),
            || difference().join("\n"),
        );
    }
}
