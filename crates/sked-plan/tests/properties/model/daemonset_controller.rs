//! The DaemonSet controller: which pods there should be, and the rolling update as Kubernetes does
//! it.

use sked_plan::{Node, NodeName};

use super::objects::{Container, DaemonSet, Pod};
use super::planner::Planner;
use super::state::State;
use crate::kube::Verdict;

impl State {
    /// Syncs all DaemonSets once.
    pub(super) fn run_daemonset_controller(&mut self, planner: &Planner) {
        self.collect_garbage();
        self.remove_pods(planner);
        let names: Vec<String> = self
            .daemonsets
            .all()
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            self.sync(planner, &name);
        }
    }

    /// DaemonSets whose SchedExt is gone.
    fn collect_garbage(&mut self) {
        let has_owner = |one: &DaemonSet| {
            let mut schedexts = self.schedexts.all();
            let owner = one.spec.live.controller.as_ref();
            schedexts.any(|(name, _)| owner.is_some_and(|uid| uid.0 == format!("uid-of-{name}")))
        };
        let all = self.daemonsets.all();
        let gone: Vec<String> = all
            .filter(|(_, one)| !has_owner(one))
            .map(|(name, _)| name.clone())
            .collect();
        gone.iter().for_each(|name| self.daemonsets.remove(name));
    }

    /// Pods of DaemonSets that are gone, and pods that do not belong on their node.
    fn remove_pods(&mut self, planner: &Planner) {
        let leaves = |pod: &Pod| {
            let daemonset = self.daemonset(pod.daemonset);
            let both = daemonset.zip(self.nodes.get(&pod.node));
            both.is_none_or(|(one, node)| planner.verdict(one, node) == Verdict::Leave)
        };
        let all = self.pods.all().filter(|(_, pod)| leaves(pod));
        let leaving: Vec<u32> = all.map(|(uid, _)| *uid).collect();
        leaving
            .iter()
            .for_each(|uid| self.delete_pod(planner, *uid));
        let all = self.pods.all();
        let gone = all.filter(|(_, pod)| self.nodes.get(&pod.node).is_none());
        let gone: Vec<u32> = gone.map(|(uid, _)| *uid).collect();
        gone.iter().for_each(|uid| self.pods.remove(uid));
    }

    fn sync(&mut self, planner: &Planner, name: &String) {
        let Some(daemonset) = self.daemonsets.get(name).cloned() else {
            return;
        };
        let wanted: Vec<NodeName> = self
            .nodes
            .all()
            .filter(|(_, node): &(_, &Node)| planner.verdict(&daemonset, node) == Verdict::Run)
            .map(|(name, _)| name.clone())
            .collect();
        for node in &wanted {
            if self
                .pods_on(node)
                .all(|(_, pod)| pod.daemonset != daemonset.uid)
            {
                self.create_pod(planner, &daemonset, node);
            }
        }
        self.update(planner, &daemonset, wanted.len());
        let own = self.pods.all().map(|(_, pod)| pod);
        let own: Vec<&Pod> = own.filter(|pod| pod.daemonset == daemonset.uid).collect();
        let count = |is: &dyn Fn(&Pod) -> bool| {
            i32::try_from(own.iter().filter(|pod| is(pod)).count()).unwrap()
        };
        let counted = DaemonSet {
            desired: i32::try_from(wanted.len()).unwrap(),
            updated: count(&|pod| pod.template == daemonset.spec.template),
            ready: count(&|pod| self.is_ready(pod)),
            is_observed: true,
            ..daemonset
        };
        self.daemonsets.put(name.clone(), counted);
    }

    fn create_pod(&mut self, planner: &Planner, daemonset: &DaemonSet, node: &NodeName) {
        self.notice_new_pod(planner, daemonset, node);
        let pod = Pod {
            daemonset: daemonset.uid,
            node: node.clone(),
            template: daemonset.spec.template.clone(),
            created: 0,
            container: Container::None,
            ended: None,
            gate: None,
            is_deleted: false,
        };
        self.pods.put(self.free_pod_uid(), pod);
    }

    /// Old pods that are not available go at once, the others within the limit.
    fn update(&mut self, planner: &Planner, daemonset: &DaemonSet, wanted: usize) {
        let Some(limit) = daemonset.spec.max_unavailable else {
            return;
        };
        let soak = daemonset.spec.min_ready_seconds;
        let own = self.pods.all();
        let own: Vec<_> = own
            .filter(|(_, pod)| pod.daemonset == daemonset.uid)
            .collect();
        let is_available = |pod: &Pod| !pod.is_deleted && self.is_available(pod, soak);
        let available = own.iter().filter(|(_, pod)| is_available(pod)).count();
        let mut down = wanted.saturating_sub(available);
        let mut leaving = Vec::new();
        let old = own
            .iter()
            .filter(|(_, pod)| pod.template != daemonset.spec.template);
        for (uid, pod) in old.filter(|(_, pod)| !pod.is_deleted) {
            if !is_available(pod) {
                leaving.push(**uid);
            } else if down < limit {
                down += 1;
                leaving.push(**uid);
            }
        }
        for uid in leaving {
            // A node that has lost its old pod gets the new one, whatever is decided meanwhile.
            if let Some(pod) = self.pods.get(&uid) {
                let image = daemonset.spec.template.image.clone();
                let here = (image, pod.node.clone());
                self.history.reached.insert(here);
            }
            self.delete_pod(planner, uid);
        }
    }

    /// Kubernetes makes the pods of a dead node unready.
    fn is_ready(&self, pod: &Pod) -> bool {
        let attached = pod.gate.is_some_and(|(attached, _, _)| attached);
        attached && pod.has_container() && !self.is_dead(&pod.node)
    }

    fn is_available(&self, pod: &Pod, soak: i64) -> bool {
        self.is_ready(pod) && pod.gate.is_some_and(|(_, _, since)| -since >= soak)
    }

    /// In how many seconds the next pod becomes available.
    pub(super) fn next_available(&self) -> Option<i64> {
        let pods = self.pods.all().filter_map(|(_, pod)| {
            let (attached, _, since) = pod.gate?;
            let soak = self.daemonset(pod.daemonset)?.spec.min_ready_seconds;
            attached.then_some(since + soak)
        });
        pods.filter(|at| *at > 0).min()
    }

    fn delete_pod(&mut self, planner: &Planner, uid: u32) {
        if let Some(pod) = self.pods.get(&uid).filter(|pod| !pod.is_deleted) {
            let pod = pod.clone();
            self.notice_deletion(planner, &pod);
            self.pods.put(
                uid,
                Pod {
                    is_deleted: true,
                    ..pod
                },
            );
        }
    }
}
