//! Kubelets, kernels and the agents that report about them.
//!
//! What an image does is in its name: `good` attaches, `never` does not, `stall` attaches and may be
//! ejected at any time.

use sked_plan::NodeName;

use super::objects::{Container, End, Pod, Report};
use super::state::State;

/// kubelet's pause before it restarts a container.
const PAUSE: i64 = 10;

impl State {
    /// Removes the pods that are being deleted; else starts the container of one pod. The host's port
    /// admits one, the one that has a container or was created first.
    pub(super) fn run_kubelet(&mut self, node: &NodeName) {
        if self.is_dead(node) {
            return;
        }
        let here = || self.pods_on(node);
        let gone: Vec<u32> = here()
            .filter(|(_, pod)| pod.is_deleted)
            .map(|(uid, _)| uid)
            .collect();
        if !gone.is_empty() {
            gone.iter().for_each(|uid| self.pods.remove(uid));
            return self.report(node);
        }
        let first =
            here().min_by_key(|(uid, pod)| (pod.container == Container::None, pod.created, *uid));
        let Some((uid, pod)) = first else {
            return;
        };
        let may_start = match pod.container {
            Container::None => true,
            Container::Running { .. } => false,
            Container::Ended { until } => until <= 0,
        };
        if may_start {
            let attached = (!pod.template.image.starts_with("never")).then_some(0);
            let container = Container::Running {
                started: 0,
                attached,
            };
            let pod = Pod {
                container,
                ..pod.clone()
            };
            self.pods.put(uid, pod);
            self.report(node);
        }
    }

    /// The agent reports what its kernel runs.
    pub(super) fn report(&mut self, node: &NodeName) {
        if self.silent.contains(node) || self.is_dead(node) {
            return;
        }
        let Some(known) = self.nodes.get(node) else {
            return;
        };
        let runs = self
            .pods_on(node)
            .find_map(|(_, pod)| Some((ops(pod), pod.attached()?)));
        let report = Report {
            node: known.uid.clone(),
            boot_id: known.boot_id.clone(),
            runs,
        };
        self.reports.put(node.clone(), report);
    }

    /// The scheduler's container ends.
    pub(super) fn end_container(&mut self, node: &NodeName, end: End) {
        let running = self.pods_on(node).find(|(_, pod)| pod.has_container());
        if let Some((uid, pod)) = running {
            let until = match end {
                End::Stall => PAUSE,
                End::Reboot => 0,
            };
            let pod = Pod {
                container: Container::Ended { until },
                ended: Some((0, end)),
                ..pod.clone()
            };
            self.pods.put(uid, pod);
        }
        self.history.taken.remove(node);
        self.history.hit.insert(node.clone());
        self.report(node);
    }

    /// In how many seconds a container is restarted.
    pub(super) fn next_restart(&self) -> Option<i64> {
        let pods = self.pods.all().filter_map(|(_, pod)| match pod.container {
            Container::Ended { until } if !self.is_dead(&pod.node) => Some(until),
            _ => None,
        });
        pods.filter(|until| *until > 0).min()
    }
}

/// The kernel's name of an image's scheduler: `good:2` is `good`.
fn ops(pod: &Pod) -> String {
    let image = &pod.template.image;
    image.split(':').next().unwrap().to_owned()
}
