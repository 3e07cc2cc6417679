//! What is observed of a SchedExt, as roll-outs need it: its pods by part, who is up, who is down.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use sked_api::SchedExt;

use super::settings::{Settings, max_unavailable};
use super::templates::Templates;
use crate::kernel_state::KernelState;
use crate::live_pod::LivePod;
use crate::name::{NodeName, Uid};
use crate::node_state::NodeState;
use crate::observed::Observed;
use crate::part::{Part, PartId, Stage, uid};
use crate::placed_pods::PlacedPod;
use crate::plan::Plan;

pub(super) struct View<'a> {
    pub(super) observed: &'a Observed,
    pub(super) schedext: &'a SchedExt,
    pub(super) settings: Settings,
    pub(super) templates: &'a Templates<'a>,
    pub(super) pods: Vec<PartPod<'a>>,
    /// Whether the DaemonSets are what the plan wants.
    pub(super) is_quiet: bool,
    pub(super) now: Timestamp,
}

/// A pod of one of the SchedExt's parts.
pub(super) struct PartPod<'a> {
    pub(super) pod: &'a LivePod,
    pub(super) state: &'a NodeState,
    pub(super) stage: Stage,
    pub(super) node: &'a NodeName,
    /// When its node's kernel attached what it runs now, if that is known.
    kernel_since: Option<Timestamp>,
    /// Whether it runs what its DaemonSet should run.
    pub(super) is_current: bool,
    /// Whether its part would run something else with the last good revision.
    pub(super) is_changed: bool,
}

