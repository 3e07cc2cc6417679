//! Builds the planner's input from the stores. It reads the clock, so that the planner need not.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use schedkit_core::KernelRelease;
use sked_api::{SchedExt, label};
use sked_plan::assignment::{Assignment, Assignments};
use sked_plan::debounce::NodeView;
use sked_plan::eligibility::{Eligibility, eligibility};
use sked_plan::image_facts::ImageFacts;
use sked_plan::kernel_state::{KernelState, UnknownReason, kernel_state};
use sked_plan::learned_names::LearnedNames;
use sked_plan::observed::{FailedCreate, UnreadableSchedExt};
use sked_plan::part::{parts, uid};
use sked_plan::rollout::{are_claims_current, last_good};
use sked_plan::verification::{images, runnable, what_runs};
use sked_plan::{Fleet, LiveDaemonSet, LivePod, Node, NodeName, ObjectKey, Observed};

use crate::manager::futile_replaces::FutileReplaces;
use crate::manager::images::KnownImages;
use crate::manager::ownership::{is_controlled, is_ours};
use crate::manager::policies::Unenforced;
use crate::manager::port_holders::PortHolders;
use crate::manager::stores::{ReportOfNode, SchedExtEntry, Stores, Unreadable, node_key};
use crate::manager::verification::Verifying;

const ARCHITECTURE: &str = "kubernetes.io/arch";

/// What the stores have about one SchedExt.
#[derive(Debug)]
pub(crate) enum Observation {
    /// It does not exist or is being deleted: the garbage collector does the rest.
    Gone,
    /// The claims have not read its current spec and record yet; they queue it when they have.
    Unclaimed,
    /// Its spec cannot be parsed.
    Unreadable(Unreadable),
    Complete(Box<Observed>),
}

/// Where [`observe`] reads from.
pub(crate) struct Sources<'a> {
    pub(crate) stores: &'a Stores,
    pub(crate) assignments: &'a Assignments,
    pub(crate) known_images: &'a KnownImages,
    pub(crate) unenforced: &'a Unenforced,
    pub(crate) port_holders: &'a PortHolders,
    pub(crate) futile: &'a FutileReplaces,
    pub(crate) verifying: &'a Verifying,
}

pub(crate) fn observe(sources: &Sources<'_>, key: &ObjectKey) -> Observation {
    let Sources {
        stores,
        assignments,
        known_images,
        unenforced,
        port_holders,
        futile,
        verifying,
    } = *sources;
    let seen = stores.schedexts.get(key);
    let schedext = match seen.as_deref() {
        None => return Observation::Gone,
        Some(SchedExtEntry::Unreadable(unreadable)) => {
            return Observation::Unreadable(unreadable.clone());
        }
        Some(SchedExtEntry::Read { schedext, .. }) => Arc::clone(schedext),
    };
    if schedext.metadata.deletion_timestamp.is_some() {
        return Observation::Gone;
    }
    let Some(assignment) = assignments.get(&uid(&schedext)).cloned() else {
        return Observation::Unclaimed;
    };
    let verification = verifying.of(&schedext);
    let schedext = match verification.is_on() {
        true => Arc::new(what_runs(&schedext)),
        false => schedext,
    };
    // Nothing can be planned, so a status would say that the last failure is over. Where nothing may
    // run there is nothing to plan, and the claims take it for one that cannot be parsed.
    let waits = !verification.runs_nothing();
    if waits && !are_claims_current(&schedext, &assignment) && assignment.violation.is_none() {
        return Observation::Unclaimed;
    }
    let daemonsets = daemonsets(stores, &schedext);
    let ours = || {
        let uid = Some(uid(&schedext));
        daemonsets.iter().filter(move |live| live.controller == uid)
    };
    let mut pods: Vec<_> = ours()
        .flat_map(|live| stores.pods.group(&live.uid))
        .collect();
    pods.retain(|pod| is_ours(stores, pod));
    let kernels = by_node(&pods, |node| Some(kernel_of(stores, node)));
    // What was read with the secrets of others is told only of what this SchedExt was accepted with.
    let facts = match verification.runs_nothing() {
        true => BTreeMap::new(),
        false => facts(verifying, known_images, &schedext),
    };
    let nodes = nodes(&pods, &assignment, &facts);
    Observation::Complete(Box::new(Observed {
        releases: match facts.values().any(|one| one.min_kernel.is_some()) {
            true => releases(
                stores,
                &values(&nodes, |node| Some(kernel_of(stores, node))),
            ),
            false => BTreeMap::new(),
        },
        architectures: values(&nodes, |node| label_of(stores, node, ARCHITECTURE)),
        facts,
        owner_labels: by_node(&pods, |node| label_of(stores, node, label::OWNER)),
        unreachable: unreachable(stores, &daemonsets, &pods),
        unenforced_policies: unenforced.get(),
        port_holders: by_node(&pods, |node| port_holders.on(node)),
        kernel_gaps: kernel_gaps(stores, &kernels),
        kernels,
        pods,
        futile: futile.of(ours().map(|live| &**live)),
        failed_creates: ours()
            .filter_map(|live| failed_create(stores, live))
            .collect(),
        daemonsets,
        assignment,
        schedext,
        verification,
        now: Timestamp::now(),
    }))
}

