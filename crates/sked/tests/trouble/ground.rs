//! The control plane that all tests of this program share, and ways to look at it.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::support::Cluster;

/// Ends with this process.
pub(crate) static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::crowd("test-trouble"));

/// Nodes of a test's own, `<name>-0` and so on, with the label `in: <name>`. Gone with the value.
pub(crate) struct Nodes(&'static str);

impl Nodes {
    pub(crate) fn new(name: &'static str, count: usize) -> Self {
        let (crowd, played) = lab::crowd::LABEL;
        let node = |number| {
            let host = format!("{name}-{number}");
            let labels = json!({crowd: played, "in": name, "kubernetes.io/hostname": host});
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": host, "labels": labels},
            })
        };
        let nodes: Vec<_> = (0..count).map(node).collect();
        CLUSTER.create(&json!({"apiVersion": "v1", "kind": "List", "items": nodes}));
        Self(name)
    }

    /// A spec that asks for all of them.
    pub(crate) fn wanted(&self) -> Value {
        json!({"sched": "registry.example/a:1", "nodeSelector": {"in": self.0}})
    }

    /// What the owner label says of those that are there.
    pub(crate) fn owners(&self) -> Vec<Value> {
        let selector = format!("in={}", self.0);
        let nodes = CLUSTER.kubectl(&["get", "nodes", "-l", &selector, "-o", "json"]);
        let nodes: Value = serde_json::from_str(&nodes).unwrap();
        let nodes = nodes["items"].as_array().unwrap().iter();
        let label = "sked.schedkit.io/owner";
        nodes
            .map(|node| node["metadata"]["labels"][label].clone())
            .collect()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        let selector = format!("in={}", self.0);
        CLUSTER.kubectl(&["delete", "nodes", "-l", &selector, "--wait=false"]);
    }
}

/// One condition of a SchedExt.
pub(crate) fn condition(namespace: &str, name: &str, kind: &str) -> Value {
    let conditions = CLUSTER.look(namespace, &format!("schedext/{name}"), "/status/conditions");
    let conditions = conditions.as_array().cloned().unwrap_or_default();
    let mut found = conditions.into_iter();
    let found = found.find(|condition| condition["type"] == kind);
    found.unwrap_or_default()
}

/// Whether this condition has that reason.
pub(crate) fn says(namespace: &str, name: &str, kind: &str, reason: &str) -> bool {
    condition(namespace, name, kind)["reason"] == reason
}

/// The versions of objects, each `kind/name` in this namespace: equal when nobody wrote them.
pub(crate) fn versions(namespace: &str, what: &[&str]) -> Vec<Value> {
    let version = |what: &&str| CLUSTER.look(namespace, what, "/metadata/resourceVersion");
    what.iter().map(version).collect()
}

/// How often the API server was asked for this, by its own count; with this answer, if one is
/// named.
pub(crate) fn requests(verb: &str, resource: &str, code: Option<u16>) -> u64 {
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    let wanted = [
        ("verb", verb.to_owned()),
        ("resource", resource.to_owned()),
        ("subresource", part.to_owned()),
        ("code", code.map_or(String::new(), |code| code.to_string())),
    ];
    let text = CLUSTER.kubectl(&["get", "--raw", "/metrics"]);
    let count = |line: &str| {
        let (labels, value) = line
            .strip_prefix("apiserver_request_total{")?
            .rsplit_once("} ")?;
        let has = |(name, value): &(&str, String)| {
            let any = *name == "code" && value.is_empty();
            any || labels.contains(&format!("{name}=\"{value}\""))
        };
        wanted
            .iter()
            .all(has)
            .then(|| value.parse::<f64>().unwrap())
    };
    text.lines().filter_map(count).sum::<f64>() as u64
}

/// How often the API server has found that somebody lacks a right: it does not count such requests
/// as requests.
pub(crate) fn denials() -> u64 {
    let text = CLUSTER.kubectl(&["get", "--raw", "/metrics"]);
    let count = |line: &str| {
        let rest = line.strip_prefix("authorization_attempts_total{")?;
        let (labels, value) = rest.rsplit_once("} ")?;
        let denied = !labels.contains("result=\"allowed\"");
        denied.then(|| value.parse::<f64>().unwrap())
    };
    text.lines().filter_map(count).sum::<f64>() as u64
}
