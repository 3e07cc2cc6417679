//! A cluster whose nodes are virtual machines with kernels of their own, and sked on it as an
//! administrator deploys it. SchedExts and schedulers of tests are in the namespace `default`.

use std::ops::Deref;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use lab::cache::Cache;
use lab::operator;
use lab::parts::helm;
use lab::progress::Reporter;
use lab::{LabSpec, Node, Topology};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::port_forward::PortForward;
use crate::program;
use crate::wait::{NODE_TIMEOUT, eventually_or};

pub const NAMESPACE: &str = "default";
/// The namespace of sked itself.
pub const SKED_NAMESPACE: &str = "sked-system";
/// scx_lab as the nodes name it; the kernel shows it as `lab_1.1.0`.
pub const SCX_LAB: &str = "registry.lab:5000/scx_lab:latest";
/// The condition `Ready` of a SchedExt that the kernels of all its nodes run.
pub const ATTACHED: &str = "True/Attached";
/// The label that only the manager's pod has.
pub const MANAGER_LABEL: &str = "control-plane=controller-manager";
pub const AGENT_LABEL: &str = "app.kubernetes.io/component=node-agent";
/// Makes the kernel eject its scheduler.
pub const SYSRQ: &str = "echo S > /proc/sysrq-trigger";

pub struct NodeCluster {
    cluster: Cluster,
    /// sked's image as the nodes name it.
    pub image: String,
    spec: LabSpec,
}

/// A pod of a scheduler: equal while neither the pod was replaced nor its container restarted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchedulerPod {
    pub node: String,
    pub uid: String,
    pub restarts: i64,
}

impl NodeCluster {
    /// Boots nodes with a kernel of this series, and pushes an image of this sked to the registry.
    pub fn up(name: &str, kernel: &str, nodes: u8, sked: &Path) -> Self {
        let spec = LabSpec {
            nodes,
            kernel: kernel.to_owned(),
            ..LabSpec::new(name, Topology::Cluster, &program::labs())
        };
        Self::boot(spec, sked)
    }

    /// The same for any lab that has Kubernetes and nodes.
    pub fn boot(spec: LabSpec, sked: &Path) -> Self {
        let cluster = Cluster::up(&spec);
        let image = operator::push(cluster.lab(), sked, "test").unwrap();
        Self {
            cluster,
            image,
            spec,
        }
    }

    /// Runs `make` at the top of the checkout, with this cluster as the current one.
    #[track_caller]
    pub fn make(&self, args: &[&str]) {
        // The one that was built beside this program: otherwise make would run cargo.
        let lab = format!("LAB={}", program::lab().display());
        let make = operator::make(self.lab(), &[&[lab.as_str()], args].concat());
        succeed(&mut make.unwrap());
    }

    /// Deploys sked with `make deploy` and waits until the manager and the agents are ready.
    #[track_caller]
    pub fn deploy(&self) {
        self.make(&["deploy", &format!("IMG={}", self.image)]);
        self.await_sked();
    }

    #[track_caller]
    pub fn await_sked(&self) {
        for what in [
            "deployment/sked-controller-manager",
            "daemonset/sked-node-agent",
        ] {
            // Emulated nodes unpack fifty megabytes, beside whatever else uses this machine.
            let args = ["rollout", "status", "-n", SKED_NAMESPACE, "--timeout=900s"];
            self.kubectl(&[&args[..], &[what]].concat());
        }
    }

    #[track_caller]
    pub fn helm(&self, args: &[&str]) {
        let quiet = Reporter::new(std::io::sink());
        let cache = Cache::new(self.spec.cache.clone());
        let program = helm::make(&cache, &quiet).unwrap();
        let home = tempfile::tempdir().unwrap();
        let mut helm = Command::new(program);
        helm.current_dir(program::tree())
            .env("KUBECONFIG", self.admin_kubeconfig())
            .env("HOME", home.path());
        succeed(helm.args(args));
    }

