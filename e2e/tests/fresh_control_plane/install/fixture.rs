//! The control plane of these tests, with sked installed or not, and the users who ask it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use lab::CommandOutput;
use lab::cache::Cache;
use lab::parts::helm;
use lab::parts::monitoring;
use lab::progress::Reporter;
use lab::{LabSpec, Topology};
use serde_json::{Value, json};
use testkit::wait::TIMEOUT;
use testkit::{Cluster, Shared};

/// How long kubectl may wait until CRDs are deleted. The API server forgets a deletion that failed
/// because the storage was not up yet and then met a conflict; it looks again every five minutes.
pub(crate) const DELETE_TIMEOUT: &str = "--timeout=400s";

/// Namespaces that several tests use: one that is deleted could not be created again at once.
pub(crate) const TEAM: &str = "team";
pub(crate) const ATTACKED: &str = "attacked";
/// Where [`AUTHOR`] may write SchedExts and may not create DaemonSets: the admission policy rejects
/// that when it is in force.
const PROBED: &str = "probed";
const AUTHOR: &str = "author-without-daemonsets";

/// The service account of the manager.
pub(crate) const MANAGER: &str = "sked-controller-manager";

/// A turn on the control plane with everything of `config/default`, and its policies in force.
pub(crate) fn installed() -> Shared {
    with(Installation::ConfigDefault)
}

/// A turn on the control plane with nothing of sked.
pub(crate) fn uninstalled() -> Shared {
    with(Installation::Nothing)
}

/// A turn on the control plane for a test that does not depend on what is installed.
pub(crate) fn any() -> Shared {
    Shared::new(cluster)
}

#[derive(Clone, Copy, PartialEq)]
enum Installation {
    Nothing,
    ConfigDefault,
}

/// A test leaves the control plane as it found it, so the installation lasts until another one is
/// asked for.
fn with(wanted: Installation) -> Shared {
    static CURRENT: Mutex<Installation> = Mutex::new(Installation::Nothing);
    Shared::new(|| {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != wanted {
            match wanted {
                Installation::Nothing => uninstall(),
                Installation::ConfigDefault => install(),
            }
            *current = wanted;
        }
        cluster()
    })
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let cluster = Cluster::bare("e2e-installations");
        for namespace in [TEAM, ATTACKED, PROBED] {
            cluster.kubectl(&["create", "namespace", namespace]);
        }
        let schedexts = ("sked.schedkit.io", "schedexts", "*");
        cluster.apply(&role(PROBED, "writes", &[schedexts]));
        cluster.apply(&bound(PROBED, "writes", AUTHOR));
        cluster
    })
}

/// A folder with the CRDs of Prometheus' operator.
pub(crate) fn monitoring() -> PathBuf {
    monitoring::make(&cache(), &Reporter::new(std::io::sink())).unwrap()
}

fn cache() -> Cache {
    Cache::new(LabSpec::new("none", Topology::ControlPlane, Path::new(".lab")).cache)
}

pub(crate) fn helm_program() -> PathBuf {
    helm::make(&cache(), &Reporter::new(std::io::sink())).unwrap()
}

/// Runs kubectl as the administrator, at the top of the checkout.
pub(crate) fn kubectl(args: &[&str]) -> CommandOutput {
    run(&mut cluster().command(args))
}

/// Runs kubectl as the administrator; it must succeed.
#[track_caller]
pub(crate) fn must(args: &[&str]) -> String {
    cluster().kubectl(args)
}

/// Applies objects as the administrator.
#[track_caller]
pub(crate) fn apply(objects: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let applied = send(&mut cluster().command(&["apply", "-f", "-"]), &list);
    assert_eq!(applied.status, 0, "{}\n{list:#}", applied.stderr);
}

/// The objects of a file (`-f`) or a kustomization (`-k`), as kubectl parses them; the API server is
/// not asked.
pub(crate) fn read_as_kubectl(option: &str, path: &str) -> Vec<Value> {
    let args = [
        "create",
        "--dry-run=client",
        "--validate=false",
        "-o",
        "json",
    ];
    let out = must(&[&args[..], &[option, path]].concat());
    // One document for each object, or one list.
    let documents = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
    let objects = documents.map(Result::unwrap).flat_map(|object| {
        let items = object["items"].as_array().cloned();
        items.unwrap_or_else(|| vec![object])
    });
    objects.collect()
}

/// Objects as JSON.
#[track_caller]
pub(crate) fn get(args: &[&str]) -> Value {
    let out = must(&[&["get", "-o", "json"], args].concat());
    serde_json::from_str(&out).unwrap()
}

/// A user other than the administrator.
pub(crate) enum User {
    /// By impersonation, which the API server treats as the user itself.
    Impersonated(String),
    /// By a token of a service account: a folder with a kubeconfig that has nothing else.
    Token(tempfile::TempDir),
}

impl User {
    pub(crate) fn named(name: &str) -> Self {
        Self::Impersonated(name.to_owned())
    }

    /// The holder of a token of this account.
    pub(crate) fn holding_token_of(account: &str, namespace: &str) -> Self {
        Self::with_token(&must(&["create", "token", account, "-n", namespace]))
    }

