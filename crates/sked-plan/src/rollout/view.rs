//! What is observed of a SchedExt, as roll-outs need it: its pods by part, who is up, who is down.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use sked_api::SchedExt;

use super::settings::{Settings, max_unavailable};
use super::templates::{Stable, Templates};
use crate::kernel_state::KernelState;
use crate::live_pod::{LivePod, PodState};
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
    /// The nodes that Kubernetes takes for dead, by their parts; their pods may be about to be deleted
    /// for ever.
    dead: Vec<(&'a NodeName, PartId)>,
    /// The nodes whose pod is being deleted, by their parts. On a node whose kernel is unknown it may
    /// be about to be deleted for ever.
    leaving: Vec<(&'a NodeName, PartId)>,
    /// Whether the DaemonSets are what the plan wants.
    pub(super) is_quiet: bool,
    pub(super) now: Timestamp,
}

/// A pod of one of the SchedExt's parts.
pub(super) struct PartPod<'a> {
    pub(super) pod: &'a LivePod,
    pub(super) state: &'a NodeState,
    pub(super) pool: Option<String>,
    pub(super) stage: Stage,
    pub(super) node: &'a NodeName,
    /// Since when its gate is as it is, if the gate says so.
    gate_since: Option<Timestamp>,
    /// When its container was started and when its node's kernel attached what it runs now, as far as
    /// that is known.
    started: [Option<Timestamp>; 2],
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
        // The clock of a node may be ahead: such a time says nothing.
        let past = |time: &Timestamp| *time <= observed.now;
        let pods = placed.iter().filter_map(|placed| {
            let (id, revision) = daemonsets.get(&placed.pod.daemonset)?;
            let node = placed.pod.node.as_ref()?;
            let attached = match observed.kernels.get(node) {
                Some(KernelState::Enabled { since, .. }) => Some(*since),
                _ => None,
            };
            let gate = placed.pod.gate.as_ref();
            Some(PartPod {
                pod: placed.pod,
                state: &placed.state,
                pool: id.pool.clone(),
                stage: id.stage,
                node,
                gate_since: gate.map(|gate| gate.since).filter(past),
                started: [placed.pod.started, attached].map(|time| time.filter(past)),
                is_current: placed.pod.revision == *revision,
                is_changed: good_revisions.get(&id.pool) != Some(revision),
            })
        });
        let settings = Settings::new(schedext);
        let is_dead = |node: &&NodeName| is_dead(observed, &settings, node, observed.now);
        let dead = observed.pods.iter().filter_map(|pod| {
            let (id, _) = daemonsets.get(&pod.daemonset)?;
            Some((pod.node.as_ref().filter(is_dead)?, id.clone()))
        });
        let leaving = observed.pods.iter().filter(|pod| pod.deleting);
        let leaving = leaving.filter_map(|pod| {
            let (id, _) = daemonsets.get(&pod.daemonset)?;
            let node = pod.node.as_ref()?;
            let kernel = observed.kernels.get(node)?;
            let is_known = !matches!(kernel, KernelState::Unknown(_));
            is_known.then(|| (node, id.clone()))
        });
        Self {
            observed,
            schedext,
            templates,
            pods: pods.collect(),
            dead: dead.collect(),
            leaving: leaving.collect(),
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
        self.nodes_in(Scope::All)
    }

    fn nodes_in(&self, scope: Scope<'_>) -> usize {
        let parts = self.observed.assignment.parts.iter();
        let parts = parts.filter(|(id, _)| scope.has(id.pool.as_deref()));
        parts.map(|(_, part)| part.nodes.len()).sum()
    }

    pub(super) fn budget(&self) -> usize {
        self.budget_in(Scope::All)
    }

    fn budget_in(&self, scope: Scope<'_>) -> usize {
        max_unavailable(self.schedext, self.nodes_in(scope))
    }

    /// How many nodes may lose their scheduler now.
    pub(super) fn allowance(&self, scope: Scope<'_>) -> usize {
        self.budget_in(scope).saturating_sub(self.down(scope))
    }

    /// How many of its nodes do not run the scheduler, or are about to lose it: a node that was
    /// given to the canary, or taken back, and whose old pod is still there. Dead nodes do not count.
    fn down(&self, scope: Scope<'_>) -> usize {
        let up = self.up_nodes(scope);
        let dead = self.dead_besides(scope, &up);
        let missing = self.nodes_in(scope).saturating_sub(up.len() + dead);
        let canaries = self.templates.canary_parts();
        let canaries = canaries.filter(|(part, _)| scope.has(part.pool_name()));
        let canaries = canaries.flat_map(|(_, nodes)| nodes);
        let canaries = canaries.map(|node| NodeName::from(node.as_str()));
        let nodes = self.pods_in(scope).map(|one| one.node.clone());
        let leaving = self.leaving.iter();
        let leaving = leaving.filter(|(_, id)| scope.has(id.pool.as_deref()));
        let leaving = leaving.map(|(node, _)| NodeName::clone(node));
        missing.max(self.known_down(nodes.chain(canaries).chain(leaving), &up))
    }

    fn pods_in(&self, scope: Scope<'_>) -> impl Iterator<Item = &PartPod<'a>> {
        let all = self.pods.iter();
        all.filter(move |one| scope.has(one.pool.as_deref()))
    }

    /// The nodes whose kernels run the scheduler.
    pub(super) fn up_nodes(&self, scope: Scope<'_>) -> BTreeSet<&'a NodeName> {
        let up = self.up().filter(|one| scope.has(one.pool.as_deref()));
        up.map(|one| one.node).collect()
    }

    /// How many of these nodes are not among those that are up. The claims may be older than the
    /// pods: a node that they do not count yet would hide one that is down.
    fn known_down(&self, nodes: impl Iterator<Item = NodeName>, up: &BTreeSet<&NodeName>) -> usize {
        let down = nodes.filter(|node| !up.contains(node) && !self.is_dead(node));
        down.collect::<BTreeSet<_>>().len()
    }

    /// How many nodes are dead, of those that are not among these.
    fn dead_besides(&self, scope: Scope<'_>, others: &BTreeSet<&NodeName>) -> usize {
        let dead = self.dead.iter();
        let dead =
            dead.filter(|(node, id)| scope.has(id.pool.as_deref()) && !others.contains(node));
        dead.map(|(node, _)| node).collect::<BTreeSet<_>>().len()
    }

    fn up(&self) -> impl Iterator<Item = &PartPod<'a>> {
        let recorded = self.canary_nodes();
        self.pods.iter().filter(move |one| {
            let right = (one.stage == Stage::Canary) == recorded.contains(&*one.node.0);
            right && one.attached_since().is_some()
        })
    }

    /// Whether there is a canary, and each of its kernels runs the new revision.
    pub(super) fn are_canaries_up(&self) -> bool {
        let up = self.up().filter(|one| one.is_current);
        let up: BTreeSet<_> = up.map(|one| &*one.node.0).collect();
        let nodes = self.canary_nodes();
        !nodes.is_empty() && nodes.iter().all(|node| up.contains(node))
    }

    /// Whether the claims still give nodes to canaries.
    pub(super) fn has_canary_claims(&self) -> bool {
        let mut parts = self.observed.assignment.parts.keys();
        parts.any(|id| id.stage == Stage::Canary)
    }

    /// Whether no stable DaemonSet has a pod of an earlier template, except on dead nodes.
    pub(super) fn is_stable_current(&self) -> bool {
        let mut stable = self.pods.iter().filter(|one| one.stage == Stage::Stable);
        // What is held stays as it is: which revision that should be is not known.
        let is_held = matches!(self.templates.stable(), Stable::Held(_));
        let is_right = is_held || stable.all(|one| one.is_current || self.is_dead(one.node));
        self.is_quiet && is_right && !self.is_replacing()
    }

    /// Whether the DaemonSet controller has pods of a stable DaemonSet to replace, also those whose
    /// template has changed without the revision. Dead nodes do not count.
    pub(super) fn is_replacing(&self) -> bool {
        let uid = uid(self.schedext);
        let parts = self.templates.stable_parts();
        let keys: BTreeSet<_> = parts.iter().map(Part::key).collect();
        let live = self.observed.daemonsets.iter();
        let mut own = live.filter(|live| {
            live.controller.as_ref() == Some(&uid) && keys.contains(&live.key) && !live.deleting
        });
        own.any(|live| {
            let pods = self.observed.pods.iter();
            let nodes = pods.filter(|pod| pod.daemonset == live.uid);
            let nodes = nodes.filter_map(|pod| pod.node.as_ref());
            let dead = nodes.filter(|node| self.is_dead(node));
            let dead = dead.collect::<BTreeSet<_>>().len();
            let updated = usize::try_from(live.updated).unwrap_or_default() + dead;
            let desired = usize::try_from(live.desired).unwrap_or_default();
            live.observed_generation < live.generation || updated < desired
        })
    }

    pub(super) fn has_last_good(&self) -> bool {
        let status = self.schedext.status.as_ref();
        status.is_some_and(|status| status.last_good.is_some())
    }

    pub(super) fn canary_nodes(&self) -> BTreeSet<&str> {
        let nodes = self.templates.canary_parts().flat_map(|(_, nodes)| nodes);
        nodes.map(String::as_str).collect()
    }

    /// Whether every node of the stable DaemonSets runs what it should for that long. Dead nodes are
    /// passed over, and so are those that could not begin, as many as may be without a scheduler.
    pub(super) fn is_stable_done(&self, soak: SignedDuration) -> bool {
        let stable = self.observed.assignment.parts.iter();
        let stable = stable.filter(|(id, _)| id.stage == Stage::Stable);
        let wanted: usize = stable.map(|(_, part)| part.nodes.len()).sum();
        let pods = self.pods.iter().filter(|one| one.stage == Stage::Stable);
        let alive: Vec<_> = pods.filter(|one| !self.is_dead(one.node)).collect();
        let dead = self.dead.iter().filter(|(_, id)| id.stage == Stage::Stable);
        let dead: BTreeSet<_> = dead.map(|(node, _)| node).collect();
        let done = alive.iter().filter(|one| one.runs_for(soak, self.now));
        let done = done.count();
        let late = |one: &&&PartPod<'_>| {
            let until = one.begins_until(&self.settings);
            until.is_some_and(|until| until <= self.now)
        };
        let late = alive.iter().filter(late).count().min(self.budget());
        // Where none runs it, the others are no exceptions.
        let passed_over = dead.len() + if done > 0 { late } else { 0 };
        self.is_stable_current() && done + passed_over >= wanted
    }

    /// Kubernetes has not heard of the node for longer than a scheduler may take to attach.
    pub(super) fn is_dead(&self, node: &NodeName) -> bool {
        is_dead(self.observed, &self.settings, node, self.now)
    }

    /// Whether no more nodes are without their scheduler than the DaemonSet controller would take
    /// it from at once. It replaces every old pod that is not available, however many there are;
    /// with the soak, also those that were attached only a moment ago.
    pub(super) fn is_healthy(&self) -> bool {
        let parts = self.observed.assignment.parts.keys();
        let stable = parts.filter(|id| id.stage == Stage::Stable);
        let mut scopes = stable.map(|id| Scope::Pool(id.pool.as_deref()));
        scopes.all(|scope| self.is_healthy_in(scope)) && self.is_healthy_in(Scope::All)
    }

    fn is_healthy_in(&self, scope: Scope<'_>) -> bool {
        let parts = self.observed.assignment.parts.iter();
        let parts = parts.filter(|(id, _)| id.stage == Stage::Stable);
        let parts = parts.filter(|(id, _)| scope.has(id.pool.as_deref()));
        let wanted: usize = parts.map(|(_, part)| part.nodes.len()).sum();
        let stable = || self.pods_in(scope).filter(|one| one.stage == Stage::Stable);
        let available = stable().filter(|one| {
            let since = one.attached_since();
            since.is_some_and(|since| has_passed(since, self.settings.soak, self.now))
        });
        let available: BTreeSet<_> = available.map(|one| one.node).collect();
        let dead = self.dead_besides(scope, &available);
        let missing = wanted.saturating_sub(available.len() + dead);
        let leaving = self.leaving.iter();
        let leaving = leaving.filter(|(_, id)| id.stage == Stage::Stable);
        let leaving = leaving.filter(|(_, id)| scope.has(id.pool.as_deref()));
        let leaving = leaving.map(|(node, _)| NodeName::clone(node));
        let nodes = stable().map(|one| one.node.clone()).chain(leaving);
        missing.max(self.known_down(nodes, &available)) <= self.budget_in(scope)
    }
}