    pub fn node(&self, name: &str) -> Node<'_> {
        self.lab().node(name).unwrap()
    }

    /// Copies schedctl to a node, and tells it that the lab's registry is plain HTTP.
    pub fn install_schedctl(&self, node: &str) {
        let small = self.lab().state().path("schedctl-stripped");
        let mut strip = Command::new("strip");
        succeed(strip.arg("-o").arg(&small).arg(program::schedctl()));
        let node = self.node(node);
        node.put(&small, "/usr/local/bin/schedctl", 0o755).unwrap();
        let registry = &self.lab().running().registry_on_nodes;
        let config = format!("[registry.\"{registry}\"]\nsecurity = \"plain-http\"\n");
        let file = "/etc/schedctl/config.toml";
        node.write(file, config.as_bytes(), 0o644).unwrap();
    }

    pub fn status_of(&self, schedext: &str) -> Value {
        self.read(&["schedext", schedext])["status"].take()
    }

    #[track_caller]
    pub fn apply_schedext(&self, name: &str, spec: &Value) {
        self.cluster.schedext(NAMESPACE, name, spec);
    }

    /// Waits until a condition of a SchedExt has this status and reason, such as `True/Attached`,
    /// and is about its latest generation.
    #[track_caller]
    pub fn await_condition(&self, name: &str, kind: &str, wanted: &str) {
        self.until(&format!("{name} is {kind} {wanted}"), || {
            let schedext = self.read(&["schedext", name]);
            let conditions = schedext["status"]["conditions"].as_array()?;
            let found = conditions.iter().find(|one| one["type"] == kind)?;
            let text = |field: &str| found[field].as_str().unwrap_or_default();
            let current = found["observedGeneration"] == schedext["metadata"]["generation"];
            let now = format!("{}/{}", text("status"), text("reason"));
            (current && now == wanted).then_some(())
        });
    }

    /// Waits until so many kernels run a SchedExt's scheduler, and it is wanted on no other node.
    #[track_caller]
    pub fn await_attached(&self, schedext: &str, nodes: u8) {
        self.until(&format!("{nodes} kernels run {schedext}"), || {
            self.is_attached(schedext, nodes)?.then_some(())
        });
    }

    pub fn is_attached(&self, schedext: &str, nodes: u8) -> Option<bool> {
        let schedext = self.read(&["schedext", schedext]);
        let status = &schedext["status"];
        let counts = status["counts"].as_object()?;
        Some(
            status["observedGeneration"] == schedext["metadata"]["generation"]
                && counts["attached"] == nodes
                && counts["desired"] == nodes,
        )
    }

    /// Waits until a SchedExt has a problem with this reason on some node.
    #[track_caller]
    pub fn await_problem(&self, schedext: &str, reason: &str) -> Value {
        self.until(&format!("{schedext} has a problem {reason}"), || {
            let status = self.status_of(schedext);
            let problems = status["problems"].as_array()?;
            problems.iter().find(|one| one["reason"] == reason).cloned()
        })
    }

    /// What a node's kernel has in `/sys/kernel/sched_ext/state`.
    pub fn kernel_state(&self, node: &str) -> String {
        let node = self.node(node);
        node.must("cat /sys/kernel/sched_ext/state").unwrap()
    }

    #[track_caller]
    pub fn await_kernel_state(&self, node: &str, state: &str) {
        self.until(&format!("the kernel of {node} is {state}"), || {
            (self.kernel_state(node) == state).then_some(())
        });
    }

    /// The scheduler that a node's kernel runs; none while one is attaching or detaching, too.
    pub fn ops(&self, node: &str) -> Option<String> {
        let args = ["cat", "/sys/kernel/sched_ext/root/ops"];
        let output = self.node(node).run(&args).unwrap();
        (output.status == 0).then(|| output.stdout.trim().to_owned())
    }

    /// The schedulers' pods, sorted by node; there must be one.
    #[track_caller]
    pub fn scheduler_pods(&self) -> Vec<SchedulerPod> {
        let pods = self.read(&["pods", "-l", "managed-by=sked-controller"]);
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let identity = |pod: &Value| SchedulerPod {
            node: text(&pod["spec"]["nodeName"]),
            uid: text(&pod["metadata"]["uid"]),
            restarts: pod["status"]["containerStatuses"][0]["restartCount"]
                .as_i64()
                .unwrap_or_default(),
        };
        let mut pods: Vec<_> = pods.iter().map(identity).collect();
        assert!(!pods.is_empty(), "no scheduler has a pod");
        pods.sort();
        pods
    }

    /// Names of sked's pods with this label, and the nodes that they are on.
    pub fn sked_pods(&self, label: &str) -> Vec<(String, String)> {
        let pods = self.list(&["pods", "-n", SKED_NAMESPACE, "-l", label]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let pods = pods.iter().map(|pod| {
            let (name, node) = (&pod["metadata"]["name"], &pod["spec"]["nodeName"]);
            (text(name), text(node))
        });
        pods.collect()
    }

    /// Forwards a free port of this machine to a port of `pod/NAME` or `service/NAME` of sked.
    pub fn forward(&self, what: &str, port: u16) -> PortForward {
        PortForward::start(self, SKED_NAMESPACE, what, port)
    }

    /// Waits until there is an answer; otherwise the failure shows what the cluster looks like.
    #[track_caller]
    pub fn until<T>(&self, what: &str, ask: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        let answer = eventually_or(what, NODE_TIMEOUT, ask, || self.describe());
        println!("{what}: after {:.1} s", begin.elapsed().as_secs_f64());
        answer
    }

    /// The state of the cluster and of the nodes' kernels, for the log of a failed test.
    pub fn describe(&self) -> String {
        let commands = [
            "get nodes -L sked.schedkit.io/owner",
            "get schedexts,schedextnodes,daemonsets,pods -A -o wide",
            "get schedexts -o yaml",
            "describe pods",
            "logs deployment/sked-controller-manager -n sked-system --tail=40",
            "logs daemonset/sked-node-agent -n sked-system --tail=40",
            "get events -A --sort-by=.lastTimestamp",
        ];
        let cluster = commands.map(|args| {
            let output = self.run(&args.split(' ').collect::<Vec<_>>());
            let [out, err] = [output.stdout, output.stderr]
                .map(|text| String::from_utf8_lossy(&text).into_owned());
            format!("--- kubectl {args}\n{out}{err}")
        });
        let script = "cat /sys/kernel/sched_ext/state /proc/loadavg; dmesg | tail -n 20; \
                      ps -eo pid,stat,wchan:32,etime,args | grep '[s]cx_'; \
                      tail -n 15 /var/log/kubelet.log";
        let nodes = self.lab().running().nodes.iter().map(|node| {
            let output = self.node(&node.name).shell(script);
            let text = output.map_or_else(|error| error.to_string(), |output| output.text());
            format!("--- {}\n{text}", node.name)
        });
        cluster.into_iter().chain(nodes).collect()
    }
}

impl Deref for NodeCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

/// The spec of a SchedExt for scx_lab with these arguments, on every node.
pub fn spec(args: &[&str]) -> Value {
    json!({"sched": SCX_LAB, "args": args})
}

/// The same on one node.
pub fn spec_on(node: &str, args: &[&str]) -> Value {
    json!({"sched": SCX_LAB, "args": args, "nodeSelector": {"kubernetes.io/hostname": node}})
}

#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let [out, err] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}\n{out}{err}");
}
