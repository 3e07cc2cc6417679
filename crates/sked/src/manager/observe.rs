//! From the stores to what the planner looks at. Reads only; the clock is read here and nowhere
//! else on this way.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use schedkit_core::KernelRelease;
use sked_api::SchedExt;
use sked_plan::kernel::{Kernel, Silence, kernel};
use sked_plan::names::Names;
use sked_plan::observed::Refusal;
use sked_plan::part::{parts, uid};
use sked_plan::standing::{Standing, standing};
use sked_plan::{Fleet, LiveDaemonSet, LivePod, Node, NodeName, ObjectKey, Observed};

use crate::claims::Shares;
use crate::images::Floors;
use crate::stores::{SchedExtSeen, Stores, Unreadable, node_key};

/// What there is to see of one SchedExt.
#[derive(Debug)]
pub(crate) enum Sight {
    /// It is gone, or is going: the garbage collector does the rest.
    Gone,
    /// Nobody has worked out yet which nodes are its: the claims will wake it.
    Unclaimed,
    /// It cannot be read.
    Unreadable(Unreadable),
    /// Everything.
    Clear(Box<Observed>),
}

/// Everything about one SchedExt.
pub(crate) fn observe(stores: &Stores, shares: &Shares, floors: &Floors, key: &ObjectKey) -> Sight {
    let seen = stores.schedexts.get(key);
    let schedext = match seen.as_deref() {
        None => return Sight::Gone,
        Some(SchedExtSeen::Unreadable(unreadable)) => {
            return Sight::Unreadable(unreadable.clone());
        }
        Some(SchedExtSeen::Read { schedext, .. }) => Arc::clone(schedext),
    };
    if schedext.metadata.deletion_timestamp.is_some() {
        return Sight::Gone;
    }
    let Some(share) = shares.get(&uid(&schedext)).cloned() else {
        return Sight::Unclaimed;
    };
    let daemonsets = daemonsets(stores, &schedext);
    let ours = || {
        let uid = Some(uid(&schedext));
        daemonsets.iter().filter(move |live| live.controller == uid)
    };
    let pods: Vec<_> = ours()
        .flat_map(|live| stores.pods.group(&live.uid))
        .collect();
    let nodes = pods.iter().filter_map(|pod| pod.node.clone());
    let kernels = nodes.map(|node| (node.clone(), kernel_of(stores, &node)));
    let kernels: BTreeMap<_, _> = kernels.collect();
    let floors = floors.of(&schedext);
    Sight::Clear(Box::new(Observed {
        releases: match floors.is_empty() {
            true => BTreeMap::new(),
            false => releases(stores, &kernels),
        },
        floors,
        kernels,
        pods,
        refusals: ours().filter_map(|live| refusal(stores, live)).collect(),
        daemonsets,
        share,
        schedext,
        now: Timestamp::now(),
    }))
}

/// The releases of these kernels, of those that can be believed.
fn releases(
    stores: &Stores,
    kernels: &BTreeMap<NodeName, Kernel>,
) -> BTreeMap<NodeName, KernelRelease> {
    let believed = kernels
        .iter()
        .filter(|(_, kernel)| !matches!(kernel, Kernel::Unknown(_)));
    let release = |node: &NodeName| {
        let seen = stores.reports.get(&node_key(node))?;
        seen.report.release.as_ref()?.parse().ok()
    };
    believed
        .filter_map(|(node, _)| Some((node.clone(), release(node)?)))
        .collect()
}

/// What a node's kernel says.
pub(crate) fn kernel_of(stores: &Stores, node: &NodeName) -> Kernel {
    let key = node_key(node);
    let Some(known) = stores.nodes.get(&key) else {
        return Kernel::Unknown(Silence::NoReport);
    };
    let seen = stores.reports.get(&key);
    let report = seen.as_ref().map(|seen| &seen.report);
    let ready = stores.agents.on(node).iter().any(|agent| agent.ready);
    kernel(&known, report, ready)
}

/// What a pod's scheduler is called, as far as it was learned.
pub(crate) fn names_for(stores: &Stores, pod: &LivePod) -> Names {
    let mut names = Names::default();
    for live in stores.daemonsets.group(&pod.daemonset) {
        learn(stores, &live, &mut names);
    }
    names
}

/// What a node looks like at this moment.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    pub(crate) node: Arc<Node>,
    /// What it is good for; nothing when its kernel is not known.
    pub(crate) standing: Option<Standing>,
    /// Whether any pod of ours is there or on its way.
    pub(crate) has_pods: bool,
}

/// What each node is good for, as it looks at this moment; see [`crate::claims`] for what lasts.
pub(crate) fn standings(stores: &Stores) -> Vec<Looks> {
    let mut names = Names::default();
    for live in stores.daemonsets.all() {
        learn(stores, &live, &mut names);
    }
    let standing = |node: Arc<Node>| {
        let pods = stores.pods.on(&node.name);
        let has_pods = !pods.is_empty();
        let pods = pods.iter().map(|pod| (&**pod, names.of(pod).cloned()));
        Looks {
            standing: standing(&kernel_of(stores, &node.name), pods),
            node,
            has_pods,
        }
    };
    stores.nodes.all().into_iter().map(standing).collect()
}

fn learn(stores: &Stores, live: &LiveDaemonSet, names: &mut Names) {
    let Some(controller) = &live.controller else {
        return;
    };
    for seen in stores.schedexts.group(controller) {
        if let Some(schedext) = seen.schedext() {
            names.add(schedext, std::iter::once(live));
        }
    }
}

/// Everything that decides who owns which node.
pub(crate) fn fleet(stores: &Stores, standing: BTreeMap<NodeName, Standing>) -> Fleet {
    let seen = stores.schedexts.all();
    let schedexts: Vec<_> = seen
        .iter()
        .filter_map(|seen| seen.schedext().cloned())
        .collect();
    let needed: HashSet<_> = schedexts
        .iter()
        .flat_map(|schedext| parts(schedext).map(|part| part.key()))
        .collect();
    let mut daemonsets = stores.daemonsets.all();
    daemonsets.retain(|live| live.controller.is_some() || needed.contains(&live.key));
    Fleet {
        schedexts,
        daemonsets,
        nodes: stores.nodes.all(),
        pods: stores.pods.all(),
        standing,
    }
}

/// Those that it controls, and those of the names that it needs.
fn daemonsets(stores: &Stores, schedext: &SchedExt) -> Vec<Arc<LiveDaemonSet>> {
    let mut found = stores.daemonsets.group(&uid(schedext));
    for part in parts(schedext) {
        if let Some(live) = stores.daemonsets.get(&part.key())
            && !found.iter().any(|known| known.uid == live.uid)
        {
            found.push(live);
        }
    }
    found
}

/// The latest word on why a DaemonSet's pods are not made.
fn refusal(stores: &Stores, live: &LiveDaemonSet) -> Option<Refusal> {
    let seen = stores.refusals.group(&live.uid);
    let latest = seen.iter().max_by_key(|seen| seen.refusal.at)?;
    Some(latest.refusal.clone())
}
