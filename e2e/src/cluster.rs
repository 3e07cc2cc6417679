//! A Kubernetes cluster of a lab, with or without nodes, and what tests ask of it through kubectl.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lab::{Event, Lab, LabSpec, Topology};
use serde_json::{Value, json};

use crate::Manager;
use crate::program::labs;

pub struct Cluster {
    lab: Lab,
    /// Files of tests: logs of managers, kubeconfigs.
    folder: PathBuf,
}

impl Cluster {
    /// A control plane of a test's own, with the CRDs and kwok nodes; for tests that stop its
    /// services, elect leaders or install and uninstall sked.
    pub fn fresh(name: &str) -> Self {
        let cluster = Self::bare(name);
        cluster.install_crds();
        cluster
    }

    /// The same without the CRDs.
    pub fn bare(name: &str) -> Self {
        Self::up(&LabSpec {
            kwok: true,
            ..LabSpec::new(name, Topology::ControlPlane, &labs())
        })
    }

    pub fn up(order: &LabSpec) -> Self {
        let lab = Lab::up(order, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)));
        let folder = lab.state().path("e2e");
        std::fs::create_dir_all(&folder).unwrap();
        Self { lab, folder }
    }

    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    pub fn install_crds(&self) {
        for crd in sked_api::crd::all().unwrap() {
            self.apply(&serde_json::to_value(&crd).unwrap());
            let named = format!("crd/{}", crd.metadata.name.unwrap());
            self.kubectl(&["wait", "--for=condition=Established", &named]);
        }
    }

    /// Runs kubectl at the top of the checkout.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut kubectl = self.lab.kubectl().unwrap();
        kubectl.current_dir(crate::program::tree()).args(args);
        kubectl
    }

    /// Standard output of kubectl, which must succeed.
    #[track_caller]
    pub fn kubectl(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {}: {err}", args.join(" "));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn try_kubectl(&self, args: &[&str]) -> bool {
        self.run(args).status.success()
    }

    /// An object, if it exists: `kind/name` in a namespace.
    #[track_caller]
    pub fn get(&self, namespace: &str, what: &str) -> Option<Value> {
        let args = [
            "get",
            "-n",
            namespace,
            what,
            "-o",
            "json",
            "--ignore-not-found",
        ];
        serde_json::from_str(&self.kubectl(&args)).ok()
    }

    /// All objects of a kind, with further arguments for `kubectl get`.
    #[track_caller]
    pub fn list(&self, args: &[&str]) -> Vec<Value> {
        let out = self.kubectl(&[&["get", "-o", "json"], args].concat());
        let list: Value = serde_json::from_str(&out).unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// The value at a JSON pointer of an object; null when either does not exist.
    #[track_caller]
    pub fn field(&self, namespace: &str, what: &str, pointer: &str) -> Value {
        let object = self.get(namespace, what).unwrap_or_default();
        object.pointer(pointer).cloned().unwrap_or_default()
    }

    /// One condition of a SchedExt; null when it has none of this type.
    #[track_caller]
    pub fn condition(&self, namespace: &str, schedext: &str, kind: &str) -> Value {
        let what = format!("schedext/{schedext}");
        let conditions = self.field(namespace, &what, "/status/conditions");
        let conditions = conditions.as_array().cloned().unwrap_or_default();
        let mut conditions = conditions.into_iter();
        let found = conditions.find(|condition| condition["type"] == kind);
        found.unwrap_or_default()
    }

    #[track_caller]
    pub fn apply(&self, object: &Value) {
        let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        self.must_send(&args, object);
    }

    /// Quicker than [`Cluster::apply`], where the object cannot exist yet.
    #[track_caller]
    pub fn create(&self, object: &Value) {
        self.must_send(&["create", "-f", "-"], object);
    }

    #[track_caller]
    pub fn patch(&self, namespace: &str, what: &str, patch: &str) {
        self.kubectl(&["patch", "-n", namespace, what, "--type=json", "-p", patch]);
    }

    /// Why the API server rejects an object, which it must.
    #[track_caller]
    pub fn refusal(&self, object: &Value) -> String {
        let output = self.send(&["create", "-f", "-"], object);
        assert!(!output.status.success(), "accepted: {object}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    #[track_caller]
    fn must_send(&self, args: &[&str], object: &Value) {
        let output = self.send(args, object);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {args:?} {object}: {err}");
    }

    /// Runs kubectl with an object on its standard input.
    pub fn send(&self, args: &[&str], object: &Value) -> Output {
        let mut kubectl = self.command(args);
        let kubectl = kubectl
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut kubectl = kubectl.spawn().unwrap();
        let mut pipe = kubectl.stdin.take().unwrap();
        // A kubectl that does not read it reports why itself.
        let _ = pipe.write_all(object.to_string().as_bytes());
        drop(pipe);
        kubectl.wait_with_output().unwrap()
    }

    #[track_caller]
    pub fn schedext(&self, namespace: &str, name: &str, spec: &Value) {
        self.apply(&schedext(namespace, name, spec));
    }

    /// A Node object without a machine.
    #[track_caller]
    pub fn node_object(&self, name: &str, labels: &Value) {
        self.apply(&json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
        }));
    }

    /// The registry's address on this machine: plain HTTP.
    pub fn registry(&self) -> &str {
        &self.lab.running().registry
    }

    /// Writes a file of this name for a test.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    pub fn admin_kubeconfig(&self) -> &Path {
        self.lab.running().kubeconfig.as_ref().unwrap()
    }

    /// The administrator's kubeconfig, changed, as a file of this name.
    pub fn kubeconfig(&self, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
        let args = ["config", "view", "--raw", "-o", "json"];
        let mut config = serde_json::from_str(&self.kubectl(&args)).unwrap();
        change(&mut config);
        self.file(name, &config.to_string())
    }

    /// Starts a manager with the administrator's rights.
    pub fn manager(&self, args: &[&str]) -> Manager {
        self.sked("manager", self.admin_kubeconfig(), args)
    }

    /// Starts a manager and waits until its caches are filled.
    pub fn ready_manager(&self, args: &[&str]) -> Manager {
        self.manager(args).ready()
    }

    /// Starts `sked COMMAND` with this kubeconfig.
    pub fn sked(&self, command: &str, kubeconfig: &Path, args: &[&str]) -> Manager {
        Manager::start(command, kubeconfig, args, &self.folder)
    }

    /// Everything that is not in a namespace of a test's own: what a test must leave as it was.
    pub fn inventory(&self) -> BTreeSet<String> {
        let kinds = "namespaces,nodes,customresourcedefinitions,clusterroles,clusterrolebindings,\
                     validatingadmissionpolicies,validatingadmissionpolicybindings,\
                     validatingwebhookconfigurations,mutatingwebhookconfigurations,priorityclasses";
        // A namespace that is being deleted is as good as gone.
        let row = "{range .items[*]}{.kind}/{.metadata.name} {.metadata.deletionTimestamp}\
                   {.metadata.labels['sked\\.schedkit\\.io/owner']}{'\\n'}{end}";
        let rows = self.kubectl(&["get", kinds, "-o", &format!("jsonpath={row}")]);
        let rows = rows.lines().filter(|row| {
            let deleting = row
                .split_once(' ')
                .is_some_and(|(_, more)| !more.is_empty());
            !(row.starts_with("Namespace/") && deleting)
        });
        rows.map(|row| row.trim().to_owned()).collect()
    }
}

/// A SchedExt with this spec.
pub fn schedext(namespace: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "sked.schedkit.io/v1",
        "kind": "SchedExt",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    })
}
