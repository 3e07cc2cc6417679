//! Why a node has this owner, or none: each rule that was applied, as data. The rules are applied by
//! the code that decides (`candidate`, `node_resolver`); this file only keeps what it said.

use jiff::Timestamp;

use super::candidate::{Candidate, Refusal};
use super::exclusion::exclusion;
use super::inputs::ClaimInputs;
use super::label::{CurrentLabel, LabelWrite};
use super::node_resolver::{LabelRule, NodeResolver, Presence, Rank};
use crate::eligibility::ExclusionReason;
use crate::name::{NodeName, ObjectKey, OwnerId};
use crate::node::Node;
use crate::observed::Fleet;
use crate::part::PartId;

/// Explains nodes of one fleet.
pub struct Explainer<'a> {
    fleet: &'a Fleet,
    inputs: ClaimInputs<'a>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub node: NodeName,
    /// The owner label as it is.
    pub label: Option<String>,
    /// Why no SchedExt may use the node, if that is so.
    pub exclusion: Option<ExclusionReason>,
    /// Every DaemonSet, desired or live. Those of one SchedExt are adjacent, in the order in which
    /// they apply: the first that claims the node is the SchedExt's claim.
    pub candidates: Vec<CandidateRule>,
    /// One for each SchedExt that claims the node, the strongest first.
    pub claims: Vec<ClaimRule>,
    /// What put the first claim before the second.
    pub decided_by: Option<DecidedBy>,
    /// What the owner label must be, and why.
    pub label_rule: LabelRule,
    /// The write that makes the label right.
    pub write: Option<LabelWrite>,
}

/// One DaemonSet and this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateRule {
    /// None for a DaemonSet that outlived its SchedExt.
    pub schedext: Option<ObjectKey>,
    /// None for a DaemonSet that no SchedExt asks for any more.
    pub part: Option<PartId>,
    pub owner: Option<OwnerId>,
    pub daemonset: ObjectKey,
    /// Why it does not claim the node.
    pub refusal: Option<Why>,
    /// What keeps its pod from running there now, although it claims the node: a taint that goes by
    /// itself.
    pub obstacle_now: Option<String>,
    /// Whether it exists and would run there if the node had no owner label.
    pub is_live: bool,
    /// Whether one of its pods is there.
    pub has_pod: bool,
}

/// Why a DaemonSet does not claim a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// No SchedExt asks for it any more.
    NotDesired,
    /// The node is none of the canary's.
    NotChosen,
    /// The node has not the labels, or a taint: half a sentence about the node.
    DoesNotFit(String),
    /// Its scheduler failed there.
    Quarantined,
    /// Its SchedExt cannot be parsed, and keeps only what it has.
    KeepsOnlyItsOwn,
}

/// The claim of one SchedExt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRule {
    pub schedext: ObjectKey,
    pub part: PartId,
    pub daemonset: ObjectKey,
    pub owner: OwnerId,
    /// Its spec cannot be parsed: it keeps the node, whatever the priority of others.
    pub is_unreadable: bool,
    pub priority: i32,
    pub presence: Presence,
    pub created: Timestamp,
    /// Whether its pod should run there now.
    pub runs: bool,
}

/// The first rule by which two claims differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// The winner cannot be parsed, and keeps what it has.
    Unreadable,
    Priority,
    /// The winner has the label, or its pod has run there.
    Incumbency,
    Age,
    /// By namespace and name.
    Name,
}

impl Explanation {
    /// The SchedExt that owns the node; none on an excluded node.
    pub fn owner(&self) -> Option<&ClaimRule> {
        self.claims.first().filter(|_| self.exclusion.is_none())
    }
}

impl<'a> Explainer<'a> {
    pub fn new(fleet: &'a Fleet) -> Self {
        let inputs = ClaimInputs::new(fleet);
        Self { fleet, inputs }
    }

    /// All nodes, by name.
    pub fn all(&self) -> impl Iterator<Item = Explanation> {
        let mut nodes: Vec<_> = self.fleet.nodes.iter().collect();
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        nodes.into_iter().map(|node| self.explain(node))
    }