fn is_dead(observed: &Observed, settings: &Settings, node: &NodeName, now: Timestamp) -> bool {
    let since = observed.unreachable.get(node);
    since.is_some_and(|since| now.duration_since(*since) >= settings.attach_deadline)
}

/// The parts that a number is about, each with its canary.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    All,
    /// One pool; the base is `None`.
    Pool(Option<&'a str>),
}

impl Scope<'_> {
    fn has(self, pool: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Pool(one) => one == pool,
        }
    }
}

impl PartPod<'_> {
    /// Since when the kernel runs it without a break. A kernel that is unknown changes nothing.
    pub(super) fn attached_since(&self) -> Option<Timestamp> {
        self.pod.gate.as_ref().filter(|gate| gate.attached)?;
        let runs = matches!(self.state, NodeState::Attached(_) | NodeState::Unknown(_));
        // The gate has the time of the node's report, whose clock may be behind. After a reboot, or
        // an end that is no failure, it still has the time of the container before, if the kernel
        // runs the scheduler again before anybody saw the break.
        let [started, attached] = self.started;
        let later = [self.gate_since, started, attached].into_iter().flatten();
        runs.then(|| later.fold(self.pod.created, Timestamp::max))
    }

    /// Until when the roll-out waits for it to begin, if it has not: for a place on its node, an image
    /// that is being pulled, or a kernel that nobody reports about. None of it is the revision's
    /// fault.
    pub(super) fn begins_until(&self, settings: &Settings) -> Option<Timestamp> {
        let waits = matches!(
            self.pod.state,
            PodState::Unscheduled(_) | PodState::Starting
        );
        let is_unknown = matches!(self.state, NodeState::Unknown(_));
        let has_begun = self.attached_since().is_some() || !(waits || is_unknown);
        let created = (!has_begun).then_some(self.pod.created)?;
        created.checked_add(settings.attach_deadline).ok()
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