/// What is known of the images that it runs or will.
fn facts(
    verifying: &Verifying,
    known_images: &KnownImages,
    schedext: &SchedExt,
) -> BTreeMap<String, Arc<ImageFacts>> {
    let good = last_good(schedext);
    let images = images(schedext)
        .into_iter()
        .chain(good.iter().flat_map(images));
    let known = images.filter_map(|image| {
        let facts = verifying
            .facts(image)
            .or_else(|| known_images.facts(image))?;
        Some((image.to_owned(), facts))
    });
    known.collect()
}

/// The nodes of these pods, and all that it has if anything is to be compared with them.
fn nodes<'a>(
    pods: &'a [Arc<LivePod>],
    assignment: &'a Assignment,
    facts: &BTreeMap<String, Arc<ImageFacts>>,
) -> BTreeSet<&'a NodeName> {
    let with_pods = pods.iter().filter_map(|pod| pod.node.as_ref());
    let parts = assignment.parts.values().filter(|_| !facts.is_empty());
    let assigned = parts.flat_map(|part| &part.nodes);
    with_pods.chain(assigned).collect()
}

/// A value for each node that has one of these pods.
fn by_node<T>(
    pods: &[Arc<LivePod>],
    value: impl Fn(&NodeName) -> Option<T>,
) -> BTreeMap<NodeName, T> {
    let nodes: BTreeSet<_> = pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
    values(&nodes, value)
}

fn values<T>(
    nodes: &BTreeSet<&NodeName>,
    value: impl Fn(&NodeName) -> Option<T>,
) -> BTreeMap<NodeName, T> {
    let values = nodes.iter().copied();
    values
        .filter_map(|node| Some((node.clone(), value(node)?)))
        .collect()
}

fn label_of(stores: &Stores, node: &NodeName, label: &str) -> Option<String> {
    let node = stores.nodes.get(&node_key(node))?;
    node.labels.get(label).cloned()
}

/// The nodes of these pods of which Kubernetes has not heard, and where their DaemonSets want them.
fn unreachable(
    stores: &Stores,
    daemonsets: &[Arc<LiveDaemonSet>],
    pods: &[Arc<LivePod>],
) -> BTreeMap<NodeName, Timestamp> {
    let unreachable = pods.iter().filter_map(|pod| {
        let node = stores.nodes.get(&node_key(pod.node.as_ref()?))?;
        let since = unreachable_since(&node)?;
        let mut daemonsets = daemonsets.iter();
        let daemonset = daemonsets.find(|live| live.uid == pod.daemonset)?;
        daemonset.admits(&node).then(|| (node.name.clone(), since))
    });
    unreachable.collect()
}

/// Since when Kubernetes has not heard of the node.
pub(crate) fn unreachable_since(node: &Node) -> Option<Timestamp> {
    let is_it = |key: &str| {
        let key = key.strip_prefix("node.kubernetes.io/");
        matches!(key, Some("not-ready" | "unreachable"))
    };
    let mut taints = node.taints.iter();
    let taint = taints.find(|taint| is_it(&taint.key) && taint.effect == "NoExecute")?;
    taint.time_added.as_ref().map(|time| time.0)
}

/// What those kernels lack that have a trusted report.
fn kernel_gaps(
    stores: &Stores,
    kernels: &BTreeMap<NodeName, KernelState>,
) -> BTreeMap<NodeName, String> {
    let reports = trusted(stores, kernels);
    let gaps = reports.filter_map(|(node, seen)| Some((node, seen.report.kernel_gaps.clone()?)));
    gaps.collect()
}

/// The releases of those kernels that have a trusted report.
fn releases(
    stores: &Stores,
    kernels: &BTreeMap<NodeName, KernelState>,
) -> BTreeMap<NodeName, KernelRelease> {
    let reports = trusted(stores, kernels);
    let releases = reports.filter_map(|(node, seen)| {
        let release = seen.report.release.as_ref()?.parse().ok()?;
        Some((node, release))
    });
    releases.collect()
}

/// The reports by which kernels are known.
fn trusted(
    stores: &Stores,
    kernels: &BTreeMap<NodeName, KernelState>,
) -> impl Iterator<Item = (NodeName, Arc<ReportOfNode>)> {
    let known = kernels
        .iter()
        .filter(|(_, kernel)| !matches!(kernel, KernelState::Unknown(_)));
    known.filter_map(|(node, _)| Some((node.clone(), stores.reports.get(&node_key(node))?)))
}

