//! A cluster of one node with schedctl and both runtimes on it.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use lab::{CommandOutput, Daemon, Event, Lab, LabSpec, Scheduler, Topology};
use serde_json::Value;

/// Generous: the node's processor is emulated.
const PATIENCE: Duration = Duration::from_secs(240);

pub(crate) struct Site(Lab);

impl Site {
    pub(crate) fn up(name: &str) -> Self {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
        let order = LabSpec {
            schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
            ..LabSpec::new(name, Topology::Cluster, &labs)
        };
        let lab = Lab::up(&order, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)));
        let node = lab.node("node1").unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_schedctl"));
        node.put(program, "/usr/local/bin/schedctl", 0o755).unwrap();
        // The kubelet has containerd started already.
        node.start(Daemon::Podman).unwrap();
        Self(lab)
    }

    /// A scheduler's image as the node says it.
    pub(crate) fn image(&self, scheduler: &str) -> String {
        format!("{}/{scheduler}:latest", self.0.running().registry_on_nodes)
    }

    /// Runs something on the node to its end.
    pub(crate) fn node(&self, words: &[&str]) -> CommandOutput {
        self.0.node("node1").unwrap().run(words).unwrap()
    }

    pub(crate) fn schedctl(&self, words: &[&str]) -> CommandOutput {
        self.node(&[&["schedctl"], words].concat())
    }

    /// What `status` says, which must go well.
    pub(crate) fn status(&self, driver: &str) -> Value {
        let said = self.schedctl(&["-d", driver, "status", "-o", "json"]);
        assert_eq!(said.status, 0, "{}", words(&said));
        serde_json::from_str(&said.stdout).unwrap()
    }

    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        let output = self.0.kubectl().unwrap().args(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {words:?}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The scheduler's pod; there is no other.
    pub(crate) fn pod(&self) -> Value {
        let pods = self.kubectl(&["get", "pods", "-l", "name=lab", "-o", "json"]);
        let pods: Value = serde_json::from_str(&pods).unwrap();
        assert_eq!(pods["items"].as_array().map(Vec::len), Some(1));
        pods["items"][0].clone()
    }

    pub(crate) fn apply(&self, object: &Value) {
        let mut kubectl = self.0.kubectl().unwrap();
        let kubectl = kubectl.args(["apply", "-f", "-"]).stdin(Stdio::piped());
        let mut kubectl = kubectl.spawn().unwrap();
        let mut pipe = kubectl.stdin.take().unwrap();
        pipe.write_all(object.to_string().as_bytes()).unwrap();
        drop(pipe);
        assert!(kubectl.wait().unwrap().success(), "{object:#}");
    }

    pub(crate) fn await_kernel(&self, state: &str) {
        self.eventually(&format!("the kernel says {state:?}"), || {
            let now = self.node(&["cat", "/sys/kernel/sched_ext/state"]).stdout;
            (now == state).then_some(())
        });
    }

    pub(crate) fn eventually<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "{what}: never\n{}",
                self.kubectl(&["describe", "pods"])
            );
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

/// All that a program said.
pub(crate) fn words(said: &CommandOutput) -> String {
    format!("{}{}", said.stdout, said.stderr)
}
