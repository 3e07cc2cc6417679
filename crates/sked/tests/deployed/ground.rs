//! A cluster of one node with sked's image in its registry, and what the story does there.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use lab::cache::Cache;
use lab::operator::{self, tree};
use lab::parts::install_tool::{self, InstallTool};
use lab::progress::Reporter;
use lab::static_program::{self, Profile};
use lab::{Event, Lab, LabSpec, Topology};
use serde_json::{Value, json};

/// Generous: the node's processor is emulated.
const PATIENCE: Duration = Duration::from_secs(240);

/// What the manager's pod alone carries.
const MANAGER: &str = "control-plane=controller-manager";

/// What the agents' pods carry.
pub(crate) const AGENT: &str = "app.kubernetes.io/component=node-agent";

pub(crate) struct Site {
    /// sked's, as the nodes say it.
    pub(crate) image: String,
    lab: Lab,
    cache: PathBuf,
}

impl Site {
    pub(crate) fn up(name: &str) -> Self {
        let program = static_program::build("sked", Profile::Debug).unwrap();
        let order = LabSpec::new(name, Topology::Cluster, &tree().join(".lab"));
        let lab = Lab::up(&order, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)));
        let image = operator::push(&lab, &program, "test").unwrap();
        let cache = order.cache;
        Self { image, lab, cache }
    }

    /// What is in the tree that is not committed.
    pub(crate) fn tree_status(&self) -> String {
        let mut git = Command::new("git");
        succeed(git.current_dir(tree()).args(["status", "--porcelain"]))
    }

    /// `make`, with the lab's kubectl and cluster.
    pub(crate) fn make(&self, words: &[&str]) {
        println!(
            "{}",
            succeed(&mut operator::make(&self.lab, words).unwrap())
        );
    }

    pub(crate) fn helm(&self, words: &[&str]) {
        let quiet = Reporter::new(std::io::sink());
        let helm = install_tool::make(&Cache::new(self.cache.clone()), InstallTool::Helm, &quiet);
        let home = tempfile::tempdir().unwrap();
        let mut helm = Command::new(helm.unwrap());
        helm.current_dir(tree())
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", home.path());
        println!("{}", succeed(helm.args(words)));
    }

    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        succeed(self.lab.kubectl().unwrap().current_dir(tree()).args(words))
    }

    pub(crate) fn get(&self, words: &[&str]) -> Value {
        let out = self.kubectl(&[&["get", "-o", "json"], words].concat());
        serde_json::from_str(&out).unwrap()
    }

    pub(crate) fn apply(&self, object: &Value) {
        let mut kubectl = self.lab.kubectl().unwrap();
        let mut kubectl = kubectl
            .args(["apply", "-f", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = kubectl.stdin.take().unwrap();
        pipe.write_all(object.to_string().as_bytes()).unwrap();
        drop(pipe);
        assert!(kubectl.wait().unwrap().success(), "{object:#}");
    }

    /// The manager's pod, when it is ready; no other has its label.
    pub(crate) fn await_manager(&self) -> Value {
        self.eventually("the manager is ready", || {
            let pods = self.get(&["pods", "-n", "sked-system", "-l", MANAGER]);
            let [pod] = pods["items"].as_array()?.as_slice() else {
                return None;
            };
            let conditions = pod["status"]["conditions"].as_array()?;
            let ready = |one: &&Value| one["type"] == "Ready" && one["status"] == "True";
            conditions.iter().find(ready).map(|_| pod.clone())
        })
    }

    /// What makes a scheduler's pod the same one: its uid and how often its container began.
    pub(crate) fn scheduler(&self) -> (Value, Value) {
        let pods = self.get(&["pods", "-l", "name=lab"]);
        let pod = &pods["items"][0];
        let restarts = &pod["status"]["containerStatuses"][0]["restartCount"];
        (pod["metadata"]["uid"].clone(), restarts.clone())
    }

    /// What the node's kernel says.
    pub(crate) fn kernel(&self) -> String {
        let node = self.lab.node("node1").unwrap();
        node.run(&["cat", "/sys/kernel/sched_ext/state"])
            .unwrap()
            .stdout
    }

    pub(crate) fn await_kernel(&self, state: &str) {
        self.eventually(&format!("the kernel says {state:?}"), || {
            (self.kernel() == state).then_some(())
        });
    }

    /// Waits until a condition of the SchedExt has this reason.
    pub(crate) fn await_condition(&self, kind: &str, reason: &str) {
        self.eventually(&format!("{kind} is {reason}"), || {
            let schedext = self.get(&["schedext", "lab"]);
            let conditions = schedext["status"]["conditions"].as_array()?.clone();
            let found = conditions.into_iter().find(|one| one["type"] == kind)?;
            (found["reason"] == reason).then_some(())
        });
    }

    /// The kernel throws its scheduler out.
    pub(crate) fn press_sysrq(&self) {
        let node = self.lab.node("node1").unwrap();
        node.must("echo S > /proc/sysrq-trigger").unwrap();
    }

    /// A label that is left because no manager runs any more: one that runs takes it off itself.
    /// It is on a node of its own, so that the scheduler of the real one goes on.
    pub(crate) fn leave_a_label(&self) {
        let system = ["-n", "sked-system"];
        let words = [
            "scale",
            "deployment/sked-controller-manager",
            "--replicas=0",
        ];
        self.kubectl(&[&words[..], &system].concat());
        self.eventually("the manager is gone", || {
            let pods = self.get(&[&["pods", "-l", MANAGER], &system[..]].concat());
            pods["items"].as_array()?.is_empty().then_some(())
        });
        let labels = json!({"sked.schedkit.io/owner": "left-over"});
        let metadata = json!({"name": "left-over", "labels": labels});
        self.apply(&json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata}));
        assert!(self.has_owner_label());
    }

    pub(crate) fn has_owner_label(&self) -> bool {
        let node = self.get(&["node", "left-over"]);
        node["metadata"]["labels"]
            .get("sked.schedkit.io/owner")
            .is_some()
    }

    /// Whoever has this account asks for the manager's metrics; what was answered.
    pub(crate) fn ask_from_a_pod(&self, account: &str, ip: &str) -> String {
        let token = self.kubectl(&["create", "token", account]);
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": account},
            "spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "kubectl", "image": "registry.lab:5000/kubectl:1", "args": [
                    format!("--server=https://{ip}:8443"), "--insecure-skip-tls-verify",
                    format!("--token={}", token.trim()), "get", "--raw", "/metrics",
                ]}],
            },
        }));
        self.eventually(&format!("{account} has an answer"), || {
            let pod = self.get(&["pod", account]);
            let phase = pod["status"]["phase"].as_str()?;
            ["Succeeded", "Failed"].contains(&phase).then_some(())
        });
        let said = self.kubectl(&["logs", account]);
        self.kubectl(&["delete", "pod", account, "--wait=false"]);
        said
    }

    #[track_caller]
    pub(crate) fn eventually<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(answer) = ask() {
                println!("{what}: after {:?}", begin.elapsed());
                return answer;
            }
            if begin.elapsed() >= PATIENCE {
                panic!("{what}: not within {PATIENCE:?}\n{}", self.picture());
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// What stood in the way, for whoever reads the log of a run that is over.
    fn picture(&self) -> String {
        let asked = [
            "get nodes,schedexts,daemonsets,pods -A -o wide",
            "describe pods -n sked-system",
            "describe schedexts,schedextnodes",
            "logs daemonset/sked-node-agent -n sked-system --tail=50",
            "logs deployment/sked-controller-manager -n sked-system --tail=50",
            "get events -A --sort-by=.lastTimestamp",
        ];
        let asked = asked.map(|words| {
            let output = self.lab.kubectl().unwrap().args(words.split(' ')).output();
            let (out, err) = heard(&output.unwrap());
            format!("--- kubectl {words}\n{out}{err}")
        });
        asked.concat()
    }

    fn kubeconfig(&self) -> &Path {
        self.lab.running().kubeconfig.as_ref().unwrap()
    }
}

#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = heard(&output);
    assert!(output.status.success(), "{command:?}\n{out}{err}");
    out
}

fn heard(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
