//! Requests to the API server without a process for each. Tests ask ten times a second, and one
//! kubectl costs more processor time than all of what it asks about.

use std::path::Path;
use std::sync::mpsc;

use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::Runtime;

const CORE: &str = "api/v1";
const APPS: &str = "apis/apps/v1";
const RBAC: &str = "apis/rbac.authorization.k8s.io/v1";
const ADMISSION: &str = "apis/admissionregistration.k8s.io/v1";
const SKED: &str = "apis/sked.schedkit.io/v1";

/// Kinds that tests ask for often: group and version, singular, plural, whether in namespaces.
/// kubectl looks the others up.
const KINDS: &[(&str, &str, &str, bool)] = &[
    (CORE, "configmap", "configmaps", true),
    (CORE, "event", "events", true),
    (CORE, "namespace", "namespaces", false),
    (CORE, "node", "nodes", false),
    (CORE, "pod", "pods", true),
    (CORE, "resourcequota", "resourcequotas", true),
    (CORE, "serviceaccount", "serviceaccounts", true),
    (APPS, "daemonset", "daemonsets", true),
    (APPS, "deployment", "deployments", true),
    (RBAC, "clusterrole", "clusterroles", false),
    (RBAC, "clusterrolebinding", "clusterrolebindings", false),
    (RBAC, "role", "roles", true),
    (RBAC, "rolebinding", "rolebindings", true),
    (SKED, "schedext", "schedexts", true),
    (SKED, "schedextnode", "schedextnodes", false),
    (
        "apis/apiextensions.k8s.io/v1",
        "customresourcedefinition",
        "customresourcedefinitions",
        false,
    ),
    (
        "apis/scheduling.k8s.io/v1",
        "priorityclass",
        "priorityclasses",
        false,
    ),
    (
        ADMISSION,
        "validatingadmissionpolicy",
        "validatingadmissionpolicies",
        false,
    ),
    (
        ADMISSION,
        "validatingadmissionpolicybinding",
        "validatingadmissionpolicybindings",
        false,
    ),
    (
        ADMISSION,
        "mutatingadmissionpolicy",
        "mutatingadmissionpolicies",
        false,
    ),
    (
        ADMISSION,
        "mutatingadmissionpolicybinding",
        "mutatingadmissionpolicybindings",
        false,
    ),
    (
        ADMISSION,
        "validatingwebhookconfiguration",
        "validatingwebhookconfigurations",
        false,
    ),
    (
        ADMISSION,
        "mutatingwebhookconfiguration",
        "mutatingwebhookconfigurations",
        false,
    ),
];

/// The path of a kind's objects (of all namespaces when `namespace` is empty), or of one of them.
pub(crate) fn path(kind: &str, namespace: &str, name: Option<&str>) -> Option<String> {
    let kind = kind.to_lowercase();
    let kind = match kind.as_str() {
        "sx" => "schedext",
        "sxn" => "schedextnode",
        kind => kind,
    };
    let known = |(_, one, many, _): &&(&str, &str, &str, bool)| kind == *one || kind == *many;
    let (group, _, plural, namespaced) = KINDS.iter().find(known)?;
    let namespace = match (namespaced, namespace) {
        (true, namespace) if !namespace.is_empty() => format!("namespaces/{namespace}/"),
        _ => String::new(),
    };
    let name = name.map(|name| format!("/{name}")).unwrap_or_default();
    Some(format!("/{group}/{namespace}{plural}{name}"))
}

/// The path of an object.
pub(crate) fn path_of(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or("default");
    path(
        object["kind"].as_str()?,
        namespace,
        metadata["name"].as_str(),
    )
}

pub(crate) struct ApiClient {
    runtime: BackgroundRuntime,
    client: Client,
}

/// A runtime that an asynchronous test can wait for and drop, too.
struct BackgroundRuntime(Option<Runtime>);

impl BackgroundRuntime {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        Self(Some(runtime.unwrap()))
    }

    fn wait_for<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        let runtime = self.0.as_ref().unwrap();
        runtime.spawn(async move { sender.send(work.await) });
        receiver.recv().unwrap()
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl ApiClient {
    pub(crate) fn new(kubeconfig: &Path) -> Self {
        let runtime = BackgroundRuntime::new();
        let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
        let client = runtime.wait_for(async move {
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            Client::try_from(config.unwrap()).unwrap()
        });
        Self { runtime, client }
    }

    pub(crate) fn text(&self, path: &str) -> Result<String, kube::Error> {
        let once = || self.send(&Method::GET, path, "application/json", "");
        match once() {
            // An API server that was stopped leaves a connection that is of no use.
            Err(error) if !matches!(error, kube::Error::Api(_)) => once(),
            result => result,
        }
    }

    /// None: there is no such object.
    pub(crate) fn json(&self, path: &str) -> Result<Option<Value>, kube::Error> {
        match self.text(path) {
            Ok(text) => Ok(Some(serde_json::from_str(&text).unwrap())),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn send(
        &self,
        method: &Method,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> Result<String, kube::Error> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", content_type);
        let request = request.body(body.as_bytes().to_vec()).unwrap();
        let client = self.client.clone();
        self.runtime
            .wait_for(async move { client.request_text(request).await })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_have_their_paths() {
        let of = |kind: &str, namespace: &str, name| path(kind, namespace, name).unwrap();
        assert_eq!(of("nodes", "default", None), "/api/v1/nodes");
        assert_eq!(of("pods", "", None), "/api/v1/pods");
        assert_eq!(
            of("daemonset", "a", Some("b")),
            "/apis/apps/v1/namespaces/a/daemonsets/b"
        );
        let object = json!({"kind": "SchedExt", "metadata": {"name": "b"}});
        assert_eq!(
            path_of(&object).unwrap(),
            "/apis/sked.schedkit.io/v1/namespaces/default/schedexts/b"
        );
        assert_eq!(path("pods,nodes", "", None), None);
    }
}
