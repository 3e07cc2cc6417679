//! The control plane that all tests of this program share, machines that are folders, and agents.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use lab::counters::{Counter, counters};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Cluster, Manager, free_port};

/// Everything of `config/default` is in it. Ends with this process.
pub(crate) static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let cluster = Cluster::crowd("test-agent");
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/default");
    cluster.kubectl(&["apply", "-k", config.to_str().unwrap()]);
    let crd = "crd/schedextnodes.sked.schedkit.io";
    cluster.kubectl(&["wait", "--for=condition=Established", crd]);
    cluster
});

const BOOT: &str = "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11";

/// A machine, as the kernel shows it in files.
pub(crate) struct Machine {
    folder: TempDir,
    moments: usize,
}

impl Machine {
    /// A kernel with sched_ext and nothing attached.
    pub(crate) fn idle() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kernel = folder.path().join("proc/sys/kernel");
        fs::create_dir_all(kernel.join("random")).unwrap();
        fs::create_dir_all(folder.path().join("sys/kernel")).unwrap();
        fs::write(kernel.join("osrelease"), "6.18.15+deb13-cloud-amd64\n").unwrap();
        fs::write(kernel.join("random/boot_id"), format!("{BOOT}\n")).unwrap();
        let mut machine = Self { folder, moments: 0 };
        machine.detached(0);
        machine
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A scheduler of this name is attached, the kernel's so-many-eth.
    pub(crate) fn attached(&mut self, ops: &str, enable_seq: u64) {
        let events = format!("SCX_EV_SELECT_CPU_FALLBACK {}\n", self.moments);
        self.shows(&[
            ("state", "enabled\n"),
            ("root/ops", &format!("{ops}\n")),
            ("root/events", &events),
            ("enable_seq", &format!("{enable_seq}\n")),
            ("switch_all", "1\n"),
            ("nr_rejected", "0\n"),
            ("hotplug_seq", "0\n"),
        ]);
    }

    /// Nothing is attached, after so many were.
    pub(crate) fn detached(&mut self, enable_seq: u64) {
        self.shows(&[
            ("state", "disabled\n"),
            ("enable_seq", &format!("{enable_seq}\n")),
            ("switch_all", "0\n"),
            ("nr_rejected", "0\n"),
            ("hotplug_seq", "0\n"),
        ]);
    }

    /// All files of the folder change in one moment, as they do in a kernel.
    pub(crate) fn shows(&mut self, files: &[(&str, &str)]) {
        self.moments += 1;
        let name = format!("moment-{}", self.moments);
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

/// A node without a machine, with an agent's pod on it that only its token is used of.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) uid: Value,
    room: TempDir,
}

impl Node {
    pub(crate) fn new(name: &str) -> Self {
        let mut node = Self {
            name: name.to_owned(),
            uid: Value::Null,
            room: tempfile::tempdir().unwrap(),
        };
        node.is_born();
        node
    }

    /// The Node is made, and kubelet puts a token in the agent's place, over one that is there.
    pub(crate) fn is_born(&mut self) {
        let (crowd, played) = lab::kwok::LABEL;
        let name = &self.name;
        let labels =
            json!({crowd: played, "kubernetes.io/os": "linux", "kubernetes.io/hostname": name});
        CLUSTER.node(name, &labels);
        self.uid = CLUSTER.look("", &format!("node/{name}"), "/metadata/uid");
        let next = self.room.path().join("next");
        fs::write(&next, self.stolen_token()).unwrap();
        fs::rename(&next, self.token()).unwrap();
    }

    /// The Node is deleted, and with it what was on it.
    pub(crate) fn dies(&self) {
        CLUSTER.kubectl(&["delete", "node", &self.name]);
        let pods = format!("--field-selector=spec.nodeName={}", self.name);
        let words = "delete pods -n sked-system --force --grace-period=0";
        let words: Vec<&str> = words.split(' ').collect();
        CLUSTER.kubectl(&[&words[..], &[&pods]].concat());
    }

    /// Where the token is, as kubelet puts it.
    pub(crate) fn token(&self) -> PathBuf {
        self.room.path().join("token")
    }

