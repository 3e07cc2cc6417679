//! One node: who claims it, who gets it, and what its owner label must be.

use super::candidate::NodeMatch;
use super::inputs::ClaimInputs;
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
enum Presence {
    Nothing,
    Pod,
    Label,
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
        let incumbents = inputs.incumbents.get(&node.name);
        let pods = NodePods {
            any: running,
            have_run: incumbents.map_or(&[][..], Vec::as_slice),
        };
        let rank = |(claimant, _): &&(usize, usize)| {
            let presence = self.presence(inputs, *claimant, &pods, label);
            let claimant = &inputs.claimants[*claimant];
            let strength = (claimant.unreadable, claimant.priority);
            (strength, presence, claimant.seniority())
        };
        self.winner = self.claims.iter().max_by_key(rank).copied();
    }

    /// The label write for an eligible node, if its label is not right.
    pub(super) fn write(
        &self,
        inputs: &ClaimInputs<'_>,
        node: &Node,
        label: CurrentLabel<'_>,
    ) -> Option<LabelWrite> {
        let to = match self.winner {
            Some((_, candidate)) if self.needs_label(inputs, candidate) => owner(inputs, candidate),
            Some(_) => None,
            None => match self.quarantine(inputs) {
                Some(quarantine) => Some(quarantine),
                // Nobody claims the node, but a live template would admit a pod: keep the label.
                None if !self.matches.is_empty() => return None,
                None => None,
            },
        };
        let right = match (label, to) {
            (CurrentLabel::None, None) => true,
            (label, Some(owner)) => label.names(owner),
            (_, None) => false,
        };
        (!right).then(|| LabelWrite {
            node: node.name.clone(),
            from: label.text().map(str::to_owned),
            to: to.map(OwnerLabel::Owner),
        })
    }

    /// The label write for an excluded node: the reason, while any template would admit a pod. A
    /// quarantine stays until somebody removes the label.
    pub(super) fn write_exclusion(
        &self,
        node: &Node,
        label: CurrentLabel<'_>,
        reason: &ExclusionReason,
    ) -> Option<LabelWrite> {
        let needed = !self.matches.is_empty() || *reason == ExclusionReason::Quarantined;
        let to = needed.then(|| reason.label_value());
        (label.text() != to).then(|| LabelWrite {
            node: node.name.clone(),
            from: label.text().map(str::to_owned),
            to: to.map(OwnerLabel::Excluded),
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
            part.nodes += 1;
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
        let is_contested = self.matches.iter().any(|(at, _)| *at != winner);
        is_contested || inputs.candidates[winner].is_canary()
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
