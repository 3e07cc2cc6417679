//! A Kubernetes cluster of a lab, with or without nodes, and what tests ask of it through kubectl.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use http::Method;
use lab::{Event, Lab, LabSpec, Topology};
use serde_json::{Value, json};

use crate::api_client::{ApiClient, path, path_of};
use crate::manager::Manager;
use crate::program::labs;

pub struct Cluster {
    lab: Lab,
    api: ApiClient,
    /// Files of tests: logs of managers, kubeconfigs.
    folder: PathBuf,
}

impl Cluster {
    /// A control plane of a test's own, with the CRDs and kwok; for tests that stop its services
    /// or cannot share it otherwise.
    pub fn fresh(name: &str) -> Self {
        let cluster = Self::up(&LabSpec {
            kwok: true,
            ..LabSpec::new(name, Topology::ControlPlane, &labs())
        });
        cluster.install_crds();
        cluster
    }

    /// A control plane with nothing in it: no CRDs, no kwok.
    pub fn bare(name: &str) -> Self {
        Self::up(&LabSpec::new(name, Topology::ControlPlane, &labs()))
    }

    pub fn up(spec: &LabSpec) -> Self {
        let lab = Lab::up(spec, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)));
        let folder = lab.state().path("e2e");
        std::fs::create_dir_all(&folder).unwrap();
        let api = ApiClient::new(lab.running().kubeconfig.as_ref().unwrap());
        Self { lab, api, folder }
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

    /// Applies `config/default` over the CRDs. No machine runs the manager's pod, and an agent's
    /// pod is made for kwok nodes with the label `kubernetes.io/os: linux` only.
    pub fn apply_config_default(&self) {
        self.kubectl(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            "-k",
            "config/default",
        ]);
    }

    /// The text at a path of the API server.
    #[track_caller]
    pub(crate) fn raw(&self, path: &str) -> String {
        self.api.text(path).unwrap()
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
        let (kind, name) = what.split_once('/').unwrap();
        if let Some(path) = path(kind, namespace, Some(name)) {
            return self.api.json(&path).unwrap();
        }
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
        if let Some(path) = list_path(args) {
            let mut list = self.api.json(&path).unwrap().unwrap_or_default();
            return items(&mut list);
        }
        let out = self.kubectl(&[&["get", "-o", "json"], args].concat());
        items(&mut serde_json::from_str(&out).unwrap())
    }

    /// What `kubectl get -o json` prints for a kind and a name, or for what [`Cluster::list`] takes;
    /// null when there is no such object or the API server does not answer.
    pub fn read(&self, args: &[&str]) -> Value {
        let path = match args {
            [kind, name] if !name.starts_with('-') => path(kind, "default", Some(name)),
            _ => list_path(args),
        };
        if let Some(path) = path {
            return self.api.json(&path).ok().flatten().unwrap_or_default();
        }
        let output = self.run(&[&["get", "-o", "json"], args].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_default()
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
    pub fn has_reason(&self, namespace: &str, schedext: &str, kind: &str, reason: &str) -> bool {
        self.condition(namespace, schedext, kind)["reason"] == reason
    }

    #[track_caller]
    pub fn apply(&self, object: &Value) {
        if let Some(path) = path_of(object) {
            let path = format!("{path}?fieldManager=kubectl&force=true&fieldValidation=Strict");
            let kind = "application/apply-patch+yaml";
            let applied = self
                .api
                .send(&Method::PATCH, &path, kind, &object.to_string());
            return drop(applied.unwrap_or_else(|error| panic!("{error}\n{object}")));
        }
        let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        self.must_send(&args, object);
    }

    /// Quicker than [`Cluster::apply`], where the object cannot exist yet.
    #[track_caller]
    pub fn create(&self, object: &Value) {
        let path = path_of(object);
        let Some((path, _)) = path.as_deref().and_then(|path| path.rsplit_once('/')) else {
            return self.must_send(&["create", "-f", "-"], object);
        };
        let body = object.to_string();
        let created = self
            .api
            .send(&Method::POST, path, "application/json", &body);
        drop(created.unwrap_or_else(|error| panic!("{error}\n{object}")));
    }

    /// Deletes all objects of a kind in a namespace, if the API server does so.
    pub(crate) fn delete_all(&self, kind: &str, namespace: &str) {
        let path = path(kind, namespace, None).unwrap();
        let _ = self
            .api
            .send(&Method::DELETE, &path, "application/json", "");
    }

    #[track_caller]
    pub fn patch(&self, namespace: &str, what: &str, patch: &str) {
        let (kind, name) = what.split_once('/').unwrap();
        if let Some(path) = path(kind, namespace, Some(name)) {
            let kind = "application/json-patch+json";
            self.api.send(&Method::PATCH, &path, kind, patch).unwrap();
            return;
        }
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

    /// A Node object without a machine, and without kwok.
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
        self.sked_by(&[], command, kubeconfig, args)
    }

    /// The same through another program, such as `ip netns exec NAME`.
    pub(crate) fn sked_by(
        &self,
        launcher: &[&str],
        command: &str,
        kubeconfig: &Path,
        args: &[&str],
    ) -> Manager {
        Manager::start(launcher, command, kubeconfig, args, &self.folder)
    }

    /// The resource versions of objects (`kind/name`) in this namespace: equal when nobody wrote
    /// them.
    #[track_caller]
    pub fn versions(&self, namespace: &str, objects: &[&str]) -> Vec<Value> {
        let version = |what: &&str| self.field(namespace, what, "/metadata/resourceVersion");
        objects.iter().map(version).collect()
    }

    /// What a test must leave as it found it: one row `kind namespace/name` for each object that
    /// matters to others, with the owner label of a Node. Left out is what is being deleted, what is
    /// in a namespace that is being deleted, and what Kubernetes makes for itself.
    pub fn inventory(&self) -> BTreeSet<String> {
        let mut rows: Vec<_> = INVENTORY.iter().flat_map(|kind| self.rows(kind)).collect();
        let has_crds = rows
            .iter()
            .any(|(row, _)| row.ends_with("/schedextnodes.sked.schedkit.io"));
        if has_crds {
            rows.extend(self.rows("schedexts"));
            rows.extend(self.rows("schedextnodes"));
        }
        let deleted = rows.iter().filter(|(_, deleted)| *deleted);
        let namespaces = deleted
            .filter_map(|(row, _)| row.strip_prefix("namespaces /"))
            .chain(["kube-system", "kube-public", "kube-node-lease"]);
        let namespaces: Vec<String> = namespaces.map(|name| format!(" {name}/")).collect();
        let stays = |row: &str| {
            let own = row.starts_with("serviceaccounts ") && row.ends_with("/default");
            !own && !namespaces.iter().any(|name| row.contains(name))
        };
        let rows = rows.iter().filter(|(row, deleted)| !deleted && stays(row));
        rows.map(|(row, _)| row.clone()).collect()
    }

    /// All objects of a kind, and whether each is being deleted.
    fn rows(&self, kind: &str) -> Vec<(String, bool)> {
        let row = |object: &Value| {
            let metadata = &object["metadata"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let owner = text(&metadata["labels"]["sked.schedkit.io/owner"]);
            let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
            let row = format!("{kind} {namespace}/{name} {owner}");
            let deleted = metadata["deletionTimestamp"].is_string();
            (row.trim_end().to_owned(), deleted)
        };
        self.list(&[kind, "-A"]).iter().map(row).collect()
    }
}

/// The kinds that [`Cluster::inventory`] lists always.
const INVENTORY: [&str; 18] = [
    "namespaces",
    "nodes",
    "customresourcedefinitions",
    "clusterroles",
    "clusterrolebindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
    "priorityclasses",
    "daemonsets",
    "deployments",
    "roles",
    "rolebindings",
    "serviceaccounts",
    "resourcequotas",
];

/// The path for arguments of `kubectl get`, if it is a simple question.
fn list_path(args: &[&str]) -> Option<String> {
    let (kind, options) = args.split_first()?;
    let (mut namespace, mut query) = ("default", String::new());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "-A" => namespace = "",
            "-n" => namespace = options.next()?,
            "-l" => query = format!("?labelSelector={}", options.next()?),
            _ => return None,
        }
    }
    path(kind, namespace, None).map(|path| path + &query)
}

fn items(list: &mut Value) -> Vec<Value> {
    match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
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
