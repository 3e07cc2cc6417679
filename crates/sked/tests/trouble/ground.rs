//! The control plane that all tests of this program share, and ways to look at it.

use std::sync::LazyLock;

use lab::counters::{Counter, counters};
use serde_json::{Value, json};

use crate::support::Cluster;

/// Ends with this process.
pub(crate) static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::crowd("test-trouble"));

/// Nodes of a test's own, `<name>-0` and so on, with the label `in: <name>`. Gone with the value.
pub(crate) struct Nodes(&'static str);

impl Nodes {
    pub(crate) fn new(name: &'static str, count: usize) -> Self {
        let (crowd, played) = lab::kwok::LABEL;
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
    let text = CLUSTER.kubectl(&["get", "--raw", "/metrics"]);
    let is_meant = |counter: &Counter<'_>| {
        let said = ["verb", "resource", "subresource"].map(|name| counter.label(name));
        said == [verb, resource, part]
            && code.is_none_or(|code| counter.label("code") == code.to_string())
    };
    let all = counters(&text, "apiserver_request_total");
    all.filter(is_meant).map(|counter| counter.count).sum()
}

/// How often the API server has found that somebody lacks a right: it does not count such requests
/// as requests.
pub(crate) fn denials() -> u64 {
    let text = CLUSTER.kubectl(&["get", "--raw", "/metrics"]);
    let all = counters(&text, "authorization_attempts_total");
    let denied = all.filter(|counter| counter.label("result") != "allowed");
    denied.map(|counter| counter.count).sum()
}
