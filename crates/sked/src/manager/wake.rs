//! Who has to be looked at again when something changed. Called by the watches; decides nothing
//! else.
//!
//! What a person or a rival did is dealt with at once; what pods and counts do is gathered for a
//! moment, so that a roll-out over many nodes is not a status write for each.

use std::sync::Arc;
use std::time::Duration;

use sked_plan::{LiveDaemonSet, LivePod, Node, NodeName, ObjectKey, Uid};
use tokio::sync::Notify;

use crate::queue::Queue;
use crate::stores::{AgentSeen, Change, Kept, RefusalSeen, ReportSeen, SchedExtSeen, Stores};

/// How long counts and pods are gathered.
pub(crate) const GATHER: Duration = Duration::from_millis(300);

/// Whom to wake.
#[derive(Debug)]
pub(crate) struct Wake {
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    /// Wakes [`crate::claims`].
    pub(crate) claims: Arc<Notify>,
    /// Wakes [`crate::gates`], by pod.
    pub(crate) gates: Arc<Queue>,
    /// Wakes [`crate::images`].
    pub(crate) images: Arc<Notify>,
}

impl Wake {
    /// A SchedExt was made, changed or deleted.
    pub(crate) fn schedext(&self, change: &Change<SchedExtSeen>) {
        let spec = |seen: &Option<Arc<SchedExtSeen>>| {
            let seen = seen.as_ref()?;
            let meta = &seen.schedext()?.metadata;
            Some((
                meta.uid.clone(),
                meta.generation,
                meta.deletion_timestamp.is_some(),
            ))
        };
        if spec(&change.old) != spec(&change.new) {
            self.claims.notify_one();
            self.images.notify_one();
        }
        if change.new.is_some() {
            self.queue.now(&change.key);
        } else {
            self.queue.succeeded(&change.key);
        }
        if change.old.is_none() || change.new.is_none() {
            self.needing(&change.key);
        }
    }

    /// A DaemonSet did.
    pub(crate) fn daemonset(&self, change: &Change<LiveDaemonSet>) {
        let said = |live: &Option<Arc<LiveDaemonSet>>| {
            let live = live.as_ref()?;
            let said = (live.uid.clone(), live.shape, live.controller.clone());
            Some((said, live.placement.clone(), live.deleting))
        };
        let owners = [&change.old, &change.new].map(|live| live.as_ref()?.controller.clone());
        if said(&change.old) == said(&change.new) {
            return owners.iter().flatten().for_each(|uid| self.later(uid));
        }
        self.claims.notify_one();
        for uid in owners.iter().flatten() {
            for key in self.keys(uid) {
                self.queue.now(&key);
            }
        }
        self.needing(&change.key);
    }

    /// A scheduler's pod did.
    pub(crate) fn pod(&self, change: &Change<LivePod>) {
        // Whose a scheduler is that a kernel runs also goes by when a container was started.
        let place = |pod: &Option<Arc<LivePod>>| {
            let pod = pod.as_ref()?;
            let place = (pod.daemonset.clone(), pod.node.clone(), pod.deleting);
            Some((place, pod.started, pod.ending.is_some()))
        };
        if place(&change.old) != place(&change.new) {
            self.claims.notify_one();
        }
        if change.new.is_some() {
            self.gates.now(&change.key);
        }
        if let Some(pod) = change.new.as_ref().or(change.old.as_ref()) {
            self.controlling(&pod.daemonset);
        }
    }

    /// A DaemonSet's pods are not made.
    pub(crate) fn refusal(&self, change: &Change<RefusalSeen>) {
        if let Some(seen) = change.new.as_ref().or(change.old.as_ref()) {
            self.controlling(&seen.refusal.daemonset);
        }
    }

    /// A node came, went, was started again, or got other labels or taints.
    pub(crate) fn node(&self, change: &Change<Node>) {
        self.claims.notify_one();
        let life = |node: &Option<Arc<Node>>| {
            let node = node.as_ref()?;
            Some((node.uid.clone(), node.boot_id.clone()))
        };
        if life(&change.old) != life(&change.new)
            && let Some(node) = change.new.as_ref().or(change.old.as_ref())
        {
            self.kernel(&node.name);
        }
    }

    /// A kernel says something else.
    pub(crate) fn report(&self, change: &Change<ReportSeen>) {
        if let Some(seen) = change.new.as_ref().or(change.old.as_ref()) {
            self.kernel(&seen.node);
        }
    }

    /// An agent came, went, or is or is not to be believed any more.
    pub(crate) fn agent(&self, change: &Change<AgentSeen>) {
        for seen in [&change.old, &change.new].into_iter().flatten() {
            self.kernel(&seen.node);
        }
    }

    /// What is known of a node's kernel changed: its pods' gates follow at once, and so do their
    /// SchedExts after a quiet while.
    fn kernel(&self, node: &NodeName) {
        self.claims.notify_one();
        for pod in self.stores.pods.on(node) {
            self.gates.now(&pod.key);
            for live in self.stores.daemonsets.group(&pod.daemonset) {
                for key in live.controller.iter().flat_map(|uid| self.keys(uid)) {
                    self.queue.soon(&key, Duration::ZERO);
                }
            }
        }
    }

    /// Those that may need a DaemonSet of this name: the SchedExt of the name, and one whose pool
    /// would be called so.
    fn needing(&self, key: &ObjectKey) {
        let ends = key.name.match_indices('-').map(|(end, _)| end);
        for end in ends.chain([key.name.len()]) {
            let holder = ObjectKey {
                namespace: key.namespace.clone(),
                name: key.name[..end].to_owned(),
            };
            if self.stores.schedexts.get(&holder).is_some() {
                self.queue.now(&holder);
            }
        }
    }

    fn controlling(&self, daemonset: &Uid) {
        // A pod does not know its SchedExt, only its DaemonSet.
        for live in self.stores.daemonsets.group(daemonset) {
            live.controller.iter().for_each(|uid| self.later(uid));
        }
    }

    fn later(&self, schedext: &Uid) {
        for key in self.keys(schedext) {
            self.queue.soon(&key, GATHER);
        }
    }

    fn keys(&self, schedext: &Uid) -> Vec<ObjectKey> {
        let found = self.stores.schedexts.group(schedext);
        found.iter().map(|seen| seen.key()).collect()
    }
}
