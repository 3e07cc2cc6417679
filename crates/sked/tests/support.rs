//! What the tests on a real control plane share: a lab, kubectl, managers and patience.

#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use lab::{Lab, LabSpec, Topology};
use serde_json::Value;

/// Generous: other work shares the processors.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A control plane that knows SchedExts.
pub(crate) struct Cluster {
    lab: Lab,
    folder: PathBuf,
}

impl Cluster {
    /// With the CRD.
    pub(crate) fn up(name: &str) -> Self {
        let cluster = Self::bare(name);
        cluster.install();
        cluster
    }

    /// Without the CRD.
    pub(crate) fn bare(name: &str) -> Self {
        Self::ordered(&LabSpec::new(name, Topology::ControlPlane, &labs()))
    }

    /// With the CRD, and with somebody who plays kubelets.
    pub(crate) fn crowd(name: &str) -> Self {
        let cluster = Self::ordered(&LabSpec {
            kwok: true,
            ..LabSpec::new(name, Topology::ControlPlane, &labs())
        });
        cluster.install();
        cluster
    }

    fn ordered(order: &LabSpec) -> Self {
        let lab = Lab::up(order, |_| {});
        let lab = lab.unwrap_or_else(|error| panic!("{error}"));
        let folder = lab.state().path("sked");
        std::fs::create_dir_all(&folder).unwrap();
        Self { lab, folder }
    }

    pub(crate) fn install(&self) {
        for crd in sked_api::crd::all().unwrap() {
            self.apply(&serde_json::to_value(&crd).unwrap());
            let named = format!("crd/{}", crd.metadata.name.unwrap());
            self.kubectl(&["wait", "--for=condition=Established", &named]);
        }
    }

    /// A namespace of a test's own.
    pub(crate) fn namespace(&self, name: &str) {
        self.kubectl(&["create", "namespace", name]);
    }

    /// What kubectl says, which must succeed.
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        let output = self.lab.kubectl().unwrap().args(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {words:?}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Whether kubectl succeeds.
    pub(crate) fn try_kubectl(&self, words: &[&str]) -> bool {
        let output = self.lab.kubectl().unwrap().args(words).output().unwrap();
        output.status.success()
    }

    /// An object, if it is there: `kind/name` in a namespace.
    pub(crate) fn get(&self, namespace: &str, what: &str) -> Option<Value> {
        let words = [
            "get",
            "-n",
            namespace,
            what,
            "-o",
            "json",
            "--ignore-not-found",
        ];
        serde_json::from_str(&self.kubectl(&words)).ok()
    }

    /// What is at a path of an object; null when either is not there.
    pub(crate) fn look(&self, namespace: &str, what: &str, path: &str) -> Value {
        let object = self.get(namespace, what).unwrap_or_default();
        object.pointer(path).cloned().unwrap_or_default()
    }

    pub(crate) fn apply(&self, object: &Value) {
        self.feed(
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
            object,
        );
    }

    /// Quicker than to apply, where nothing can be there yet.
    pub(crate) fn create(&self, object: &Value) {
        self.feed(&["create", "-f", "-"], object);
    }

    pub(crate) fn patch(&self, namespace: &str, what: &str, patch: &str) {
        self.kubectl(&["patch", "-n", namespace, what, "--type=json", "-p", patch]);
    }

    /// Why the API server does not take an object, which it must not.
    pub(crate) fn refusal(&self, object: &Value) -> String {
        let output = self.hand(&["create", "-f", "-"], object);
        assert!(!output.status.success(), "taken: {object}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn feed(&self, words: &[&str], object: &Value) {
        let output = self.hand(words, object);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?} {object}: {err}");
    }

    fn hand(&self, words: &[&str], object: &Value) -> Output {
        let mut kubectl = self.lab.kubectl().unwrap();
        let kubectl = kubectl
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut kubectl = kubectl.spawn().unwrap();
        let mut pipe = kubectl.stdin.take().unwrap();
        pipe.write_all(object.to_string().as_bytes()).unwrap();
        drop(pipe);
        kubectl.wait_with_output().unwrap()
    }

    /// A SchedExt with this spec.
    pub(crate) fn schedext(&self, namespace: &str, name: &str, spec: &Value) {
        self.apply(&schedext(namespace, name, spec));
    }

    /// A node without a machine.
    pub(crate) fn node(&self, name: &str, labels: &Value) {
        self.apply(&serde_json::json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
        }));
    }

    /// The registry, as this machine reaches it: over plain HTTP.
    pub(crate) fn registry(&self) -> &str {
        &self.lab.running().registry
    }

    /// A file of this name.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Starts a manager with these words besides the usual ones.
    pub(crate) fn manager(&self, words: &[&str]) -> Manager {
        self.manager_with(self.lab.running().kubeconfig.as_ref().unwrap(), words)
    }

    /// Starts a manager that goes by this configuration.
    pub(crate) fn manager_with(&self, kubeconfig: &Path, words: &[&str]) -> Manager {
        self.sked("manager", kubeconfig, words)
    }

    /// Starts what sked does under this name; it answers probes.
    pub(crate) fn sked(&self, command: &str, kubeconfig: &Path, words: &[&str]) -> Manager {
        let port = free_port();
        let log = self.folder.join(format!("{command}-{port}.log"));
        let process = Command::new(env!("CARGO_BIN_EXE_sked"))
            .arg(command)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg(format!("--health-probe-bind-address=127.0.0.1:{port}"))
            .args(words)
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Manager { process, log, port }
    }

    /// The administrator's configuration, changed, as a file of this name.
    pub(crate) fn kubeconfig(&self, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
        let words = ["config", "view", "--raw", "-o", "json"];
        let mut config = serde_json::from_str(&self.kubectl(&words)).unwrap();
        change(&mut config);
        self.file(name, &config.to_string())
    }

    /// A manager whose caches are filled.
    pub(crate) fn ready_manager(&self, words: &[&str]) -> Manager {
        let manager = self.manager(words);
        manager.eventually("the manager is ready", || {
            manager.probe("readyz") == Some(200)
        });
        manager
    }
}

/// A SchedExt with this spec.
pub(crate) fn schedext(namespace: &str, name: &str, spec: &Value) -> Value {
    serde_json::json!({
        "apiVersion": "sked.schedkit.io/v1",
        "kind": "SchedExt",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    })
}

fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab")
}

/// A port that nobody listened on a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// A manager that is killed when the test lets go of it.
pub(crate) struct Manager {
    process: Child,
    log: PathBuf,
    port: u16,
}

impl Manager {
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The HTTP status of a probe, if somebody answers.
    pub(crate) fn probe(&self, path: &str) -> Option<u16> {
        let url = format!("http://127.0.0.1:{}/{path}", self.port);
        match ureq::get(&url).call() {
            Ok(answer) => Some(answer.status().as_u16()),
            Err(ureq::Error::StatusCode(code)) => Some(code),
            Err(_) => None,
        }
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "it does not end:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Asks it to end, which it must do well.
    pub(crate) fn stop(mut self) {
        self.signal("TERM");
        let status = self.ends();
        assert!(status.success(), "{status}\n{}", self.log());
    }

    /// Waits until something holds; this manager's log explains when it never does.
    pub(crate) fn eventually(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < PATIENCE, "{what}: never\n{}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
