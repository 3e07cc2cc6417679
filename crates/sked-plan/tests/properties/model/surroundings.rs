//! What happens to the cluster from outside: faults and their ends, failures, users.

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sked_plan::{Node, NodeName, Uid};

use super::objects::{End, Record, SchedExt};
use super::state::State;
use super::times::now;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    SchedExts,
    Nodes,
    DaemonSets,
    Pods,
    Reports,
}

pub(super) const WATCHES: [Watch; 5] = [
    Watch::SchedExts,
    Watch::Nodes,
    Watch::DaemonSets,
    Watch::Pods,
    Watch::Reports,
];

impl State {
    pub(super) fn stall(&mut self, watch: Watch) {
        match watch {
            Watch::SchedExts => self.schedexts.stall(),
            Watch::Nodes => self.nodes.stall(),
            Watch::DaemonSets => self.daemonsets.stall(),
            Watch::Pods => self.pods.stall(),
            Watch::Reports => self.reports.stall(),
        }
    }

    pub(super) fn is_late(&self, watch: Watch) -> bool {
        match watch {
            Watch::SchedExts => self.schedexts.is_late(),
            Watch::Nodes => self.nodes.is_late(),
            Watch::DaemonSets => self.daemonsets.is_late(),
            Watch::Pods => self.pods.is_late(),
            Watch::Reports => self.reports.is_late(),
        }
    }

    pub(super) fn deliver(&mut self, watch: Watch) {
        let delivered = match watch {
            Watch::SchedExts => self.schedexts.deliver(),
            Watch::Nodes => self.nodes.deliver(),
            Watch::DaemonSets => self.daemonsets.deliver(),
            Watch::Pods => self.pods.deliver(),
            Watch::Reports => self.reports.deliver(),
        };
        if let Err(law) = delivered {
            self.break_law(law);
        }
    }

    /// Kubernetes does not hear of the node any more.
    pub(super) fn die(&mut self, name: &NodeName) {
        self.change_node(name, |node| {
            node.taints.push(Taint {
                key: "node.kubernetes.io/unreachable".to_owned(),
                effect: "NoExecute".to_owned(),
                time_added: Some(Time(now())),
                value: None,
            });
        });
        self.history.taken.remove(name);
        self.history.died.insert(name.clone());
    }

    pub(super) fn revive(&mut self, name: &NodeName) {
        self.change_node(name, |node| node.taints.clear());
        self.report(name);
    }

    pub(super) fn reboot(&mut self, name: &NodeName) {
        self.change_node(name, |node| node.boot_id = "boot-2".to_owned());
        self.end_container(name, End::Reboot);
    }

    fn change_node(&mut self, name: &NodeName, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get(name) {
            let mut node = node.clone();
            change(&mut node);
            self.nodes.put(name.clone(), node);
        }
    }

    /// The agent of the node is not ready.
    pub(super) fn silence(&mut self, node: &NodeName) {
        self.silent.insert(node.clone());
    }

    pub(super) fn speak(&mut self, node: &NodeName) {
        self.silent.remove(node);
        self.report(node);
    }

    /// The machine is gone; its pods stay until the DaemonSet controller removes them.
    pub(super) fn vanish(&mut self, node: &NodeName) {
        self.end_container(node, End::Reboot);
        self.nodes.remove(node);
        self.reports.remove(node);
        self.silent.remove(node);
        self.history.taken.remove(node);
    }

    /// A new machine of that name.
    pub(super) fn join(&mut self, name: &NodeName, uid: &str) {
        let number = name.0.trim_start_matches("node");
        let zone = ("zone".to_owned(), number.to_owned());
        let node = Node {
            name: name.clone(),
            uid: Uid(uid.to_owned()),
            boot_id: "boot-1".to_owned(),
            labels: [zone].into(),
            taints: Vec::new(),
        };
        self.nodes.put(name.clone(), node);
        self.history.joined.insert(name.clone());
        self.report(name);
    }

    pub(super) fn add(&mut self, name: &'static str, spec: usize) {
        let new = SchedExt {
            name,
            spec,
            generation: 1,
            record: Record::default(),
        };
        self.schedexts.put(name, new);
    }

    pub(super) fn edit(&mut self, name: &'static str, spec: usize) {
        if let Some(old) = self.schedexts.get(&name) {
            let generation = old.generation + 1;
            let new = SchedExt {
                spec,
                generation,
                ..old.clone()
            };
            self.schedexts.put(name, new);
        }
    }
}
