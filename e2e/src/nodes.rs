//! The cluster of two nodes that the tests of one suite share, one test at a time, with sked
//! deployed on it.

use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use lab::{LabSpec, Topology};
use serde_json::Value;

use crate::node_cluster::{NAMESPACE, NodeCluster, SKED_NAMESPACE};
use crate::program;
use crate::shared::Shared;
use crate::wait::{NODE_TIMEOUT, eventually_or};

pub const NODES: [&str; 2] = ["node1", "node2"];

/// A test's turn on the nodes. When it ends, SchedExts that were made through it are deleted here,
/// and then the cluster and its nodes must be as they were: no scheduler attached, no container of
/// one left, no owner label, nothing in the tests' namespace. Anything else fails the test.
pub struct SharedNodes {
    cluster: &'static NodeCluster,
    schedexts: Mutex<Vec<String>>,
    begin: Instant,
    /// Dropped after the checks of this type: it compares what is not in a namespace.
    shared: Shared,
}

/// The two nodes of this suite, with sked deployed, and schedctl on node2.
pub fn nodes() -> SharedNodes {
    static CLUSTER: OnceLock<NodeCluster> = OnceLock::new();
    let boot = || {
        let begin = Instant::now();
        let step = |done: &str| println!("{done} after {:.1} s", begin.elapsed().as_secs_f64());
        let cluster = NodeCluster::boot(
            LabSpec {
                nodes: 2,
                // Two nodes share the processors of the machine that runs them.
                processors: 1,
                ..LabSpec::new("e2e-nodes", Topology::Cluster, &program::labs())
            },
            &program::sked(),
        );
        step("the nodes are ready");
        cluster.install_schedctl(NODES[1]);
        step("schedctl is installed");
        cluster.deploy();
        step("sked is deployed");
        cluster
    };
    let mut nodes = None;
    let shared = Shared::new(|| {
        let cluster = CLUSTER.get_or_init(boot);
        // A test that failed may have left the cluster without it.
        if !cluster.has_sked() {
            cluster.deploy();
        }
        nodes = Some(cluster);
        cluster
    });
    SharedNodes {
        cluster: nodes.unwrap(),
        schedexts: Mutex::default(),
        begin: Instant::now(),
        shared,
    }
}

impl SharedNodes {
    /// Applies a SchedExt that goes with the turn.
    #[track_caller]
    pub fn schedext(&self, name: &str, spec: &Value) {
        let mut names = self.schedexts.lock().unwrap();
        names.push(name.to_owned());
        self.cluster.apply_schedext(name, spec);
    }

    /// Makes a namespace that goes with the turn.
    #[track_caller]
    pub fn namespace(&self, name: &str) {
        self.shared.namespace(name);
    }

    /// For a test that cannot leave the cluster as it found it. The next one deploys sked again.
    pub fn accept_what_is_there(&mut self) {
        self.shared.accept_what_is_there();
    }

    fn delete_schedexts(&self) {
        let names = self.schedexts.lock();
        let names = names.unwrap_or_else(PoisonError::into_inner);
        if !names.is_empty() {
            let args = ["delete", "schedext", "--ignore-not-found"];
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            self.cluster.run(&[&args[..], &names].concat());
        }
    }
}

impl Deref for SharedNodes {
    type Target = NodeCluster;

    fn deref(&self) -> &NodeCluster {
        self.cluster
    }
}

impl Drop for SharedNodes {
    fn drop(&mut self) {
        println!("the test took {:.1} s", self.begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        self.delete_schedexts();
        if thread::panicking() {
            self.cluster.reset();
            return;
        }
        eventually_or(
            "the test leaves the nodes as it found them",
            NODE_TIMEOUT,
            || self.cluster.remains().is_empty().then_some(()),
            || self.cluster.remains().join("\n"),
        );
        println!("cleaned up in {:.1} s", begin.elapsed().as_secs_f64());
    }
}

impl NodeCluster {
    /// Whether the manager and the agents are installed.
    fn has_sked(&self) -> bool {
        let what = [
            "deployment/sked-controller-manager",
            "daemonset/sked-node-agent",
        ];
        self.try_kubectl(&[&["get", "-n", SKED_NAMESPACE], &what[..]].concat())
    }

    /// What a test must not leave: on the nodes and in the tests' namespace.
    fn remains(&self) -> Vec<String> {
        let nodes = thread::scope(|scope| {
            NODES
                .map(|node| scope.spawn(move || self.remains_on(node)))
                .map(|answer| answer.join().unwrap())
        });
        let kinds = "daemonsets,pods,serviceaccounts";
        let args = ["get", kinds, "-n", NAMESPACE, "-o", "name"];
        let output = self.run(&args).stdout;
        let objects = String::from_utf8_lossy(&output).into_owned();
        let objects = objects.lines().map(str::to_owned);
        let objects = objects.filter(|name| name != "serviceaccount/default");
        nodes.into_iter().flatten().chain(objects).collect()
    }

    fn remains_on(&self, node: &str) -> Option<String> {
        // Not `podman ps`, which takes seconds on an emulated processor.
        let script = "cat /sys/kernel/sched_ext/state; pgrep -a '^scx_'; \
                      grep -s names /var/lib/containers/storage/*-containers/containers.json";
        let output = self.node(node).shell(script).unwrap();
        let text = output.text();
        (text != "disabled\n").then(|| format!("{node}: {}", text.trim()))
    }

    /// After a failed test, as far as that is possible: the next one reports what is left.
    fn reset(&self) {
        println!("{}", self.describe());
        self.run(&["delete", "schedexts", "--all", "--timeout=60s"]);
        let kinds = "daemonsets,pods";
        self.run(&["delete", kinds, "--all", "-n", NAMESPACE, "--timeout=60s"]);
        for node in NODES {
            let _ = self.node(node).shell("podman rm --all --force --time 10");
            let _ = self.node(node).shell("pkill '^scx_'");
        }
    }
}
