//! Kubelets and kernels: containers start, schedulers attach, are ejected, and are restarted.
//!
//! What an image does is in its name: `good` attaches, `stall` attaches and is ejected after 20
//! seconds, `never` never attaches, `missing` cannot be pulled, `hotplug` ends benignly. On some nodes
//! only, `fails-there` stalls, `never-there` does not attach, and `busy-there` finds another scheduler.

use jiff::SignedDuration;
use schedkit_core::SchedulerExit;
use sked_plan::NodeName;
use sked_plan::live_pod::ContainerExit;

use super::world::{Container, Pod, World};

const ATTACHES_AFTER: i64 = 3;
const STALLS_AFTER: i64 = 20;

impl World {
    pub(crate) fn run_kubelets(&mut self) {
        let nodes: Vec<NodeName> = self.nodes.iter().map(|node| node.name.clone()).collect();
        for node in nodes {
            if !self.dead.contains(&node) {
                self.run_kubelet(&node);
            }
        }
    }

    fn run_kubelet(&mut self, node: &NodeName) {
        let now = self.now;
        let gone = |pod: &Pod| pod.ends_at.is_some_and(|at| at <= now);
        self.pods.retain(|pod| pod.node != *node || !gone(pod));
        let fails = self.failing.contains(node);
        // The host's port admits one pod, the one that has a container or was created first.
        let here = self.pods.iter().filter(|pod| pod.node == *node);
        let first = here.min_by_key(|pod| (pod.container == Container::None, pod.created));
        let Some(first) = first.map(|pod| pod.uid.clone()) else {
            return;
        };
        let pod = self.pods.iter_mut().find(|pod| pod.uid == first).unwrap();
        let after = |seconds| now - SignedDuration::from_secs(seconds);
        match &mut pod.container {
            Container::CannotStart => {}
            Container::None if pod.ends_at.is_some() => {}
            Container::None
                if pod.image.starts_with("missing") || self.missing.contains(&pod.image) =>
            {
                pod.container = Container::CannotStart;
            }
            Container::None => {
                pod.container = Container::Running {
                    started: now,
                    attached: None,
                };
            }
            Container::Ended { until } if *until <= now => {
                pod.restarts += 1;
                pod.container = Container::Running {
                    started: now,
                    attached: None,
                };
            }
            Container::Ended { .. } => {}
            Container::Running { started, attached } => {
                if pod.image.starts_with("busy-there") && fails {
                    let output = "Error: another sched_ext scheduler is already running";
                    end(pod, 1, output, now);
                    return;
                }
                let attaches = match pod.image.starts_with("never-there") {
                    true => !fails,
                    false => !pod.image.starts_with("never"),
                };
                if attached.is_none() && attaches && *started <= after(ATTACHES_AFTER) {
                    *attached = Some(now);
                }
                let ends = attached.is_some_and(|since| since <= after(STALLS_AFTER));
                let stalls = pod.image.starts_with("stall")
                    || (pod.image.starts_with("fails-there") && fails);
                if ends && stalls {
                    end(
                        pod,
                        1,
                        "EXIT: runnable task stall (watchdog failed to check in)",
                        now,
                    );
                } else if ends && pod.image.starts_with("hotplug") {
                    end(pod, 0, "EXIT: unregistered from user space", now);
                }
            }
        }
    }
}

pub(crate) fn end(pod: &mut Pod, code: i32, output: &str, now: jiff::Timestamp) {
    pod.last_exit = Some(ContainerExit {
        code,
        reason: "Error".to_owned(),
        exit_message: SchedulerExit::parse(output),
        at: Some(now),
    });
    let pause = 10 * i64::from(1 << pod.restarts.min(5));
    pod.container = Container::Ended {
        until: now + SignedDuration::from_secs(pause),
    };
}
