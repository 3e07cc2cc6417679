//! What was observed, as plain data: buildable without a cluster.

mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use schedkit_core::{KernelRelease, OpsName, SchedulerExit};
use sked_api::SchedExt;

use crate::claim::Share;
use crate::kernel::Kernel;
use crate::name::{NodeName, ObjectKey, Uid};
use crate::placement::Placement;
use crate::shape::Shape;
use crate::standing::Standing;

pub use read::NotADaemonSet;

/// Everything that decides who owns which node.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// All SchedExts that sked looks after.
    pub schedexts: Vec<Arc<SchedExt>>,
    /// All nodes.
    pub nodes: Vec<Arc<Node>>,
    /// All DaemonSets that SchedExts control, and those that have a name which one needs. What a
    /// live one still says counts as much as what its SchedExt asks for by now.
    pub daemonsets: Vec<Arc<LiveDaemonSet>>,
    /// All pods of those DaemonSets.
    pub pods: Vec<Arc<LivePod>>,
    /// Whether nodes can run a scheduler of ours at all, as far as their kernels have said so for
    /// long enough. A node that is not here is not known.
    pub standing: BTreeMap<NodeName, Standing>,
}

/// A node, trimmed to what matters here. Whether it is ready or about to go does not: the
/// DaemonSet controller keeps pods on such nodes too.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// This life of it.
    pub uid: Uid,
    /// This start of the machine.
    pub boot_id: String,
    /// All its labels, the owner's among them.
    pub labels: BTreeMap<String, String>,
    /// What keeps pods away.
    pub taints: Vec<Taint>,
}

/// Everything about one SchedExt.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The SchedExt itself, with the status that was written last.
    pub schedext: Arc<SchedExt>,
    /// DaemonSets that it controls, and those of the names that it needs.
    pub daemonsets: Vec<Arc<LiveDaemonSet>>,
    /// Pods of the DaemonSets that it controls.
    pub pods: Vec<Arc<LivePod>>,
    /// What the kernels say of the nodes where those pods are.
    pub kernels: BTreeMap<NodeName, Kernel>,
    /// The oldest kernel that images of it ask for, by the image as the spec names it, where known.
    pub floors: BTreeMap<String, KernelRelease>,
    /// The releases of the kernels where its pods are, where they can be believed and somebody
    /// asks for them.
    pub releases: BTreeMap<NodeName, KernelRelease>,
    /// Its part of the claims.
    pub share: Arc<Share>,
    /// What keeps pods from being made: the latest FailedCreate event of each of its DaemonSets.
    pub refusals: Vec<Refusal>,
    /// When this was observed.
    pub now: Timestamp,
}

/// A DaemonSet as the API server has it, trimmed; [`LiveDaemonSet::read`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveDaemonSet {
    /// Namespace and name.
    pub key: ObjectKey,
    /// This life of it.
    pub uid: Uid,
    /// Its version, for a write that must not lose another's.
    pub resource_version: String,
    /// The SchedExt that controls it, if one does.
    pub controller: Option<Uid>,
    /// Who else controls it, as a person would say it (`Deployment/web`).
    pub stranger: Option<String>,
    /// A hash of everything in it that is ours to say; see [`crate::shape`].
    pub shape: Shape,
    /// Which nodes its template lets in, but for the owner label.
    pub placement: Arc<Placement>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The spec's generation, and the one that the DaemonSet controller has seen.
    pub generation: i64,
    /// See above.
    pub observed_generation: i64,
    /// Nodes that should run a pod.
    pub desired: i32,
    /// Nodes whose pod is of the latest template.
    pub updated: i32,
    /// Nodes whose pod is ready.
    pub ready: i32,
}

/// A scheduler's pod, trimmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePod {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The DaemonSet that controls it.
    pub daemonset: Uid,
    /// Where it runs, or is meant to run.
    pub node: Option<NodeName>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// This life of it.
    pub uid: Uid,
    /// How it fares.
    pub state: PodState,
    /// When its container was started last, if it runs. In whole seconds, as kubelet tells it.
    pub started: Option<Timestamp>,
    /// How its container ended last, if it ever did.
    pub ending: Option<Ending>,
    /// How often its container was started again.
    pub restarts: i32,
    /// What its readiness gate says.
    pub gate: Option<Gate>,
    /// Its template, as the DaemonSet controller calls it.
    pub template: String,
    /// When it was made.
    pub created: Timestamp,
}

/// How a pod fares, as far as can be told without the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// Not on a node yet; with the scheduler's reason when there is one.
    Unscheduled(Option<String>),
    /// Its container is about to start.
    Starting,
    /// Its container cannot start: kubelet's reason (`ImagePullBackOff`) and message.
    Waiting {
        /// In a word.
        reason: String,
        /// In a sentence.
        message: String,
    },
    /// Its container runs. That says nothing about the kernel.
    Running,
    /// Its container ended, and may be started again.
    Ended,
    /// The pod as a whole failed (evicted, refused by the node).
    Failed {
        /// In a word.
        reason: String,
        /// In a sentence.
        message: String,
    },
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The exit code.
    pub code: i32,
    /// kubelet's reason.
    pub reason: String,
    /// What the scheduler said last.
    pub words: Option<SchedulerExit>,
    /// When.
    pub at: Option<Timestamp>,
}

/// What a pod's readiness gate says: whether the kernel runs this scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Whether it does.
    pub attached: bool,
    /// In a word.
    pub reason: String,
    /// Since when, in whole seconds.
    pub since: Timestamp,
}

/// What an agent wrote about its node's kernel. Whether it can be believed is for
/// [`crate::kernel`] to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The Node that owns it.
    pub owner: Option<Uid>,
    /// The start of the machine that it is about.
    pub boot_id: Option<String>,
    /// What `uname -r` prints.
    pub release: Option<String>,
    /// Whether the kernel has sched_ext.
    pub supported: Option<bool>,
    /// The kernel's word for its state.
    pub state: Option<String>,
    /// The scheduler that is attached.
    pub ops: Option<OpsName>,
    /// How often a scheduler was attached since the start.
    pub enable_seq: Option<i64>,
    /// Since when all this has been so.
    pub since: Option<Timestamp>,
    /// Why something is absent.
    pub trouble: Option<String>,
}

/// Why a DaemonSet's pods are not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The DaemonSet.
    pub daemonset: Uid,
    /// What the API server said.
    pub message: String,
    /// When it said so last.
    pub at: Timestamp,
}
