//! Nodes that are objects only: kwok takes the place of their kubelets, so their pods run at once.
//! No kernel is behind any of it.

use serde_json::{Value, json};

use crate::cluster::Cluster;

/// Nodes of one test, `<name>-0` and so on, with the label `in: <name>`. They have no label
/// `kubernetes.io/os`, so no node agent of `config/default` runs there. Deleted when dropped.
pub struct KwokNodes<'a> {
    cluster: &'a Cluster,
    name: &'static str,
}

impl<'a> KwokNodes<'a> {
    #[track_caller]
    pub fn new(cluster: &'a Cluster, name: &'static str, count: usize) -> Self {
        let node = |number| {
            let host = format!("{name}-{number}");
            node(&host, &json!({"in": name}))
        };
        for number in 0..count {
            cluster.create(&node(number));
        }
        Self { cluster, name }
    }

    /// The spec of a SchedExt that selects all of them.
    pub fn selecting_spec(&self) -> Value {
        json!({"sched": "registry.example/a:1", "nodeSelector": {"in": self.name}})
    }

    /// The owner labels of those that exist.
    pub fn owners(&self) -> Vec<Value> {
        let selector = format!("in={}", self.name);
        let nodes = self.cluster.list(&["nodes", "-l", &selector]);
        let label = "sked.schedkit.io/owner";
        let owners = nodes
            .iter()
            .map(|node| node["metadata"]["labels"][label].clone());
        owners.collect()
    }
}

impl Drop for KwokNodes<'_> {
    fn drop(&mut self) {
        let selector = format!("in={}", self.name);
        self.cluster
            .run(&["delete", "nodes", "-l", &selector, "--wait=false"]);
    }
}

/// The Node object of one kwok node, with these labels and its hostname.
pub fn node(name: &str, labels: &Value) -> Value {
    let (key, value) = lab::kwok::LABEL;
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {key: value, "kubernetes.io/hostname": name}},
    });
    for (key, value) in labels.as_object().into_iter().flatten() {
        node["metadata"]["labels"][key] = value.clone();
    }
    node
}
