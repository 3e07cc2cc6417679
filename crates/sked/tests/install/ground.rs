//! The control plane that all tests of this program share, and the people who speak to it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use lab::cache::Cache;
use lab::parts::install_tool::{self, InstallTool};
use lab::parts::monitoring;
use lab::progress::Reporter;
use lab::{CommandOutput, Lab, LabSpec, Topology};
use serde_json::{Value, json};

/// Generous: the processors are shared.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How long kubectl may wait for a definition to go. The API server forgets a deletion that failed
/// because the storage was not up yet and then met a conflict; it looks again every five minutes.
pub(crate) const DEFINITIONS_GO: &str = "--timeout=400s";

/// The account that the manager has.
pub(crate) const MANAGER: &str = "sked-controller-manager";

/// The tree that is installed from.
pub(crate) fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// One control plane for all tests of this program; it ends with this process.
pub(crate) fn lab() -> &'static Lab {
    static LAB: OnceLock<Lab> = OnceLock::new();
    LAB.get_or_init(|| {
        let order = LabSpec::new("test-install", Topology::ControlPlane, &tree().join(".lab"));
        Lab::up(&order, |_| {}).unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)))
    })
}

/// sked is installed once in a cluster, so one test has the cluster at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder with the definitions of Prometheus' operator.
pub(crate) fn monitoring() -> PathBuf {
    monitoring::make(&cache(), &Reporter::new(std::io::sink())).unwrap()
}

fn cache() -> Cache {
    Cache::new(LabSpec::new("none", Topology::ControlPlane, Path::new(".lab")).cache)
}

/// kustomize or helm, as `make` has them.
pub(crate) fn tool(tool: InstallTool) -> PathBuf {
    install_tool::make(&cache(), tool, &Reporter::new(std::io::sink())).unwrap()
}

/// The administrator.
pub(crate) fn kubectl(words: &[&str]) -> CommandOutput {
    said(lab().kubectl().unwrap().current_dir(tree()).args(words))
}

/// The administrator, who must succeed.
pub(crate) fn must(words: &[&str]) -> String {
    let said = kubectl(words);
    assert_eq!(
        said.status,
        0,
        "kubectl {}: {}",
        words.join(" "),
        said.stderr
    );
    said.stdout
}

/// The administrator applies objects.
pub(crate) fn apply(objects: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let mut command = lab().kubectl().unwrap();
    command.args(["apply", "-f", "-"]);
    let said = tell(&mut command, &list);
    assert_eq!(said.status, 0, "{}\n{list:#}", said.stderr);
}

/// Manifests of a file (`-f`) or a folder of kustomize's (`-k`), each object by itself, as kubectl
/// reads them; nothing is asked of the API server.
pub(crate) fn read_as_kubectl(option: &str, place: &str) -> Vec<Value> {
    let words = [
        "create",
        "--dry-run=client",
        "--validate=false",
        "-o",
        "json",
    ];
    let out = must(&[&words[..], &[option, place]].concat());
    // One document an object, or one list.
    let documents = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
    let objects = documents.map(Result::unwrap).flat_map(|object| {
        let items = object["items"].as_array().cloned();
        items.unwrap_or_else(|| vec![object])
    });
    objects.collect()
}

/// An object as JSON.
pub(crate) fn get(words: &[&str]) -> Value {
    let out = must(&[&["get", "-o", "json"], words].concat());
    serde_json::from_str(&out).unwrap()
}

/// Somebody other than the administrator.
pub(crate) enum Person {
    /// By impersonation, which the API server treats as the person himself.
    User(String),
    /// By a token of a service account: a configuration with nothing else in it.
    Token(tempfile::TempDir),
}

impl Person {
    pub(crate) fn user(name: &str) -> Self {
        Self::User(name.to_owned())
    }

    /// Whoever holds a token of this account.
    pub(crate) fn holding_token_of(account: &str, namespace: &str) -> Self {
        Self::with_token(&must(&["create", "token", account, "-n", namespace]))
    }

