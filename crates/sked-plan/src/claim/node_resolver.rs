//! One node: who claims it, who gets it, and what its owner label must be.

use super::candidate::NodeMatch;
use super::inputs::{ClaimInputs, Seniority};
use super::label::{CurrentLabel, LabelWrite, OwnerLabel};
use crate::assignment::{Assignment, MAX_EXAMPLES};
use crate::eligibility::ExclusionReason;
use crate::name::OwnerId;
use crate::node::Node;

/// Resolves who gets a node. One value is reused for all nodes, so that its buffers are allocated
/// once.
#[derive(Default)]
pub(super) struct NodeResolver {
    /// Candidates that would put a pod on the node, by what is desired or by what is live.
    matches: Vec<(usize, NodeMatch)>,
    /// Each claimant with the first of its candidates that claims the node.
    claims: Vec<(usize, usize)>,
    /// The winning claimant and its candidate.
    winner: Option<(usize, usize)>,
}

/// The candidates that have a pod on the node.
struct NodePods<'a> {
    any: &'a [usize],
    /// The pod's container has run there.
    have_run: &'a [usize],
}

/// What a claimant already has on the node, the weakest claim first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    Nothing,
    Pod,
    Label,
}

/// What the owner label of a node must be, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelRule {
    /// The owner: another DaemonSet would run there as well.
    Contested(OwnerId),
    /// The owner: the template of a canary asks for it.
    Canary(OwnerId),
    /// Nobody's: a scheduler failed there, and nobody else claims the node.
    Quarantine(OwnerId),
    /// As it is: nobody claims the node, but a live DaemonSet would run there.
    Keep,
    /// None: only the owner's DaemonSet would run there.
    Uncontested,
    /// None: no DaemonSet would run there.
    Unclaimed,
    /// The reason why no SchedExt may use the node, while any DaemonSet would run there.
    Excluded(&'static str),
}

/// How strong a claim is: the greatest wins. The order of the fields is that in which they decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank<'a> {
    pub(super) unreadable: bool,
    pub(super) priority: i32,
    pub(super) presence: Presence,
    pub(super) seniority: Seniority<'a>,
}

impl NodeResolver {
    /// Determines the winner for this node.
    pub(super) fn resolve(
        &mut self,
        inputs: &ClaimInputs<'_>,
        node: &Node,
        label: CurrentLabel<'_>,
    ) {
        let running = inputs.running.get(&node.name);
        let running = running.map_or(&[][..], Vec::as_slice);
        self.matches.clear();
        self.claims.clear();
        for (at, candidate) in inputs.candidates.iter().enumerate() {
            let node_match = candidate.node_match(node, running.contains(&at), label);
            if node_match.claims || node_match.live || node_match.quarantined {
                self.matches.push((at, node_match));
            }
            // The candidates of one claimant are adjacent, in the order in which they apply.
            let claimant = candidate.claimant.filter(|_| node_match.claims);
            if let Some(claimant) = claimant
                && self.claims.last().is_none_or(|(last, _)| *last != claimant)
            {
                self.claims.push((claimant, at));
            }
        }
        let ranks = self.ranks(inputs, node, label);
        let winner = ranks.max_by_key(|(_, rank)| *rank);
        self.winner = winner.map(|(claim, _)| claim);
    }

