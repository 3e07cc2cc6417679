//! The planner's input as plain data, so that tests can build it without a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use schedkit_core::KernelRelease;
use sked_api::SchedExt;

use crate::assignment::Assignment;
use crate::eligibility::Eligibility;
use crate::fingerprint::Fingerprint;
use crate::image_facts::ImageFacts;
use crate::kernel_state::KernelState;
use crate::live_daemonset::LiveDaemonSet;
use crate::live_pod::LivePod;
use crate::name::{NodeName, ObjectKey, Uid};
use crate::node::Node;
use crate::verification::Verification;

/// Input of [`crate::claim`]: the whole cluster.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// All SchedExts that this manager is responsible for.
    pub schedexts: Vec<Arc<SchedExt>>,
    /// Those whose spec cannot be parsed, or of which nothing may run: they keep the nodes that they
    /// have.
    pub unreadable: Vec<UnreadableSchedExt>,
    pub nodes: Vec<Arc<Node>>,
    /// All DaemonSets that SchedExts control, and those whose name a SchedExt needs. The placement
    /// of a live DaemonSet counts as much as what its SchedExt selects by now.
    pub daemonsets: Vec<Arc<LiveDaemonSet>>,
    /// All pods of those DaemonSets.
    pub pods: Vec<Arc<LivePod>>,
    /// Whether nodes can run a scheduler of ours, debounced by the caller. A node whose kernel is
    /// unknown is missing.
    pub eligibility: BTreeMap<NodeName, Eligibility>,
}

/// A SchedExt whose spec cannot be parsed: a newer CRD has fields that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableSchedExt {
    pub uid: Uid,
    pub key: ObjectKey,
}

/// Input of [`crate::plan`] and [`crate::status`]: one SchedExt.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The SchedExt itself, with the status that was written last. With a trust policy it is what of
    /// it may run: images by digest, and of a spec that is not accepted the one that was.
    pub schedext: Arc<SchedExt>,
    /// What is known of the signatures of its images.
    pub verification: Verification,
    /// DaemonSets that it controls, and those whose name it needs.
    pub daemonsets: Vec<Arc<LiveDaemonSet>>,
    /// Pods of the DaemonSets that it controls.
    pub pods: Vec<Arc<LivePod>>,
    /// The kernels of the nodes of those pods.
    pub kernels: BTreeMap<NodeName, KernelState>,
    /// The architectures of those nodes, and of all that it has where `facts` is not empty, as their
    /// labels have them.
    pub architectures: BTreeMap<NodeName, String>,
    /// The owner labels of nodes for which those pods wait.
    pub owner_labels: BTreeMap<NodeName, String>,
    /// The nodes of those pods that Kubernetes takes for dead, since when, without those that their
    /// DaemonSet has left meanwhile.
    pub unreachable: BTreeMap<NodeName, Timestamp>,
    /// The admission policies that do not restrict the manager's account.
    pub unenforced_policies: Vec<&'static str>,
    /// Pods of others that have the host port of schedulers' pods, where that is why a pod of this
    /// SchedExt cannot be placed.
    pub port_holders: BTreeMap<NodeName, ObjectKey>,
    /// What the kernels of those nodes lack, by trusted reports.
    pub kernel_gaps: BTreeMap<NodeName, String>,
    /// What is known of the images that its nodes run or will.
    pub facts: BTreeMap<String, Arc<ImageFacts>>,
    /// The kernel releases of all those nodes. Filled only if a minimum kernel is known, and only
    /// from reports that can be trusted.
    pub releases: BTreeMap<NodeName, KernelRelease>,
    /// Replaces that were tried and had no effect, by DaemonSet.
    pub futile: BTreeMap<Uid, FutileReplace>,
    /// The nodes that the claims assign to it.
    pub assignment: Arc<Assignment>,
    /// The latest FailedCreate event of each of its DaemonSets.
    pub failed_creates: Vec<FailedCreate>,
    /// When all of this was read.
    pub now: Timestamp,
}

impl Observed {
    /// The SchedExt as the API server has it.
    pub fn stored(&self) -> &Arc<SchedExt> {
        match &self.verification {
            Verification::Off => &self.schedext,
            Verification::On(known) => &known.asked,
            Verification::Recorded(asked) => asked,
        }
    }
}

/// A replace after which the API server stored something else than was sent: a mutating webhook
/// changed it, or a default that sked does not know. A second attempt would have the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutileReplace {
    /// What was sent.
    pub desired: Fingerprint,
    /// What was stored.
    pub stored: Fingerprint,
}

/// An event that reports why the DaemonSet controller could not create pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCreate {
    pub daemonset: Uid,
    pub message: String,
    /// The last occurrence.
    pub at: Timestamp,
}
