//! A node agent as a process of this machine: the files of a kernel, a kwok node, and the token that
//! the API server makes for the agent's pod on it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lab::counters::{Counter, counters};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::kwok;
use crate::manager::Manager;
use crate::manager::free_port;
use crate::wait::TIMEOUT;
use crate::wait::eventually;

const BOOT: &str = "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11";

/// What a kernel shows in /proc and /sys, in a folder.
pub struct KernelFiles {
    folder: TempDir,
    snapshots: usize,
}

impl KernelFiles {
    /// A kernel with sched_ext and nothing attached.
    pub fn idle() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kernel = folder.path().join("proc/sys/kernel");
        fs::create_dir_all(kernel.join("random")).unwrap();
        let btf = folder.path().join("sys/kernel/btf");
        fs::create_dir_all(&btf).unwrap();
        fs::write(btf.join("vmlinux"), [0x9f, 0xeb, 1, 0, 24, 0, 0, 0]).unwrap();
        fs::write(kernel.join("osrelease"), "6.18.15+deb13-cloud-amd64\n").unwrap();
        fs::write(kernel.join("random/boot_id"), format!("{BOOT}\n")).unwrap();
        let mut kernel = Self {
            folder,
            snapshots: 0,
        };
        kernel.detached(0);
        kernel
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A scheduler of this name is attached; `enable_seq` counts attaches.
    pub fn attached(&mut self, ops: &str, enable_seq: u64) {
        let events = format!("SCX_EV_SELECT_CPU_FALLBACK {}\n", self.snapshots);
        self.show(&[
            ("state", "enabled\n"),
            ("root/ops", &format!("{ops}\n")),
            ("root/events", &events),
            ("enable_seq", &format!("{enable_seq}\n")),
            ("switch_all", "1\n"),
            ("nr_rejected", "0\n"),
            ("hotplug_seq", "0\n"),
        ]);
    }

    /// Nothing is attached after `enable_seq` attaches.
    pub fn detached(&mut self, enable_seq: u64) {
        self.show(&[
            ("state", "disabled\n"),
            ("enable_seq", &format!("{enable_seq}\n")),
            ("switch_all", "0\n"),
            ("nr_rejected", "0\n"),
            ("hotplug_seq", "0\n"),
        ]);
    }

    /// All files of /sys/kernel/sched_ext change at once, as they do in a kernel.
    pub fn show(&mut self, files: &[(&str, &str)]) {
        self.snapshots += 1;
        let name = format!("snapshot-{}", self.snapshots);
        let folder = self.path().join("sys/kernel").join(&name);
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let link = self.path().join("sys/kernel/next");
        symlink(&name, &link).unwrap();
        fs::rename(&link, self.path().join("sys/kernel/sched_ext")).unwrap();
    }
}

/// A kwok node with an agent's pod, whose token the agent process uses. The Node, its pods and its
/// report are deleted when it is dropped.
pub struct AgentNode<'a> {
    pub name: String,
    pub uid: Value,
    cluster: &'a Cluster,
    folder: TempDir,
}

impl<'a> AgentNode<'a> {
    pub fn new(cluster: &'a Cluster, name: &str) -> Self {
        let mut node = Self {
            name: name.to_owned(),
            uid: Value::Null,
            cluster,
            folder: tempfile::tempdir().unwrap(),
        };
        node.create();
        node
    }

    /// Creates the Node and writes the token of its agent's pod, over one that may exist, as kubelet
    /// does.
    pub fn create(&mut self) {
        let labels = json!({"kubernetes.io/os": "linux"});
        self.cluster.create(&kwok::node(&self.name, &labels));
        let node = format!("node/{}", self.name);
        self.uid = self.cluster.field("", &node, "/metadata/uid");
        let next = self.folder.path().join("next");
        fs::write(&next, self.token_of_pod()).unwrap();
        fs::rename(&next, self.token()).unwrap();
    }

    /// Deletes the Node and its pods.
    pub fn delete(&self) {
        let node = ["delete", "node", "--ignore-not-found", &self.name];
        self.cluster.run(&node);
        let pods = format!("--field-selector=spec.nodeName={}", self.name);
        let args = "delete pods -n sked-system --force --grace-period=0";
        let args: Vec<&str> = args.split(' ').collect();
        self.cluster.run(&[&args[..], &[&pods]].concat());
    }