    /// The claims (claimant and candidate), each with its rank.
    pub(super) fn ranks<'a>(
        &'a self,
        inputs: &'a ClaimInputs<'_>,
        node: &Node,
        label: CurrentLabel<'a>,
    ) -> impl Iterator<Item = ((usize, usize), Rank<'a>)> {
        let running = inputs.running.get(&node.name);
        let incumbents = inputs.incumbents.get(&node.name);
        let pods = NodePods {
            any: running.map_or(&[][..], Vec::as_slice),
            have_run: incumbents.map_or(&[][..], Vec::as_slice),
        };
        self.claims.iter().map(move |claim| {
            let claimant = &inputs.claimants[claim.0];
            let rank = Rank {
                unreadable: claimant.unreadable,
                priority: claimant.priority,
                presence: self.presence(inputs, claim.0, &pods, label),
                seniority: claimant.seniority(),
            };
            (*claim, rank)
        })
    }

    /// What the label must be, and why. A quarantine by the label stays until somebody removes it.
    pub(super) fn label_rule(
        &self,
        inputs: &ClaimInputs<'_>,
        exclusion: Option<&ExclusionReason>,
    ) -> LabelRule {
        if let Some(reason) = exclusion {
            let needed = !self.matches.is_empty() || *reason == ExclusionReason::Quarantined;
            return match needed {
                true => LabelRule::Excluded(reason.label_value()),
                false => LabelRule::Unclaimed,
            };
        }
        let Some((_, winner)) = self.winner else {
            return match self.quarantine(inputs) {
                Some(quarantine) => LabelRule::Quarantine(quarantine),
                // A live template would admit a pod.
                None if !self.matches.is_empty() => LabelRule::Keep,
                None => LabelRule::Unclaimed,
            };
        };
        match owner(inputs, winner) {
            Some(owner) if self.is_contested(winner) => LabelRule::Contested(owner),
            Some(owner) if inputs.candidates[winner].is_canary() => LabelRule::Canary(owner),
            _ => LabelRule::Uncontested,
        }
    }

    /// The label write, if the label is not right.
    pub(super) fn write(
        &self,
        inputs: &ClaimInputs<'_>,
        node: &Node,
        label: CurrentLabel<'_>,
        exclusion: Option<&ExclusionReason>,
    ) -> Option<LabelWrite> {
        let (is_right, to) = match self.label_rule(inputs, exclusion) {
            LabelRule::Contested(owner)
            | LabelRule::Canary(owner)
            | LabelRule::Quarantine(owner) => (label.names(owner), Some(OwnerLabel::Owner(owner))),
            LabelRule::Excluded(value) => {
                let is_right = label.text() == Some(value);
                (is_right, Some(OwnerLabel::Excluded(value)))
            }
            LabelRule::Uncontested | LabelRule::Unclaimed => (label == CurrentLabel::None, None),
            LabelRule::Keep => return None,
        };
        (!is_right).then(|| LabelWrite {
            node: node.name.clone(),
            from: label.text().map(str::to_owned),
            to,
        })
    }

    /// Adds an excluded node to the assignments of all its claimants.
    pub(super) fn record_exclusion(
        &self,
        inputs: &ClaimInputs<'_>,
        node: &Node,
        label: CurrentLabel<'_>,
        reason: &ExclusionReason,
        assignments: &mut [Assignment],
    ) {
        for (claimant, _) in &self.claims {
            assignments[*claimant].excluded.add(&node.name, reason);
        }
        if label.text() != Some(reason.label_value()) {
            self.record_waiting(inputs, node, label, assignments);
        }
    }

    /// Adds an eligible node to the assignments of the winner and of the losers.
    pub(super) fn record(
        &self,
        inputs: &ClaimInputs<'_>,
        node: &Node,
        label: CurrentLabel<'_>,
        assignments: &mut [Assignment],
    ) {
        self.record_canaries(inputs, node, assignments);
        let Some((winner, candidate)) = self.winner else {
            if !self
                .quarantine(inputs)
                .is_none_or(|owner| label.names(owner))
            {
                self.record_waiting(inputs, node, label, assignments);
            }
            return;
        };
        let mut matches = self.matches.iter();
        let runs = matches.any(|(at, one)| *at == candidate && one.runs);
        if let Some(desired) = &inputs.candidates[candidate].desired
            && runs
            && let Some(part) = assignments[winner].parts.get_mut(&desired.id)
        {
            part.nodes.push(node.name.clone());
        }
        let losers = self.claims.iter().filter(|(at, _)| *at != winner);
        for (claimant, _) in losers {
            let lost = &mut assignments[*claimant].lost;
            lost.count += 1;
            if lost.nodes.len() < MAX_EXAMPLES {
                let winner = inputs.claimants[winner].key.clone();
                lost.nodes.push((node.name.clone(), winner));
            }
        }
        let right = owner(inputs, candidate).is_some_and(|owner| label.names(owner));
        if self.needs_label(inputs, candidate) && !right {
            self.record_waiting(inputs, node, label, assignments);
        }
    }

    /// Adds the node to those from which a claimant can choose its canary: the new revision would
    /// run there, and no other SchedExt keeps the node.
    fn record_canaries(
        &self,
        inputs: &ClaimInputs<'_>,
        node: &Node,
        assignments: &mut [Assignment],
    ) {
        for (at, claimant) in inputs.claimants.iter().enumerate() {
            let Some(rules) = &claimant.canary_rules else {
                continue;
            };
            let gets_it = self.winner.is_none_or(|(winner, _)| {
                winner == at || inputs.claimants[winner].yields_to(claimant)
            });
            if gets_it {
                rules.record(node, &mut assignments[at].canaries);
            }
        }
    }

    /// Makes every part wait that would start a pod there before the label is written: without a
    /// label all of them, else the one that the label names.
    fn record_waiting(
        &self,
        inputs: &ClaimInputs<'_>,
        node: &Node,
        label: CurrentLabel<'_>,
        assignments: &mut [Assignment],
    ) {
        let new = self.matches.iter().filter(|(_, one)| !one.live);
        for (at, _) in new {
            let candidate = &inputs.candidates[*at];
            // Without the label it starts nowhere.
            if candidate.is_canary() {
                continue;
            }
            let (Some(claimant), Some(desired)) = (candidate.claimant, &candidate.desired) else {
                continue;
            };
            let part = assignments[claimant].parts.get_mut(&desired.id);
            if (label == CurrentLabel::None || label.names(desired.owner))
                && let Some(part) = part
                && part.waits_for.len() < MAX_EXAMPLES
            {
                part.waits_for.push(node.name.clone());
            }
        }
    }

    /// Whichever of the claimant's parts has the label or the pod. A pod that has not run yet counts
    /// only if no live DaemonSet of others would run there as well: on a new node it would be
    /// whichever pod kube-scheduler took first.
    fn presence(
        &self,
        inputs: &ClaimInputs<'_>,
        claimant: usize,
        pods: &NodePods<'_>,
        label: CurrentLabel<'_>,
    ) -> Presence {
        let own = |candidate: &usize| owner(inputs, *candidate).is_some_and(|id| label.names(id));
        if inputs.claimants[claimant].candidates.iter().any(own) {
            return Presence::Label;
        }
        let is_own = |at: &usize| inputs.candidates[*at].claimant == Some(claimant);
        let mut others = self.matches.iter().filter(|(at, _)| !is_own(at));
        let is_alone = !others.any(|(_, one)| one.live);
        let counted = if is_alone { pods.any } else { pods.have_run };
        match counted.iter().any(is_own) {
            true => Presence::Pod,
            false => Presence::Nothing,
        }
    }

    /// Whether any other DaemonSet would run there as well, or its own only with the label.
    fn needs_label(&self, inputs: &ClaimInputs<'_>, winner: usize) -> bool {
        self.is_contested(winner) || inputs.candidates[winner].is_canary()
    }

    fn is_contested(&self, winner: usize) -> bool {
        self.matches.iter().any(|(at, _)| *at != winner)
    }

    /// The value that keeps everybody away whose scheduler failed there.
    fn quarantine(&self, inputs: &ClaimInputs<'_>) -> Option<OwnerId> {
        let (at, _) = self.matches.iter().find(|(_, one)| one.quarantined)?;
        let claimant = inputs.candidates[*at].claimant?;
        Some(OwnerId::quarantine(&inputs.claimants[claimant].uid))
    }
}

fn owner(inputs: &ClaimInputs<'_>, candidate: usize) -> Option<OwnerId> {
    let desired = inputs.candidates[candidate].desired.as_ref();
    desired.map(|desired| desired.owner)
}
