//! Decides what must be reconciled again after a change of a store. The stores call it for every
//! change; it decides nothing else.
//!
//! Changes by people and by other SchedExts are handled at once. Changes of pods and counters are
//! gathered for a moment, so that a roll-out over many nodes is not one status write per node.

use std::mem::discriminant;
use std::sync::Arc;
use std::time::Duration;

use sked_api::label;
use sked_plan::live_pod::PodState;
use sked_plan::{LiveDaemonSet, LivePod, Node, NodeName, ObjectKey, Uid};
use tokio::sync::Notify;

use crate::manager::observe::unreachable_since;
use crate::manager::port_holders::is_blocked;
use crate::manager::queue::Queue;
use crate::manager::stores::{
    AgentPod, Change, FailedCreateEvent, ReportOfNode, SchedExtEntry, Source, Store, Stored, Stores,
};

/// How long changes of pods and counters are gathered.
pub(crate) const GATHER: Duration = Duration::from_millis(300);

pub(crate) struct Requeue {
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    /// Triggers [`crate::manager::claims`].
    pub(crate) claims: Arc<Notify>,
    /// The pods for [`crate::manager::gates`].
    pub(crate) gates: Arc<Queue>,
    /// Triggers [`crate::manager::images`].
    pub(crate) images: Arc<Notify>,
    /// Triggers [`crate::manager::port_holders`].
    pub(crate) ports: Arc<Notify>,
}

impl Requeue {
    /// Makes every store report its changes here. Stores and `Requeue` refer to each other; both live
    /// as long as the process.
    pub(crate) fn listen_to_stores(self) {
        fn connect<T: Stored>(
            requeue: &Arc<Requeue>,
            store: impl Fn(&Stores) -> &Store<T>,
            handle: fn(&Requeue, &Change<T>),
        ) {
            let listener = Arc::clone(requeue);
            store(&requeue.stores).listen(move |change| handle(&listener, change));
        }
        let requeue = Arc::new(self);
        connect(&requeue, |stores| &stores.schedexts, Self::schedext);
        connect(&requeue, |stores| &stores.daemonsets, Self::daemonset);
        connect(&requeue, |stores| &stores.pods, Self::pod);
        connect(
            &requeue,
            |stores| &stores.failed_creates,
            Self::failed_create,
        );
        connect(&requeue, |stores| &stores.nodes, Self::node);
        connect(&requeue, |stores| &stores.reports, Self::report);
        connect(&requeue, |stores| &stores.agents, Self::agent);
    }

    /// Whoever wrote a status has just reconciled the SchedExt. A step of its roll-out takes effect
    /// once it is recorded: then claims and plan must follow.
    fn schedext(&self, change: &Change<SchedExtEntry>) {
        let spec = |seen: &Option<Arc<SchedExtEntry>>| {
            let seen = seen.as_ref()?;
            let meta = &seen.schedext()?.metadata;
            Some((
                meta.uid.clone(),
                meta.generation,
                meta.deletion_timestamp.is_some(),
            ))
        };
        let spec_changed = spec(&change.old) != spec(&change.new);
        let rollout_changed = rollout(&change.old) != rollout(&change.new);
        if spec_changed || accepted(&change.old) != accepted(&change.new) {
            self.images.notify_one();
        }
        if spec_changed || rollout_changed {
            self.claims.notify_one();
        }
        if change.new.is_some() {
            // After a change of the record the claims come first; they queue it.
            if spec_changed || change.source == Source::Watch {
                self.queue.now(&change.key);
            }
        } else {
            self.queue.succeeded(&change.key);
        }
        if let [Some(old), Some(new)] = [&change.old, &change.new].map(names)
            && old != new
        {
            let daemonsets = self.stores.daemonsets.group(new.0);
            let pods = daemonsets
                .iter()
                .flat_map(|live| self.stores.pods.group(&live.uid));
            pods.for_each(|pod| self.gates.now(&pod.key));
        }
        if change.old.is_none() || change.new.is_none() {
            self.requeue_by_name(&change.key, &[]);
        }
    }