impl<'a> View<'a> {
    pub(super) fn new(
        observed: &'a Observed,
        templates: &'a Templates<'a>,
        placed: &'a [PlacedPod<'a>],
        plan: &Plan,
    ) -> Self {
        let schedext = &*observed.schedext;
        let good = super::last_good(schedext);
        let good_revisions: HashMap<Option<String>, String> = good
            .iter()
            .flat_map(crate::part::parts)
            .map(|part| (part.pool_name().map(str::to_owned), part.revision()))
            .collect();
        let by_key: BTreeMap<_, _> = templates
            .parts()
            .into_iter()
            .map(|part| (part.key(), (part.id(), part.revision())))
            .collect();
        let uid = uid(schedext);
        let own = observed.daemonsets.iter();
        let own = own.filter(|live| live.controller.as_ref() == Some(&uid) && !live.deleting);
        let daemonsets: HashMap<&Uid, &(PartId, String)> = own
            .filter_map(|live| Some((&live.uid, by_key.get(&live.key)?)))
            .collect();
        let pods = placed.iter().filter_map(|placed| {
            let (id, revision) = daemonsets.get(&placed.pod.daemonset)?;
            let node = placed.pod.node.as_ref()?;
            Some(PartPod {
                pod: placed.pod,
                state: &placed.state,
                stage: id.stage,
                node,
                kernel_since: match observed.kernels.get(node) {
                    Some(KernelState::Enabled { since, .. }) => Some(*since),
                    _ => None,
                },
                is_current: placed.pod.revision == *revision,
                is_changed: good_revisions.get(&id.pool) != Some(revision),
            })
        });
        let settings = Settings::new(schedext);
        Self {
            observed,
            schedext,
            templates,
            pods: pods.collect(),
            is_quiet: plan.is_settled(),
            settings,
            now: observed.now,
        }
    }

    /// Whether the claims have read the current spec and the current record.
    pub(super) fn has_claims(&self) -> bool {
        super::are_claims_current(self.schedext, &self.observed.assignment)
    }

    /// How many nodes should run the scheduler.
    pub(super) fn nodes(&self) -> usize {
        self.observed.assignment.nodes()
    }

    pub(super) fn budget(&self) -> usize {
        max_unavailable(self.schedext, self.nodes())
    }

    /// How many of its nodes do not run the scheduler, or are about to lose it: a node that was
    /// given to the canary, or taken back, and whose old pod is still there. Dead nodes do not count.
    pub(super) fn down(&self) -> usize {
        let up: BTreeSet<_> = self.up().map(|one| one.node).collect();
        let missing = self
            .nodes()
            .saturating_sub(up.len() + self.dead_besides(&up));
        let canaries = self.canary_nodes().into_iter().map(NodeName::from);
        let nodes = self.pods.iter().map(|one| one.node.clone());
        missing.max(self.known_down(nodes.chain(canaries), &up))
    }

    /// How many of these nodes are not among those that are up. The claims may be older than the
    /// pods: a node that they do not count yet would hide one that is down.
    fn known_down(&self, nodes: impl Iterator<Item = NodeName>, up: &BTreeSet<&NodeName>) -> usize {
        let down = nodes.filter(|node| !up.contains(node) && !self.is_dead(node));
        down.collect::<BTreeSet<_>>().len()
    }

    /// How many nodes are dead, of those that are not among these.
    fn dead_besides(&self, others: &BTreeSet<&NodeName>) -> usize {
        let dead = self.observed.unreachable.keys();
        let dead = dead.filter(|node| self.is_dead(node) && !others.contains(node));
        dead.count()
    }

    fn up(&self) -> impl Iterator<Item = &PartPod<'a>> {
        let recorded = self.canary_nodes();
        self.pods.iter().filter(move |one| {
            let right = (one.stage == Stage::Canary) == recorded.contains(&*one.node.0);
            right && one.attached_since().is_some()
        })
    }

    pub(super) fn are_canaries_up(&self) -> bool {
        let up: BTreeSet<_> = self.up().map(|one| &*one.node.0).collect();
        self.canary_nodes().iter().all(|node| up.contains(node))
    }

    /// Whether the claims still give nodes to canaries.
    pub(super) fn has_canary_claims(&self) -> bool {
        let mut parts = self.observed.assignment.parts.keys();
        parts.any(|id| id.stage == Stage::Canary)
    }

    /// Whether no stable DaemonSet has a pod of an earlier template, except on dead nodes.
    pub(super) fn is_stable_current(&self) -> bool {
        let mut stable = self.pods.iter().filter(|one| one.stage == Stage::Stable);
        self.is_quiet && stable.all(|one| one.is_current || self.is_dead(one.node))
    }

    /// Whether the DaemonSet controller has pods of a stable DaemonSet to replace.
    pub(super) fn is_replacing(&self) -> bool {
        let uid = uid(self.schedext);
        let parts = self.templates.stable_parts();
        let keys: BTreeSet<_> = parts.iter().map(Part::key).collect();
        let live = self.observed.daemonsets.iter();
        let mut own = live.filter(|live| {
            live.controller.as_ref() == Some(&uid) && keys.contains(&live.key) && !live.deleting
        });
        own.any(|live| live.observed_generation < live.generation || live.updated < live.desired)
    }

    pub(super) fn has_last_good(&self) -> bool {
        let status = self.schedext.status.as_ref();
        status.is_some_and(|status| status.last_good.is_some())
    }

    pub(super) fn canary_nodes(&self) -> BTreeSet<&str> {
        let nodes = self.templates.canary_parts().flat_map(|(_, nodes)| nodes);
        nodes.map(String::as_str).collect()
    }

    /// Whether every node of the stable DaemonSets runs what it should for that long, except dead
    /// ones.
    pub(super) fn is_stable_done(&self, soak: SignedDuration) -> bool {
        let stable = self.observed.assignment.parts.iter();
        let stable = stable.filter(|(id, _)| id.stage == Stage::Stable);
        let wanted: usize = stable.map(|(_, part)| part.nodes).sum();
        let pods = self.pods.iter().filter(|one| one.stage == Stage::Stable);
        let done = pods.filter(|one| one.runs_for(soak, self.now) && !self.is_dead(one.node));
        let dead = self.observed.unreachable.keys();
        let dead = dead.filter(|node| self.is_dead(node));
        self.is_stable_current() && done.count() + dead.count() >= wanted
    }

    /// Kubernetes has not heard of the node for longer than a scheduler may take to attach.
    pub(super) fn is_dead(&self, node: &NodeName) -> bool {
        let since = self.observed.unreachable.get(node);
        since.is_some_and(|since| self.now.duration_since(*since) >= self.settings.attach_deadline)
    }

    /// Whether no more nodes are without their scheduler than the DaemonSet controller would take
    /// it from at once. It replaces every old pod that is not available, however many there are;
    /// with the soak, also those that were attached only a moment ago.
    pub(super) fn is_healthy(&self) -> bool {
        let stable = self.observed.assignment.parts.iter();
        let stable = stable.filter(|(id, _)| id.stage == Stage::Stable);
        let wanted: usize = stable.map(|(_, part)| part.nodes).sum();
        let stable = self.pods.iter().filter(|one| one.stage == Stage::Stable);
        let available = stable.clone().filter(|one| {
            let since = one.attached_since();
            since.is_some_and(|since| has_passed(since, self.settings.soak, self.now))
        });
        let available: BTreeSet<_> = available.map(|one| one.node).collect();
        let dead = self.dead_besides(&available);
        let missing = wanted.saturating_sub(available.len() + dead);
        let nodes = stable.map(|one| one.node.clone());
        missing.max(self.known_down(nodes, &available)) <= self.budget()
    }
}

impl PartPod<'_> {
    /// Since when the kernel runs it without a break. A kernel that is unknown changes nothing.
    pub(super) fn attached_since(&self) -> Option<Timestamp> {
        let gate = self.pod.gate.as_ref().filter(|gate| gate.attached)?;
        let runs = matches!(self.state, NodeState::Attached(_) | NodeState::Unknown(_));
        // The gate has the time of the node's report, whose clock may be behind. After a reboot, or
        // an end that is no failure, it still has the time of the container before, if the kernel
        // runs the scheduler again before anybody saw the break.
        let later = [self.pod.started, self.kernel_since].into_iter().flatten();
        let since = gate.since.max(self.pod.created);
        runs.then(|| later.fold(since, Timestamp::max))
    }

    /// Whether it is what the node should run, and has run for that long.
    pub(super) fn runs_for(&self, soak: SignedDuration, now: Timestamp) -> bool {
        let since = self.attached_since();
        self.is_current && since.is_some_and(|since| has_passed(since, soak, now))
    }
}

fn has_passed(since: Timestamp, time: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(since) >= time
}
