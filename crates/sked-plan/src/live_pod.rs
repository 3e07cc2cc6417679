//! A scheduler's pod as the API server has it, trimmed to what the planner reads.

use jiff::Timestamp;
use schedkit_core::SchedulerExit;

use crate::name::{NodeName, ObjectKey, Uid};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LivePod {
    pub key: ObjectKey,
    /// The DaemonSet that controls it.
    pub daemonset: Uid,
    /// Where it runs, or which node the DaemonSet controller created it for.
    pub node: Option<NodeName>,
    pub deleting: bool,
    pub uid: Uid,
    pub state: PodState,
    /// When the running container was started; kubelet reports whole seconds.
    pub started: Option<Timestamp>,
    /// How the container exited last, if it ever did.
    pub last_exit: Option<ContainerExit>,
    /// How often kubelet restarted the container.
    pub restarts: i32,
    /// The readiness gate as it is now.
    pub gate: Option<Gate>,
    /// The hash that the DaemonSet controller gave the pod's template.
    pub template: String,
    /// The revision of its part, as the label has it; empty for pods of earlier templates.
    pub revision: String,
    pub created: Timestamp,
}

/// The pod's state as Kubernetes reports it. It says nothing about the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PodState {
    /// Not bound to a node yet, with kube-scheduler's reason if it gave one.
    Unscheduled(Option<String>),
    /// The container is about to start.
    Starting,
    /// The container cannot start: kubelet's reason (`ImagePullBackOff`) and message.
    Waiting { reason: String, message: String },
    /// The container runs.
    Running,
    /// The container exited, and kubelet may restart it.
    Ended,
    /// The whole pod failed: evicted, or rejected by kubelet.
    Failed { reason: String, message: String },
}

/// How a container exited.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContainerExit {
    pub code: i32,
    /// kubelet's reason.
    pub reason: String,
    /// The scheduler's final output, parsed for the kernel's exit reason.
    pub exit_message: Option<SchedulerExit>,
    pub at: Option<Timestamp>,
}

impl ContainerExit {
    /// Whether the exit is no failure: exit code 0, or an exit reason that blames nobody.
    pub fn is_benign(&self) -> bool {
        let exit_message = self.exit_message.as_ref();
        exit_message.map_or(self.code == 0, |message| message.reason.is_benign())
    }
}

/// The condition behind a pod's readiness gate: whether the kernel runs this pod's scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    pub attached: bool,
    pub reason: String,
    /// The last transition, in whole seconds.
    pub since: Timestamp,
}