    /// After an own write the controller requeues the SchedExt by itself, once the write has had
    /// its effect.
    fn daemonset(&self, change: &Change<LiveDaemonSet>) {
        let spec = |live: &Option<Arc<LiveDaemonSet>>| {
            let live = live.as_ref()?;
            let spec = (live.uid.clone(), live.fingerprint, live.controller.clone());
            Some((spec, live.placement.clone(), live.deleting))
        };
        let owners = [&change.old, &change.new].map(|live| live.as_ref()?.controller.clone());
        if spec(&change.old) == spec(&change.new) {
            return owners.iter().flatten().for_each(|uid| self.soon(uid));
        }
        self.claims.notify_one();
        match change.source {
            // Another SchedExt may wait for the name, and the watch reports no further change.
            Source::OwnWrite => {
                let owners: Vec<&Uid> = owners.iter().flatten().collect();
                self.requeue_by_name(&change.key, &owners);
            }
            Source::Watch => {
                let owners = owners.iter().flatten();
                let owners = owners.flat_map(|uid| self.keys(uid));
                owners.for_each(|key| self.queue.now(&key));
                self.requeue_by_name(&change.key, &[]);
            }
        }
    }

    /// The response to a gate write may contain other changes, which the watch does not report again.
    fn pod(&self, change: &Change<LivePod>) {
        if change.source == Source::OwnWrite && only_the_gate_changed(change) {
            // A soak begins with the gate.
            if let Some(pod) = &change.new {
                self.requeue_controller(&pod.daemonset);
            }
            return;
        }
        // Whether an attached scheduler is ours also depends on the container's start.
        let place = |pod: &Option<Arc<LivePod>>| {
            let pod = pod.as_ref()?;
            let place = (pod.daemonset.clone(), pod.node.clone(), pod.deleting);
            let ended = pod.last_exit.as_ref().map(|exit| exit.at);
            Some((place, discriminant(&pod.state), pod.started, ended))
        };
        if place(&change.old) != place(&change.new) {
            self.claims.notify_one();
        }
        if let Some(pod) = &change.new {
            self.gates.now(&change.key);
            if is_blocked(&pod.state) {
                self.ports.notify_one();
            }
        }
        if let Some(pod) = change.new.as_ref().or(change.old.as_ref()) {
            self.requeue_controller(&pod.daemonset);
        }
    }

    fn failed_create(&self, change: &Change<FailedCreateEvent>) {
        if let Some(seen) = change.new.as_ref().or(change.old.as_ref()) {
            self.requeue_controller(&seen.failed_create.daemonset);
        }
    }

    /// After its own label writes the claims loop runs again by itself. A pod that waits for a node
    /// which others got is a reason to plan its SchedExt.
    fn node(&self, change: &Change<Node>) {
        if change.source == Source::Watch {
            self.claims.notify_one();
        }
        let owner = |node: &Option<Arc<Node>>| node.as_ref()?.labels.get(label::OWNER).cloned();
        if owner(&change.old) != owner(&change.new)
            && let Some(node) = &change.new
        {
            for pod in self.stores.pods.on(&node.name) {
                if matches!(pod.state, PodState::Unscheduled(_)) {
                    self.requeue_controller(&pod.daemonset);
                }
            }
        }
        if change.old.as_deref().and_then(unreachable_since)
            != change.new.as_deref().and_then(unreachable_since)
            && let Some(node) = &change.new
        {
            for pod in self.stores.pods.on(&node.name) {
                self.requeue_controller(&pod.daemonset);
            }
        }
        let boot = |node: &Option<Arc<Node>>| {
            let node = node.as_ref()?;
            Some((node.uid.clone(), node.boot_id.clone()))
        };
        if boot(&change.old) != boot(&change.new)
            && let Some(node) = change.new.as_ref().or(change.old.as_ref())
        {
            self.kernel(&node.name);
        }
    }

    fn report(&self, change: &Change<ReportOfNode>) {
        if let Some(seen) = change.new.as_ref().or(change.old.as_ref()) {
            self.kernel(&seen.node);
        }
    }

    fn agent(&self, change: &Change<AgentPod>) {
        for seen in [&change.old, &change.new].into_iter().flatten() {
            self.kernel(&seen.node);
        }
    }

    /// The kernel state of a node changed: the gates of its pods are updated at once, and so are
    /// their SchedExts unless they were reconciled a moment ago.
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