    /// A token of the agent's pod on this node, from the API server.
    fn stolen_token(&self) -> String {
        let pod = self.pod();
        let [name, uid] =
            ["name", "uid"].map(|field| pod["metadata"][field].as_str().unwrap().to_owned());
        let words = "create token sked-node-agent -n sked-system --bound-object-kind=Pod";
        let mut words: Vec<&str> = words.split(' ').collect();
        words.extend(["--bound-object-name", &name, "--bound-object-uid", &uid]);
        CLUSTER.kubectl(&words).trim().to_owned()
    }

    /// The pod that the DaemonSet has here.
    fn pod(&self) -> Value {
        let begin = std::time::Instant::now();
        loop {
            let words = "get pods -n sked-system -l app.kubernetes.io/component=node-agent -o json";
            let words: Vec<&str> = words.split(' ').collect();
            let pods: Value = serde_json::from_str(&CLUSTER.kubectl(&words)).unwrap();
            let pods = pods["items"].as_array().unwrap().clone();
            let here = |pod: &Value| pod["spec"]["nodeName"] == self.name;
            if let Some(pod) = pods.into_iter().find(here) {
                return pod;
            }
            assert!(
                begin.elapsed() < crate::support::PATIENCE,
                "no pod on {}",
                self.name
            );
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }

    /// An agent of this node that looks at that machine.
    pub(crate) fn agent(&self, machine: &Machine) -> Agent {
        let kubeconfig = CLUSTER.kubeconfig(&self.name, |config| self.sign(config));
        self.agent_with(machine, &kubeconfig)
    }

    /// With nothing but the token.
    pub(crate) fn sign(&self, config: &mut Value) {
        config["users"][0]["user"] = json!({"tokenFile": self.token()});
    }

    /// An agent that goes by this configuration.
    pub(crate) fn agent_with(&self, machine: &Machine, kubeconfig: &Path) -> Agent {
        let port = free_port();
        let process = CLUSTER.sked(
            "node-agent",
            kubeconfig,
            &[
                &format!("--token-file={}", self.token().display()),
                &format!("--host-root={}", machine.path().display()),
                &format!("--metrics-bind-address=127.0.0.1:{port}"),
                "--poll-interval=100ms",
                "--log-format=text",
            ],
        );
        Agent { process, port }
    }

    /// What the API server has of this node.
    pub(crate) fn report(&self) -> Value {
        let report = format!("schedextnode/{}", self.name);
        CLUSTER.get("", &report).unwrap_or_default()
    }

    pub(crate) fn status(&self) -> Value {
        self.report()["status"].clone()
    }
}

/// An agent that is killed when the test lets go of it.
pub(crate) struct Agent {
    pub(crate) process: Manager,
    port: u16,
}

impl Agent {
    pub(crate) fn is_ready(&self) -> bool {
        self.process.probe("readyz") == Some(200)
    }

    pub(crate) fn await_ready(&self) {
        self.process
            .eventually("the agent is ready", || self.is_ready());
    }

    pub(crate) fn await_unready(&self) {
        self.process.eventually("the agent is not ready", || {
            self.process.probe("readyz") == Some(503)
        });
    }

    /// Waits until the report of this node says so.
    pub(crate) fn await_state(&self, node: &Node, state: &str, enable_seq: u64) {
        self.process
            .eventually(&format!("{state} is reported"), || {
                let status = node.status();
                status["state"] == state && status["enableSeq"] == enable_seq
            });
        self.await_ready();
    }

    pub(crate) fn metrics(&self) -> String {
        let url = format!("http://127.0.0.1:{}/metrics", self.port);
        let mut answer = ureq::get(&url).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    }
}

/// How often reports were created, patched and deleted, by the API server's own count.
pub(crate) fn writes() -> [u64; 3] {
    let text = CLUSTER.kubectl(&["get", "--raw", "/metrics"]);
    [("POST", ""), ("PATCH", "status"), ("DELETE", "")].map(|meant| {
        let is_meant = |counter: &Counter<'_>| {
            counter.label("resource") == "schedextnodes"
                && (counter.label("verb"), counter.label("subresource")) == meant
        };
        let all = counters(&text, "apiserver_request_total");
        all.filter(is_meant).map(|counter| counter.count).sum()
    })
}
