//! Nodes with kernels of their own, sked deployed as an administrator does it, and one SchedExt.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use lab::operator::{self, tree};
use lab::static_program::{self, Profile};
use lab::{Event, Ground, Lab, Node, Order};
use serde_json::{Value, json};

pub(crate) const IMAGE: &str = "registry.lab:5000/scx_lab:latest";
/// Generous: the nodes' processors are emulated.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Site {
    pub(crate) lab: Lab,
    image: String,
}

/// A way to a pod's port, which is closed when it is dropped.
pub(crate) struct Way {
    process: Child,
    pub(crate) port: u16,
}

impl Site {
    pub(crate) fn up(name: &str, kernel: &str, nodes: u8) -> Self {
        let program = static_program::build("sked", Profile::Debug).unwrap();
        let order = Order {
            nodes,
            kernel: kernel.to_owned(),
            ..Order::new(name, Ground::Cluster, &tree().join(".lab"))
        };
        let lab = Lab::up(&order, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::sentence(&error)));
        let image = operator::push(&lab, &program, "test").unwrap();
        Self { lab, image }
    }

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
        let output = self.lab.kubectl().unwrap().args(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {words:?}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn get(&self, words: &[&str]) -> Value {
        let out = self.kubectl(&[&["get", "-o", "json"], words].concat());
        serde_json::from_str(&out).unwrap()
    }

    /// The SchedExt `lab`.
    pub(crate) fn schedext(&self, spec: &Value) {
        let object = json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
            "metadata": {"name": "lab", "namespace": "default"}, "spec": spec,
        });
        let file = self.lab.state().path("schedext.json");
        std::fs::write(&file, object.to_string()).unwrap();
        let file = file.display().to_string();
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", &file]);
    }

    /// Waits until so many kernels run it, and they are all that should.
    #[track_caller]
    pub(crate) fn await_attached(&self, nodes: u8) {
        self.until(&format!("{nodes} kernels run it"), || {
            self.attached(nodes).then_some(())
        });
    }

    /// Waits until it was gone from a kernel, and then until it is back.
    #[track_caller]
    pub(crate) fn await_attached_again(&self) {
        self.until("a kernel lost it", || (!self.attached(2)).then_some(()));
        self.await_attached(2);
    }

    fn attached(&self, nodes: u8) -> bool {
        let schedext = self.get(&["schedext", "lab"]);
        let status = &schedext["status"];
        let counts = &status["counts"];
        status["observedGeneration"] == schedext["metadata"]["generation"]
            && counts["attached"] == nodes
            && counts["desired"] == nodes
    }

    /// The pods of sked's with this label, and the nodes that they are on.
    pub(crate) fn pods(&self, label: &str) -> Vec<(String, String)> {
        let pods = self.get(&["pods", "-n", "sked-system", "-l", label]);
        let pods = pods["items"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        pods.map(|pod| {
            (
                text(&pod["metadata"]["name"]),
                text(&pod["spec"]["nodeName"]),
            )
        })
        .collect()
    }

    /// A port on this machine's loopback that leads to a port of one of sked's pods.
    pub(crate) fn way(&self, pod: &str, port: u16) -> Way {
        let mut process = self
            .lab
            .kubectl()
            .unwrap()
            .args(["port-forward", "-n", "sked-system"])
            .args([format!("pod/{pod}"), format!(":{port}")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Forwarding from 127.0.0.1:40123 -> 8080
        let mut said = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut said).unwrap();
        // Each connection is told, to the end: who does not listen stops it.
        std::thread::spawn(move || lines.lines().map_while(Result::ok).for_each(drop));
        let local = said
            .split_once(':')
            .and_then(|(_, rest)| rest.split(' ').next());
        let port = local.and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("kubectl port-forward said {said:?}"));
        Way { process, port }
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
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What stood in the way, for whoever reads the log of a run that is over.
    fn picture(&self) -> String {
        let asked = [
            "get nodes,schedexts,schedextnodes,daemonsets,pods -A -o wide",
            "get schedexts -o yaml",
            "logs deployment/sked-controller-manager -n sked-system --tail=40",
            "logs daemonset/sked-node-agent -n sked-system --tail=40",
        ];
        let asked = asked.map(|words| {
            let output = self.lab.kubectl().unwrap().args(words.split(' ')).output();
            let said = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
            format!("--- {words}\n{said}")
        });
        asked.join("\n")
    }
}

/// Ends a process of this test's.
pub(crate) fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

impl Drop for Way {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}