    /// `None` if there is no such node.
    pub fn node(&self, name: &NodeName) -> Option<Explanation> {
        let node = self.fleet.nodes.iter().find(|node| node.name == *name)?;
        Some(self.explain(node))
    }

    fn explain(&self, node: &Node) -> Explanation {
        let inputs = &self.inputs;
        let label = CurrentLabel::of(node);
        let mut resolver = NodeResolver::default();
        resolver.resolve(inputs, node, label);
        let exclusion = exclusion(self.fleet, node, label);
        let mut ranks: Vec<_> = resolver.ranks(inputs, node, label).collect();
        ranks.sort_by_key(|(_, rank)| std::cmp::Reverse(*rank));
        let decided_by = match &ranks[..] {
            [(_, first), (_, second), ..] => Some(decided_by(first, second)),
            _ => None,
        };
        let claims = ranks
            .iter()
            .filter_map(|((claimant, candidate), rank)| {
                let of = &inputs.candidates[*candidate];
                let desired = of.desired.as_ref()?;
                let claimant = &inputs.claimants[*claimant];
                Some(ClaimRule {
                    schedext: claimant.key.clone(),
                    part: desired.id.clone(),
                    daemonset: of.daemonset.clone(),
                    owner: desired.owner,
                    is_unreadable: rank.unreadable,
                    priority: rank.priority,
                    presence: rank.presence,
                    created: claimant.created,
                    runs: of
                        .obstacle_now(node, inputs.has_pod(node, *candidate))
                        .is_none(),
                })
            })
            .collect();
        let candidates = inputs.candidates.iter().enumerate();
        Explanation {
            node: node.name.clone(),
            label: label.text().map(str::to_owned),
            label_rule: resolver.label_rule(inputs, exclusion.as_ref()),
            write: resolver.write(inputs, node, label, exclusion.as_ref()),
            exclusion,
            candidates: candidates
                .map(|(at, one)| self.candidate(at, one, node, label))
                .collect(),
            claims,
            decided_by,
        }
    }

    fn candidate(
        &self,
        at: usize,
        candidate: &Candidate,
        node: &Node,
        label: CurrentLabel<'_>,
    ) -> CandidateRule {
        let has_pod = self.inputs.has_pod(node, at);
        let desired = candidate.desired.as_ref();
        let refusal = candidate.refusal(node, has_pod, label);
        let obstacle_now = candidate.obstacle_now(node, has_pod);
        let claimant = candidate.claimant.map(|at| &self.inputs.claimants[at]);
        CandidateRule {
            schedext: claimant.map(|claimant| claimant.key.clone()),
            part: desired.map(|desired| desired.id.clone()),
            owner: desired.map(|desired| desired.owner),
            daemonset: candidate.daemonset.clone(),
            obstacle_now: obstacle_now
                .filter(|_| refusal.is_none())
                .map(|one| one.describe(node)),
            refusal: refusal.map(|refusal| why(&refusal, node)),
            is_live: candidate.node_match(node, has_pod, label).live,
            has_pod,
        }
    }
}

fn why(refusal: &Refusal<'_>, node: &Node) -> Why {
    match refusal {
        Refusal::NotDesired => Why::NotDesired,
        Refusal::NotChosen => Why::NotChosen,
        Refusal::DoesNotFit(obstacle) => Why::DoesNotFit(obstacle.describe(node)),
        Refusal::Quarantined => Why::Quarantined,
        Refusal::KeepsOnlyItsOwn => Why::KeepsOnlyItsOwn,
    }
}

/// In the order in which a rank's fields decide.
fn decided_by(winner: &Rank<'_>, second: &Rank<'_>) -> DecidedBy {
    let Rank {
        unreadable,
        priority,
        presence,
        seniority,
    } = winner;
    if *unreadable != second.unreadable {
        DecidedBy::Unreadable
    } else if *priority != second.priority {
        DecidedBy::Priority
    } else if *presence != second.presence {
        DecidedBy::Incumbency
    } else if seniority.0.0 != second.seniority.0.0 {
        DecidedBy::Age
    } else {
        DecidedBy::Name
    }
}
