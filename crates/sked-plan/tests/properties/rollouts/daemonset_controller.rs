//! The DaemonSet controller: which pods there should be, and the rolling update as Kubernetes does
//! it.

use jiff::SignedDuration;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sked_plan::{Node, NodeName, Uid};

use super::world::{Container, Pod, World};
use crate::kube::{self, Verdict};

impl World {
    pub(crate) fn run_daemonset_controller(&mut self) {
        self.remove_pods();
        for daemonset in self.daemonsets.clone() {
            self.create_pods(&daemonset);
            self.update(&daemonset);
            self.count(&daemonset["metadata"]["uid"]);
        }
    }

    fn count(&mut self, uid: &Value) {
        let mut all = self.daemonsets.iter().cloned();
        let mut daemonset = all.find(|one| one["metadata"]["uid"] == *uid).unwrap();
        let latest = hash(&daemonset["spec"]["template"]);
        let nodes = self.nodes.iter();
        let desired = nodes.filter(|node| verdict(&daemonset, node) == Verdict::Run);
        let own = self.pods.iter().filter(|pod| pod.daemonset.0 == *uid);
        daemonset["status"] = json!({
            "observedGeneration": daemonset["metadata"]["generation"],
            "desiredNumberScheduled": desired.count(),
            "updatedNumberScheduled": own.clone().filter(|pod| pod.template == latest).count(),
            "numberReady": own.filter(|pod| self.is_ready(pod)).count(),
        });
        let mut all = self.daemonsets.iter_mut();
        *all.find(|one| one["metadata"]["uid"] == *uid).unwrap() = daemonset;
    }

    /// Pods of DaemonSets that are gone, and pods that do not belong on their node.
    fn remove_pods(&mut self) {
        let leaves = |world: &Self, pod: &Pod| match (
            world.daemonset(&pod.daemonset),
            world.node(&pod.node),
        ) {
            (Some(daemonset), Some(node)) => verdict(daemonset, node) == Verdict::Leave,
            _ => true,
        };
        let leaving = self.pods.iter().filter(|pod| leaves(self, pod));
        let leaving: Vec<Uid> = leaving.map(|pod| pod.uid.clone()).collect();
        leaving.iter().for_each(|uid| self.delete_pod(uid));
        let nodes: Vec<NodeName> = self.nodes.iter().map(|node| node.name.clone()).collect();
        self.pods.retain(|pod| nodes.contains(&pod.node));
    }

    fn create_pods(&mut self, daemonset: &Value) {
        let uid = Uid(daemonset["metadata"]["uid"].as_str().unwrap().to_owned());
        let nodes = self.nodes.clone();
        let runs = nodes
            .iter()
            .filter(|node| verdict(daemonset, node) == Verdict::Run);
        for node in runs {
            let mut pods = self.pods.iter();
            if pods.any(|pod| pod.node == node.name && pod.daemonset == uid) {
                continue;
            }
            self.born += 1;
            let template = &daemonset["spec"]["template"];
            self.pods.push(Pod {
                uid: Uid(format!("pod-{}", self.born)),
                daemonset: uid.clone(),
                node: node.name.clone(),
                image: text(&template["spec"]["containers"][0]["image"]),
                revision: text(&template["metadata"]["labels"]["sked.schedkit.io/revision"]),
                template: hash(template),
                created: self.now,
                container: Container::None,
                restarts: 0,
                last_exit: None,
                gate: None,
                ends_at: None,
            });
        }
    }

    /// Old pods that are not available go at once, the others within the limit.
    fn update(&mut self, daemonset: &Value) {
        let spec = &daemonset["spec"];
        if spec["updateStrategy"]["type"] != "RollingUpdate" {
            return;
        }
        let uid = Uid(text(&daemonset["metadata"]["uid"]));
        let latest = hash(&spec["template"]);
        let soak = spec["minReadySeconds"].as_i64().unwrap_or_default();
        let nodes = self.nodes.iter();
        let desired = nodes.filter(|node| verdict(daemonset, node) == Verdict::Run);
        let desired = desired.count();
        let limit = share(
            &spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"],
            desired,
        );
        let now = self.now;
        let dead = self.dead.clone();
        // Kubernetes makes the pods of a dead node unready.
        let available = |pod: &&Pod| {
            if dead.contains(&pod.node) {
                return false;
            }
            let gate = pod.gate.as_ref().filter(|gate| gate.attached);
            let soaked = gate.is_some_and(|gate| {
                now.duration_since(gate.since) >= SignedDuration::from_secs(soak)
            });
            soaked && pod.ends_at.is_none() && pod.has_container()
        };
        let own: Vec<&Pod> = self
            .pods
            .iter()
            .filter(|pod| pod.daemonset == uid)
            .collect();
        let mut down = desired.saturating_sub(own.iter().copied().filter(available).count());
        let mut go = Vec::new();
        for pod in own
            .iter()
            .filter(|pod| pod.template != latest && pod.ends_at.is_none())
        {
            if !available(pod) {
                go.push(pod.uid.clone());
            } else if down < limit {
                down += 1;
                go.push(pod.uid.clone());
            }
        }
        go.iter().for_each(|uid| self.delete_pod(uid));
    }

    /// Kubernetes makes the pods of a dead node unready.
    fn is_ready(&self, pod: &Pod) -> bool {
        let attached = pod.gate.as_ref().is_some_and(|gate| gate.attached);
        attached && pod.has_container() && !self.dead.contains(&pod.node)
    }

    /// kubelet needs two seconds to end it; a dead one never does.
    pub(crate) fn delete_pod(&mut self, uid: &Uid) {
        let at = self.after(2);
        if let Some(pod) = self.pods.iter_mut().find(|pod| pod.uid == *uid) {
            pod.ends_at.get_or_insert(at);
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn hash(template: &Value) -> String {
    let digest = Sha256::digest(template.to_string().as_bytes());
    digest
        .iter()
        .take(5)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn share(limit: &Value, nodes: usize) -> usize {
    let percent = limit.as_str().and_then(|text| text.strip_suffix('%'));
    match percent {
        Some(percent) => (nodes * percent.parse::<usize>().unwrap()).div_ceil(100),
        None if *limit == json!(null) => 1,
        None => usize::try_from(limit.as_i64().unwrap()).unwrap(),
    }
}

/// Pods of DaemonSets tolerate that their node does not answer.
fn verdict(daemonset: &Value, node: &Node) -> Verdict {
    let mut node = node.clone();
    node.taints
        .retain(|taint| taint.key != "node.kubernetes.io/unreachable");
    kube::verdict(daemonset, &node)
}
