//! What this story does and asks on its two nodes.

use lab::static_program::{self, Profile};
use lab::{Daemon, Node};
use serde_json::Value;

use crate::site::Site;

pub(crate) const NODES: [&str; 2] = ["node1", "node2"];
/// What the agents' pods carry.
const AGENT: &str = "app.kubernetes.io/component=node-agent";

impl Site {
    /// schedctl onto a node, with what it must know of the registry.
    pub(crate) fn bring_schedctl(&self, node: &Node<'_>) {
        let program = static_program::build("schedctl", Profile::Debug).unwrap();
        node.put(&program, "/usr/local/bin/schedctl", 0o755)
            .unwrap();
        let registry = &self.lab.running().registry_on_nodes;
        let settings = format!("[registry.\"{registry}\"]\nsecurity = \"plain-http\"\n");
        let file = "/etc/schedctl/config.toml";
        node.write(file, settings.as_bytes(), 0o644).unwrap();
        node.start(Daemon::Podman).unwrap();
    }

    /// Whether kubectl succeeds.
    pub(crate) fn tried(&self, words: &[&str]) -> bool {
        self.command(words).output().unwrap().status.success()
    }

    /// What makes the schedulers' pods the same: their uids and how often their containers began.
    pub(crate) fn schedulers(&self) -> Vec<(String, String, i64)> {
        let pods = self.get(&["pods", "-l", "managed-by=sked-controller"]);
        let mut found: Vec<_> = pods["items"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .iter()
            .map(|pod| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let restarts = &pod["status"]["containerStatuses"][0]["restartCount"];
                (
                    text(&pod["spec"]["nodeName"]),
                    text(&pod["metadata"]["uid"]),
                    restarts.as_i64().unwrap_or_default(),
                )
            })
            .collect();
        assert!(!found.is_empty(), "no scheduler has a pod");
        found.sort();
        found
    }

    pub(crate) fn agents_ready(&self) -> bool {
        let pods = self.get(&["pods", "-n", "sked-system", "-l", AGENT]);
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let ready = |pod: &&Value| {
            let conditions = pod["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
        };
        pods.len() == NODES.len() && pods.iter().filter(ready).count() == NODES.len()
    }
}