    /// The file with the token.
    pub fn token(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    /// A token of the agent's pod on this node, from the API server.
    fn token_of_pod(&self) -> String {
        let pod = self.pod();
        let [name, uid] =
            ["name", "uid"].map(|field| pod["metadata"][field].as_str().unwrap().to_owned());
        let args = "create token sked-node-agent -n sked-system --bound-object-kind=Pod";
        let mut args: Vec<&str> = args.split(' ').collect();
        args.extend(["--bound-object-name", &name, "--bound-object-uid", &uid]);
        self.cluster.kubectl(&args).trim().to_owned()
    }

    /// The pod that the DaemonSet has here.
    fn pod(&self) -> Value {
        let here = format!("--field-selector=spec.nodeName={}", self.name);
        let agents = "app.kubernetes.io/component=node-agent";
        let what = format!("a pod on {}", self.name);
        eventually(&what, TIMEOUT, || {
            let pods = ["pods", "-n", "sked-system", "-l", agents, &here];
            let pods = self.cluster.list(&pods).into_iter();
            let mut pods = pods.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
            pods.next()
        })
    }

    /// Starts an agent of this node that reads that kernel.
    pub fn agent(&self, kernel: &KernelFiles) -> Agent {
        let kubeconfig = self
            .cluster
            .kubeconfig(&self.name, |config| self.authenticate(config));
        self.agent_with(kernel, &kubeconfig)
    }

    /// Replaces the administrator's credentials by the token.
    pub fn authenticate(&self, config: &mut Value) {
        config["users"][0]["user"] = json!({"tokenFile": self.token()});
    }

    /// Starts an agent with this kubeconfig.
    pub fn agent_with(&self, kernel: &KernelFiles, kubeconfig: &Path) -> Agent {
        let port = free_port();
        let process = self.cluster.sked(
            "node-agent",
            kubeconfig,
            &[
                &format!("--token-file={}", self.token().display()),
                &format!("--host-root={}", kernel.path().display()),
                &format!("--metrics-bind-address=127.0.0.1:{port}"),
                "--poll-interval=100ms",
                "--log-format=text",
            ],
        );
        Agent { process, port }
    }

    /// The SchedExtNode of this node; null when there is none.
    pub fn report(&self) -> Value {
        let report = format!("schedextnode/{}", self.name);
        self.cluster.get("", &report).unwrap_or_default()
    }

    pub fn status(&self) -> Value {
        self.report()["status"].clone()
    }
}

impl Drop for AgentNode<'_> {
    fn drop(&mut self) {
        self.delete();
        let report = ["delete", "schedextnode", "--ignore-not-found", &self.name];
        self.cluster.run(&report);
    }
}

/// The process of an agent, killed when dropped.
pub struct Agent {
    pub process: Manager,
    port: u16,
}

impl Agent {
    pub fn is_ready(&self) -> bool {
        self.process.probe("readyz") == Some(200)
    }

    pub fn await_ready(&self) {
        self.process
            .eventually("the agent is ready", || self.is_ready());
    }

    pub fn await_unready(&self) {
        self.process.eventually("the agent is not ready", || {
            self.process.probe("readyz") == Some(503)
        });
    }

    /// Waits until the report of this node has this state, and the agent is ready.
    pub fn await_state(&self, node: &AgentNode<'_>, state: &str, enable_seq: u64) {
        self.process
            .eventually(&format!("{state} is reported"), || {
                let status = node.status();
                status["state"] == state && status["enableSeq"] == enable_seq
            });
        self.await_ready();
    }

    pub fn metrics(&self) -> String {
        let url = format!("http://127.0.0.1:{}/metrics", self.port);
        let mut answer = ureq::get(&url).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    }
}

/// How often reports were created, patched and deleted, as the API server counts it.
pub fn report_writes(cluster: &Cluster) -> [u64; 3] {
    let text = cluster.kubectl(&["get", "--raw", "/metrics"]);
    [("POST", ""), ("PATCH", "status"), ("DELETE", "")].map(|meant| {
        let is_meant = |counter: &Counter<'_>| {
            counter.label("resource") == "schedextnodes"
                && (counter.label("verb"), counter.label("subresource")) == meant
        };
        let all = counters(&text, "apiserver_request_total");
        all.filter(is_meant).map(|counter| counter.count).sum()
    })
}
