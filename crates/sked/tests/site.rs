//! Nodes with kernels of their own, and sked deployed on them as an administrator does it.

#![allow(dead_code, reason = "each program uses its own part of it")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lab::operator::{self, tree};
use lab::{Event, Lab, LabSpec, Node, Topology};
use serde_json::{Value, json};

pub(crate) const IMAGE: &str = "registry.lab:5000/scx_lab:latest";
/// Generous: the nodes' processors are emulated.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Site {
    pub(crate) lab: Lab,
    image: String,
}

impl Site {
    /// So many nodes with this kernel, and an image of this sked for them.
    pub(crate) fn up(name: &str, kernel: &str, nodes: u8, sked: &Path) -> Self {
        let order = LabSpec {
            nodes,
            kernel: kernel.to_owned(),
            ..LabSpec::new(name, Topology::Cluster, &tree().join(".lab"))
        };
        let lab = Lab::up(&order, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)));
        let image = operator::push(&lab, sked, "test").unwrap();
        Self { lab, image }
    }

    /// Deploys sked and waits until the manager and the agents are ready.
    pub(crate) fn deploy(&self) {
        let image = format!("IMG={}", self.image);
        let mut make = operator::make(&self.lab, &["deploy", &image]).unwrap();
        assert!(make.status().unwrap().success());
        for what in [
            "deployment/sked-controller-manager",
            "daemonset/sked-node-agent",
        ] {
            let words = ["rollout", "status", "-n", "sked-system", "--timeout=300s"];
            self.kubectl(&[&words[..], &[what]].concat());
        }
    }

    pub(crate) fn node(&self, name: &str) -> Node<'_> {
        self.lab.node(name).unwrap()
    }

    /// What kubectl says, which must succeed.
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {words:?}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut kubectl = self.lab.kubectl().unwrap();
        kubectl.args(words);
        kubectl
    }

    /// Objects as they are; null when there is none or the API server does not answer.
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
            std::thread::sleep(Duration::from_millis(500));
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