    /// The SchedExts that may need a DaemonSet of this name: the one of that name, and one whose
    /// pool would have it. Not those with one of the uids in `except`.
    fn requeue_by_name(&self, key: &ObjectKey, except: &[&Uid]) {
        let ends = key.name.match_indices('-').map(|(end, _)| end);
        for end in ends.chain([key.name.len()]) {
            let schedext = ObjectKey {
                namespace: key.namespace.clone(),
                name: key.name[..end].to_owned(),
            };
            if let Some(seen) = self.stores.schedexts.get(&schedext)
                && !except.contains(&seen.uid())
            {
                self.queue.now(&schedext);
            }
        }
    }

    fn requeue_controller(&self, daemonset: &Uid) {
        // A pod refers to its DaemonSet, not to its SchedExt.
        for live in self.stores.daemonsets.group(daemonset) {
            live.controller.iter().for_each(|uid| self.soon(uid));
        }
    }

    fn soon(&self, schedext: &Uid) {
        for key in self.keys(schedext) {
            self.queue.soon(&key, GATHER);
        }
    }

    fn keys(&self, schedext: &Uid) -> Vec<ObjectKey> {
        let found = self.stores.schedexts.group(schedext);
        found.iter().map(|seen| seen.key()).collect()
    }
}

/// What the status records of the roll-out.
fn rollout(seen: &Option<Arc<SchedExtEntry>>) -> Option<impl PartialEq + '_> {
    let status = seen.as_ref()?.schedext()?.status.as_ref()?;
    let accepted = &status.accepted;
    let lasting = (
        &status.last_good,
        &status.rejected,
        &status.quarantined,
        accepted,
    );
    let rollout = status
        .rollout
        .as_ref()
        .map(|one| (&one.revision, &one.selection, one.phase, &one.canaries));
    Some((rollout, lasting))
}

/// The images that the status has as accepted.
fn accepted(seen: &Option<Arc<SchedExtEntry>>) -> Option<&sked_api::Accepted> {
    let status = seen.as_ref()?.schedext()?.status.as_ref()?;
    status.accepted.as_ref()
}

/// The names of schedulers that gates depend on.
fn names(seen: &Option<Arc<SchedExtEntry>>) -> Option<(&Uid, Vec<&Option<String>>)> {
    let seen = seen.as_ref()?;
    let status = seen.schedext()?.status.as_ref()?;
    let pools = status.pools.iter();
    let pools = pools.flat_map(|pool| [&pool.ops, &pool.ops_template]);
    let names = pools.chain([&status.ops, &status.ops_template]);
    Some((seen.uid(), names.collect()))
}

fn only_the_gate_changed(change: &Change<LivePod>) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return false;
    };
    let gate = old.gate.clone();
    **old
        == LivePod {
            gate,
            ..LivePod::clone(new)
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey {
            namespace: "here".to_owned(),
            name: name.to_owned(),
        }
    }

    /// The watch may report the deletion later, when it is no change any more.
    #[tokio::test]
    async fn a_name_that_an_own_delete_frees_wakes_who_waits_for_it() {
        let (stores, queue) = (Arc::<Stores>::default(), Arc::<Queue>::default());
        let requeue = Requeue {
            stores: Arc::clone(&stores),
            queue: Arc::clone(&queue),
            claims: Arc::default(),
            gates: Arc::default(),
            images: Arc::default(),
            ports: Arc::default(),
        };
        for name in ["a", "a-x"] {
            let metadata =
                json!({"namespace": "here", "name": name, "uid": format!("uid-of-{name}")});
            let object = json!({"metadata": metadata, "spec": {"sched": "a:1"}});
            stores
                .schedexts
                .put(Source::Watch, "1", SchedExtEntry::new(object));
        }
        let owner = json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt", "name": "a",
            "uid": "uid-of-a", "controller": true});
        let live = LiveDaemonSet::read(&json!({
            "metadata": {"namespace": "here", "name": "a-x", "uid": "ds", "resourceVersion": "2", "ownerReferences": [owner]},
            "spec": {"template": {"spec": {"containers": []}}},
        }));
        stores.daemonsets.put(Source::Watch, "2", live.unwrap());
        requeue.listen_to_stores();
        stores.daemonsets.remove(Source::OwnWrite, &key("a-x"));
        assert_eq!(queue.snapshot().depth, 1, "not the one that deleted it");
        assert_eq!(queue.next().await, key("a-x"));
        stores.daemonsets.remove(Source::Watch, &key("a-x"));
        assert_eq!(queue.snapshot().depth, 0);
    }
}
