//! Two nodes with kernels of their own, sked deployed as an administrator does it, and one SchedExt
//! on both.

use std::process::Command;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lab::operator::{self, tree};
use lab::static_program::{self, Profile};
use lab::{Daemon, Event, Ground, Lab, Node, Order};
use serde_json::{Value, json};

pub(crate) const NODES: [&str; 2] = ["node1", "node2"];
/// Generous: the nodes' processors are emulated.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
/// What the agents' pods carry.
const AGENT: &str = "app.kubernetes.io/component=node-agent";

pub(crate) struct Site {
    pub(crate) lab: Lab,
    pub(crate) client: Client,
    image: String,
}

impl Site {
    pub(crate) async fn up(name: &str) -> Self {
        let program = static_program::build("sked", Profile::Debug).unwrap();
        let order = Order {
            nodes: 2,
            ..Order::new(name, Ground::Cluster, &tree().join(".lab"))
        };
        let lab = Lab::up(&order, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::sentence(&error)));
        let image = operator::push(&lab, &program, "test").unwrap();
        let config = Kubeconfig::read_from(lab.running().kubeconfig.as_ref().unwrap()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(config, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        Self { lab, client, image }
    }

    pub(crate) fn deploy(&self) {
        let image = format!("IMG={}", self.image);
        let mut make = operator::make(&self.lab, &["deploy", &image]).unwrap();
        assert!(make.status().unwrap().success());
        self.until("the manager is ready", || {
            let words = ["rollout", "status", "-n", "sked-system", "--timeout=5s"];
            let manager = [&words[..], &["deployment/sked-controller-manager"]].concat();
            let agents = [&words[..], &["daemonset/sked-node-agent"]].concat();
            (self.tried(&manager) && self.tried(&agents)).then_some(())
        });
    }

    pub(crate) fn node(&self, name: &str) -> Node<'_> {
        self.lab.node(name).unwrap()
    }

    /// schedctl onto a node, with what it must know of the registry.
    pub(crate) fn bring_schedctl(&self, node: &Node<'_>) {
        let program = static_program::build("schedctl", Profile::Debug).unwrap();
        node.put(&program, "/usr/local/bin/schedctl", 0o755)
            .unwrap();
        let registry = &self.lab.running().registry_on_nodes;
        let settings = format!("[registry.\"{registry}\"]\nsecurity = \"plain-http\"\n");
        let file = "/etc/schedctl/config.toml";
        node.write(file, settings.as_bytes(), 0o644).unwrap();
        node.start(Daemon::Podman).unwrap();
    }

    /// What kubectl says, which must succeed.
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {words:?}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Whether kubectl succeeds.
    pub(crate) fn tried(&self, words: &[&str]) -> bool {
        self.command(words).output().unwrap().status.success()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut kubectl = self.lab.kubectl().unwrap();
        kubectl.args(words);
        kubectl
    }

    pub(crate) fn get(&self, words: &[&str]) -> Value {
        let output = self
            .command(&[&["get", "-o", "json"], words].concat())
            .output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap_or_default()
    }

    pub(crate) fn schedext(&self, name: &str, spec: &Value) {
        let object = json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
            "metadata": {"name": name, "namespace": "default"}, "spec": spec,
        });
        let file = self.lab.state().path("schedext.json");
        std::fs::write(&file, object.to_string()).unwrap();
        let file = file.display().to_string();
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", &file]);
    }

    /// A condition of a SchedExt as `True/Attached`.
    pub(crate) fn condition(&self, name: &str, kind: &str) -> String {
        let schedext = self.get(&["schedext", name]);
        let conditions = schedext["status"]["conditions"].as_array().cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        let found = conditions.find(|one| one["type"] == kind);
        let found = found.unwrap_or_default();
        let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason"))
    }

    #[track_caller]
    pub(crate) fn await_condition(&self, name: &str, kind: &str, wanted: &str) {
        self.until(&format!("{name} is {kind} {wanted}"), || {
            (self.condition(name, kind) == wanted).then_some(())
        });
    }

    /// What makes the schedulers' pods the same: their uids and how often their containers began.
    pub(crate) fn schedulers(&self) -> Vec<(String, String, i64)> {
        let pods = self.get(&["pods", "-l", "managed-by=sked-controller"]);
        let mut found: Vec<_> = pods["items"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .iter()
            .map(|pod| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let restarts = &pod["status"]["containerStatuses"][0]["restartCount"];
                (
                    text(&pod["spec"]["nodeName"]),
                    text(&pod["metadata"]["uid"]),
                    restarts.as_i64().unwrap_or_default(),
                )
            })
            .collect();
        found.sort();
        found
    }

    /// Replaces pods, so that kubelet's patience with them is new.
    pub(crate) fn renew(&self, name: &str) {
        self.kubectl(&["delete", "pods", "-l", &format!("name={name}")]);
    }

    pub(crate) fn agents_ready(&self) -> bool {
        let pods = self.get(&["pods", "-n", "sked-system", "-l", AGENT]);
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let ready = |pod: &&Value| {
            let conditions = pod["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
        };
        pods.len() == NODES.len() && pods.iter().filter(ready).count() == NODES.len()
    }

    #[track_caller]
    pub(crate) fn until<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(answer) = ask() {
                println!("{what}: after {:.1} s", begin.elapsed().as_secs_f64());
                return answer;
            }
            if begin.elapsed() >= PATIENCE {
                panic!("{what}: not within {PATIENCE:?}\n{}", self.picture());
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// What stood in the way, for whoever reads the log of a run that is over.
    fn picture(&self) -> String {
        let asked = [
            "get nodes,schedexts,schedextnodes,daemonsets,pods -A -o wide",
            "get schedexts -o yaml",
            "get nodes -L sked.schedkit.io/owner",
            "logs deployment/sked-controller-manager -n sked-system --tail=40",
            "logs daemonset/sked-node-agent -n sked-system --tail=40",
            "describe pods -l managed-by=sked-controller",
        ];
        let asked = asked.map(|words| {
            let words: Vec<_> = words.split(' ').collect();
            let output = self.command(&words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            format!("--- {words:?}\n{said}")
        });
        asked.join("\n")
    }
}