pub(crate) fn kernel_of(stores: &Stores, node: &NodeName) -> KernelState {
    if stores.reports.is_absent() {
        return KernelState::Unknown(UnknownReason::NotInstalled);
    }
    let key = node_key(node);
    let Some(known) = stores.nodes.get(&key) else {
        return KernelState::Unknown(UnknownReason::NoReport);
    };
    let seen = stores.reports.get(&key);
    let report = seen.as_ref().map(|seen| &seen.report);
    let ready = stores.agents.on(node).iter().any(|agent| agent.ready);
    kernel_state(&known, report, ready)
}

/// The learned scheduler names of a pod's DaemonSet.
pub(crate) fn names_for(stores: &Stores, pod: &LivePod) -> LearnedNames {
    let mut names = LearnedNames::default();
    for live in stores.daemonsets.group(&pod.daemonset) {
        learn(stores, &live, &mut names);
    }
    names
}

/// The eligibility of all nodes, not debounced.
pub(crate) fn node_views(stores: &Stores) -> Vec<NodeView> {
    let eligibility = |node: Arc<Node>| {
        let mut pods = stores.pods.on(&node.name);
        pods.retain(|pod| is_ours(stores, pod));
        let has_pods = !pods.is_empty();
        let pods = pods.iter().map(|pod| &**pod);
        NodeView {
            eligibility: eligibility(&kernel_of(stores, &node.name), pods),
            node,
            has_pods,
        }
    };
    stores.nodes.all().into_iter().map(eligibility).collect()
}

fn learn(stores: &Stores, live: &LiveDaemonSet, names: &mut LearnedNames) {
    let Some(controller) = &live.controller else {
        return;
    };
    for seen in stores.schedexts.group(controller) {
        if let Some(schedext) = seen.schedext() {
            names.add(schedext, std::iter::once(live));
        }
    }
}

pub(crate) fn fleet(
    stores: &Stores,
    verifying: &Verifying,
    eligibility: BTreeMap<NodeName, Eligibility>,
) -> Fleet {
    let seen = stores.schedexts.all();
    let mut schedexts = Vec::new();
    // Nothing of them may run, so they take no node from others, and keep what they have.
    let mut unaccepted = Vec::new();
    for schedext in seen.iter().filter_map(|seen| seen.schedext()) {
        if !verifying.is_on(schedext) {
            schedexts.push(Arc::clone(schedext));
        } else if let Some(runs) = runnable(schedext) {
            schedexts.push(Arc::new(runs));
        } else if schedext.metadata.deletion_timestamp.is_none() {
            unaccepted.push(UnreadableSchedExt {
                uid: uid(schedext),
                key: sked_plan::part::key(schedext),
            });
        }
    }
    let unreadable = seen.iter().filter_map(|seen| match &**seen {
        SchedExtEntry::Read { .. } => None,
        SchedExtEntry::Unreadable(one) => Some(UnreadableSchedExt {
            uid: one.uid.clone(),
            key: one.key.clone(),
        }),
    });
    let unreadable = unreadable.chain(unaccepted).collect();
    let needed: HashSet<_> = schedexts
        .iter()
        .flat_map(|schedext| needed_names(schedext))
        .collect();
    let daemonsets = stores.daemonsets.all().into_iter();
    let daemonsets = daemonsets.filter_map(|live| {
        if is_controlled(stores, &live) {
            return Some(live);
        }
        // It has a name that is needed, and nobody of ours controls it.
        needed.contains(&live.key).then(|| {
            Arc::new(LiveDaemonSet {
                controller: None,
                ..LiveDaemonSet::clone(&live)
            })
        })
    });
    let daemonsets = daemonsets.collect();
    let mut pods = stores.pods.all();
    pods.retain(|pod| is_ours(stores, pod));
    Fleet {
        schedexts,
        unreadable,
        daemonsets,
        nodes: stores.nodes.all(),
        pods,
        eligibility,
    }
}

/// The names of the DaemonSets that it may have, by its spec or by its last good revision, and of
/// their canaries.
fn needed_names(schedext: &SchedExt) -> Vec<ObjectKey> {
    let good = last_good(schedext);
    let parts = parts(schedext).chain(good.iter().flat_map(parts));
    let keys = parts.flat_map(|part| [part.key(), part.canary().key()]);
    keys.collect()
}

/// Those that the SchedExt controls, and those whose names it needs.
fn daemonsets(stores: &Stores, schedext: &SchedExt) -> Vec<Arc<LiveDaemonSet>> {
    let namespace = schedext.metadata.namespace.as_ref();
    let mut found = stores.daemonsets.group(&uid(schedext));
    found.retain(|live| Some(&live.key.namespace) == namespace);
    for key in needed_names(schedext) {
        if let Some(live) = stores.daemonsets.get(&key)
            && !found.iter().any(|known| known.uid == live.uid)
        {
            found.push(live);
        }
    }
    found
}

/// The latest failure to create a pod of a DaemonSet.
fn failed_create(stores: &Stores, live: &LiveDaemonSet) -> Option<FailedCreate> {
    let seen = stores.failed_creates.group(&live.uid);
    let latest = seen.iter().max_by_key(|seen| seen.failed_create.at)?;
    Some(latest.failed_create.clone())
}
