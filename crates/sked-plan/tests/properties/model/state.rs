//! A state of the cluster and of its manager.

use std::collections::BTreeSet;
use std::sync::Arc;

use sked_plan::assignment::Assignments;
use sked_plan::{Node, NodeName};

use super::objects::{DaemonSet, Pod, Report, SchedExt};
use super::table::Table;
use super::times::{Dated, later};

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct State {
    pub(super) schedexts: Table<&'static str, SchedExt>,
    pub(super) nodes: Table<NodeName, Node>,
    pub(super) daemonsets: Table<String, DaemonSet>,
    pub(super) pods: Table<u32, Pod>,
    pub(super) reports: Table<NodeName, Report>,
    /// Nodes whose agent is not ready.
    pub(super) silent: BTreeSet<NodeName>,
    /// What the manager computed last; none since it was started.
    pub(super) claims: Option<Arc<Assignments>>,
    pub(super) budget: Budget,
    pub(super) history: History,
}

/// How often the surroundings may still interfere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) faults: u8,
    /// Ejections of images that are bad.
    pub(super) failures: u8,
    pub(super) edits: u8,
}

/// What the laws remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct History {
    /// Where each image has had a pod.
    pub(super) reached: BTreeSet<(String, NodeName)>,
    /// Nodes that lost a scheduler which the kernel ran, because its pod was deleted.
    pub(super) taken: BTreeSet<NodeName>,
    /// Nodes that joined since the beginning.
    pub(super) joined: BTreeSet<NodeName>,
    /// Nodes where a scheduler ended.
    pub(super) hit: BTreeSet<NodeName>,
    /// Nodes that were dead.
    pub(super) died: BTreeSet<NodeName>,
    /// A law that does not hold.
    pub(super) broken: Option<String>,
}

impl State {
    pub(super) fn is_dead(&self, node: &NodeName) -> bool {
        let node = self.nodes.get(node);
        node.is_none_or(|node| node.taints.iter().any(|taint| taint.effect == "NoExecute"))
    }

    pub(super) fn daemonset(&self, uid: u32) -> Option<&DaemonSet> {
        let mut all = self.daemonsets.all();
        all.find_map(|(_, one)| (one.uid == uid).then_some(one))
    }

    pub(super) fn pods_on(&self, node: &NodeName) -> impl Iterator<Item = (u32, &Pod)> {
        let all = self.pods.all();
        all.filter(move |(_, pod)| pod.node == *node)
            .map(|(uid, pod)| (*uid, pod))
    }

    /// Names the first law that is broken.
    pub(super) fn break_law(&mut self, law: &str) {
        self.history.broken.get_or_insert_with(|| law.to_owned());
    }

    /// A uid that nobody remembers.
    pub(super) fn free_pod_uid(&self) -> u32 {
        let is_used =
            |uid: &u32| self.pods.get(uid).is_some() || self.pods.seen().contains_key(uid);
        (1..).find(|uid| !is_used(uid)).unwrap()
    }

    /// The same for a DaemonSet, whose pods remember it as well.
    pub(super) fn free_daemonset_uid(&self) -> u32 {
        let stored = self.daemonsets.seen().values().map(|one| one.object.uid);
        let live = self.daemonsets.all().map(|(_, one)| one.uid);
        let pods = self.pods.all().map(|(_, pod)| pod.daemonset);
        let seen = self.pods.seen().values().map(|one| one.object.daemonset);
        let used: BTreeSet<u32> = stored.chain(live).chain(pods).chain(seen).collect();
        (1..).find(|uid| !used.contains(uid)).unwrap()
    }

    pub(super) fn pass(&mut self, seconds: i64) {
        let mut times = BTreeSet::new();
        self.each_time(&mut |time| {
            times.insert(*time);
        });
        let moved = later(&times, seconds);
        self.each_time(&mut |time| *time = moved[time]);
    }
}

impl Dated for State {
    fn each_time(&mut self, visit: &mut dyn FnMut(&mut i64)) {
        self.schedexts.each_time(visit);
        self.nodes.each_time(visit);
        self.daemonsets.each_time(visit);
        self.pods.each_time(visit);
        self.reports.each_time(visit);
    }
}