    /// Whoever holds this token.
    pub(crate) fn with_token(token: &str) -> Self {
        let mut config: Value =
            serde_json::from_str(&must(&["config", "view", "--raw", "-o", "json"])).unwrap();
        // The administrator's certificate would be believed first.
        config["users"][0]["user"] = json!({"token": token.trim()});
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), config.to_string()).unwrap();
        Self::Token(folder)
    }

    fn kubectl(&self) -> Command {
        let mut kubectl = lab().kubectl().unwrap();
        match self {
            Self::User(name) => kubectl.arg(format!("--as={name}")),
            Self::Token(folder) => kubectl.env("KUBECONFIG", folder.path().join("config")),
        };
        kubectl
    }

    /// Says something.
    pub(crate) fn says(&self, words: &[&str]) -> CommandOutput {
        said(self.kubectl().args(words))
    }

    /// Hands an object over with `create`, `apply` or `replace`.
    pub(crate) fn hands(&self, verb: &str, object: &Value) -> CommandOutput {
        tell(self.kubectl().args([verb, "-f", "-"]), object)
    }
}

/// What was allowed.
#[track_caller]
pub(crate) fn allowed(said: &CommandOutput) {
    assert_eq!(said.status, 0, "{}", said.stderr);
}

/// What was refused, with these words in the sentence.
#[track_caller]
pub(crate) fn refused(said: &CommandOutput, words: &str) {
    assert_ne!(said.status, 0, "allowed: {}", said.stdout);
    assert!(
        said.stderr.contains(words),
        "{words:?} is not in: {}",
        said.stderr
    );
}

/// kubectl gets an object before it patches it; sked does not, and has no right to. Whoever plays
/// the manager or an agent with kubectl is lent that right.
pub(crate) fn let_kubectl_look(account: &str, home: &str) {
    let get = |group: &str, what: &str| json!({"apiGroups": [group], "resources": [what], "verbs": ["get"]});
    let kind = |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "looks"}});
    let [mut role, mut binding] = [kind("ClusterRole"), kind("ClusterRoleBinding")];
    role["rules"] = json!([
        get("", "nodes"),
        get("", "pods"),
        get("", "pods/status"),
        get("sked.schedkit.io", "schedexts"),
        get("sked.schedkit.io", "schedexts/status"),
        get("sked.schedkit.io", "schedextnodes/status")
    ]);
    binding["roleRef"] =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looks"});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": account, "namespace": home}]);
    apply(&[role, binding]);
}

/// Asks until the answer is there.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            begin.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Everything of `config/default` is there, the resource is served, and the policies are in force.
pub(crate) fn install() {
    must(&["apply", "-k", "config/default"]);
    let wait = ["wait", "--for=condition=Established", "--timeout=60s"];
    for crd in ["schedexts", "schedextnodes"] {
        must(&[&wait[..], &[&format!("crd/{crd}.sked.schedkit.io")]].concat());
    }
    // The API server learns of a policy by watching: until then it refuses nothing.
    let nobody = Person::user("nobody-in-particular");
    apply(&[
        namespace("warm-up"),
        role(
            "warm-up",
            "writes",
            &[("sked.schedkit.io", "schedexts", "*")],
        ),
        bound("warm-up", "writes", "nobody-in-particular"),
    ]);
    eventually("the policy for authors is in force", || {
        let said = nobody.hands("create", &schedext("warm-up", "probe", json!({})));
        if said.status == 0 {
            must(&["delete", "schedext", "probe", "-n", "warm-up"]);
        }
        (said.stderr.contains("ValidatingAdmissionPolicy")).then_some(())
    });
}

/// A SchedExt with an image and these fields besides.
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

/// A role with group, resource and verb each.
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

fn tell(command: &mut Command, object: &Value) -> CommandOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(object.to_string().as_bytes()).unwrap();
    drop(pipe);
    heard(&child.wait_with_output().unwrap())
}

/// Runs a program to its end.
pub(crate) fn said(command: &mut Command) -> CommandOutput {
    heard(&command.output().unwrap())
}

fn heard(output: &std::process::Output) -> CommandOutput {
    CommandOutput {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}