    /// The holder of this token.
    pub(crate) fn with_token(token: &str) -> Self {
        let mut config: Value =
            serde_json::from_str(&must(&["config", "view", "--raw", "-o", "json"])).unwrap();
        // The administrator's certificate would take precedence.
        config["users"][0]["user"] = json!({"token": token.trim()});
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), config.to_string()).unwrap();
        Self::Token(folder)
    }

    fn kubectl(&self) -> Command {
        let mut kubectl = cluster().command(&[]);
        match self {
            Self::Impersonated(name) => kubectl.arg(format!("--as={name}")),
            Self::Token(folder) => kubectl.env("KUBECONFIG", folder.path().join("config")),
        };
        kubectl
    }

    /// Runs kubectl as this user.
    pub(crate) fn runs(&self, args: &[&str]) -> CommandOutput {
        run(self.kubectl().args(args))
    }

    /// Runs kubectl with `create`, `apply` or `replace` and this object.
    pub(crate) fn sends(&self, verb: &str, object: &Value) -> CommandOutput {
        send(self.kubectl().args([verb, "-f", "-"]), object)
    }
}

#[track_caller]
pub(crate) fn allowed(output: &CommandOutput) {
    assert_eq!(output.status, 0, "{}", output.stderr);
}

/// With this text in the message.
#[track_caller]
pub(crate) fn rejected(output: &CommandOutput, text: &str) {
    assert_ne!(output.status, 0, "allowed: {}", output.stdout);
    assert!(
        output.stderr.contains(text),
        "{text:?} is not in: {}",
        output.stderr
    );
}

/// kubectl gets an object before it patches it; sked does not, and has no right to. A test that acts
/// as the manager or an agent with kubectl gives its account that right, until it is dropped.
pub(crate) struct RightToGet;

impl RightToGet {
    pub(crate) fn grant(account: &str, namespace: &str) -> Self {
        let get = |group: &str, what: &str| json!({"apiGroups": [group], "resources": [what], "verbs": ["get"]});
        let kind = |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "right-to-get"}});
        let [mut role, mut binding] = [kind("ClusterRole"), kind("ClusterRoleBinding")];
        role["rules"] = json!([
            get("", "nodes"),
            get("", "pods"),
            get("", "pods/status"),
            get("sked.schedkit.io", "schedexts"),
            get("sked.schedkit.io", "schedexts/status"),
            get("sked.schedkit.io", "schedextnodes/status")
        ]);
        binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "right-to-get"});
        binding["subjects"] =
            json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}]);
        apply(&[role, binding]);
        Self
    }
}

impl Drop for RightToGet {
    fn drop(&mut self) {
        let kinds = "clusterrolebinding,clusterrole";
        kubectl(&["delete", kinds, "right-to-get", "--ignore-not-found"]);
    }
}

/// Nodes without machines, deleted when dropped.
pub(crate) struct Nodes(&'static [&'static str]);

impl Nodes {
    pub(crate) fn new(names: &'static [&'static str], labels: &Value) -> Self {
        let node = |name: &&str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
        apply(&names.iter().map(node).collect::<Vec<_>>());
        Self(names)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        kubectl(&[&["delete", "nodes"], self.0].concat());
        // No kubelet ends the pods, and the garbage collector takes a minute.
        for node in self.0 {
            let pods = format!("--field-selector=spec.nodeName={node}");
            let delete = ["delete", "pods", "-A", "--force", "--grace-period=0"];
            kubectl(&[&delete[..], &[&pods]].concat());
        }
    }
}

#[track_caller]
pub(crate) fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    testkit::eventually(what, TIMEOUT, ask)
}

/// Applies `config/default` and waits until the CRDs are served and the policies are in force.
pub(crate) fn install() {
    must(&["apply", "-k", "config/default"]);
    let wait = ["wait", "--for=condition=Established", "--timeout=180s"];
    for crd in ["schedexts", "schedextnodes"] {
        must(&[&wait[..], &[&format!("crd/{crd}.sked.schedkit.io")]].concat());
    }
    // The API server learns of a policy through a watch: until then it allows everything.
    let author = User::named(AUTHOR);
    eventually("the policy for authors is in force", || {
        let created = author.sends("create", &schedext(PROBED, "probe", json!({})));
        if created.status == 0 {
            must(&["delete", "schedext", "probe", "-n", PROBED]);
        }
        created
            .stderr
            .contains("ValidatingAdmissionPolicy")
            .then_some(())
    });
}

pub(crate) fn uninstall() {
    let delete = ["delete", "-k", "config/default", "--ignore-not-found"];
    must(&[&delete[..], &[DELETE_TIMEOUT]].concat());
}

/// A SchedExt with an image and these fields.
pub(crate) fn schedext(namespace: &str, name: &str, more: Value) -> Value {
    let mut spec = json!({"sched": "registry.example/scx_lab:1"});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    json!({
        "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A role with these groups, resources and verbs.
pub(crate) fn role(namespace: &str, name: &str, grants: &[(&str, &str, &str)]) -> Value {
    let rules: Vec<_> = grants
        .iter()
        .map(|(group, resource, verb)| json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]}))
        .collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": name, "namespace": namespace}, "rules": rules,
    })
}

/// The user has the role of that name in the namespace.
pub(crate) fn bound(namespace: &str, role: &str, user: &str) -> Value {
    binding(namespace, "Role", role, user)
}

/// The user has the cluster's role in this namespace only.
pub(crate) fn bound_to_cluster_role(namespace: &str, role: &str, user: &str) -> Value {
    binding(namespace, "ClusterRole", role, user)
}

fn binding(namespace: &str, kind: &str, role: &str, user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": format!("{user}-{role}"), "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

fn send(command: &mut Command, object: &Value) -> CommandOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(object.to_string().as_bytes()).unwrap();
    drop(pipe);
    output_of(&child.wait_with_output().unwrap())
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> CommandOutput {
    output_of(&command.output().unwrap())
}

pub(crate) fn output_of(output: &std::process::Output) -> CommandOutput {
    CommandOutput {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}
