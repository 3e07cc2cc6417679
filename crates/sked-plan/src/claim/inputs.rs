//! The claimants with their candidates, and which candidates have a pod on which node.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use sked_api::SchedExt;

use super::canary::CanaryRules;
use super::candidate::{Candidate, Nodes, Running, has_run, occupies_node};
use crate::assignment::{Assignment, PartAssignment};
use crate::live_daemonset::LiveDaemonSet;
use crate::name::{NodeName, ObjectKey, Uid};
use crate::node::Node;
use crate::observed::{Fleet, UnreadableSchedExt};
use crate::part::{self, Part, PartId, parts};
use crate::rollout::{Templates, quarantined, record_key};

/// A SchedExt that claims nodes.
pub(super) struct Claimant {
    pub(super) uid: Uid,
    pub(super) key: ObjectKey,
    /// The only thing that takes a node from an incumbent.
    pub(super) priority: i32,
    /// Its spec cannot be parsed. It keeps the nodes that it has, whatever the priority of others:
    /// nobody knows its own.
    pub(super) unreadable: bool,
    pub(super) created: Timestamp,
    generation: i64,
    record: u64,
    yields: BTreeMap<PartId, ObjectKey>,
    /// Indices of its candidates: the canaries, the pools in their order, then the base.
    pub(super) candidates: Vec<usize>,
    /// Set while its roll-out may choose nodes for a canary.
    pub(super) canary_rules: Option<CanaryRules>,
}

/// The older one is greater, then the first by name.
pub(super) type Seniority<'a> = Reverse<(Timestamp, &'a ObjectKey, &'a Uid)>;

#[derive(Default)]
pub(super) struct ClaimInputs<'a> {
    pub(super) claimants: Vec<Claimant>,
    pub(super) candidates: Vec<Candidate>,
    /// The candidates that have a pod on a node.
    pub(super) running: Running<'a>,
    /// Those of them whose pod's container has run there.
    pub(super) incumbents: Running<'a>,
}

/// State that is needed only while the inputs are built.
struct InputsBuilder<'a> {
    /// The names of all SchedExts: no pool's DaemonSet may have one of them.
    names: HashSet<ObjectKey>,
    /// Live DaemonSets that are no candidate yet.
    remaining: HashMap<&'a ObjectKey, &'a LiveDaemonSet>,
    /// The candidate of each live DaemonSet.
    candidates: HashMap<&'a Uid, usize>,
}

impl Claimant {
    fn new(schedext: &SchedExt) -> Self {
        let created = schedext.metadata.creation_timestamp.as_ref();
        Self {
            uid: part::uid(schedext),
            key: part::key(schedext),
            priority: schedext.spec.priority,
            unreadable: false,
            created: created.map_or(Timestamp::MAX, |time| time.0),
            generation: schedext.metadata.generation.unwrap_or_default(),
            record: record_key(schedext),
            yields: BTreeMap::new(),
            candidates: Vec::new(),
            canary_rules: None,
        }
    }

    fn unreadable(schedext: &UnreadableSchedExt) -> Self {
        Self {
            uid: schedext.uid.clone(),
            key: schedext.key.clone(),
            priority: 0,
            unreadable: true,
            created: Timestamp::MAX,
            generation: 0,
            record: 0,
            yields: BTreeMap::new(),
            candidates: Vec::new(),
            canary_rules: None,
        }
    }

    /// Whether a rival takes nodes from it.
    pub(super) fn yields_to(&self, rival: &Self) -> bool {
        !self.unreadable && self.priority < rival.priority
    }

    /// Decides between newcomers: the greater wins.
    pub(super) fn seniority(&self) -> Seniority<'_> {
        Reverse((self.created, &self.key, &self.uid))
    }
}

impl<'a> ClaimInputs<'a> {
    /// A SchedExt that is being deleted claims nothing. Its DaemonSet stays a candidate until it is
    /// being deleted too: from then on the DaemonSet controller creates no pods.
    pub(super) fn new(fleet: &'a Fleet) -> Self {
        let alive = |one: &&Arc<SchedExt>| one.metadata.deletion_timestamp.is_none();
        let schedexts = fleet.schedexts.iter().filter(alive);
        let live = fleet.daemonsets.iter().filter(|one| !one.deleting);
        let unreadable = fleet.unreadable.iter();
        let mut builder = InputsBuilder {
            names: schedexts
                .clone()
                .map(|one| part::key(one))
                .chain(unreadable.clone().map(|one| one.key.clone()))
                .collect(),
            remaining: live.map(|one| (&one.key, &**one)).collect(),
            candidates: HashMap::new(),
        };
        let mut inputs = Self::default();
        for schedext in schedexts {
            inputs.add(schedext, &mut builder);
        }
        for schedext in unreadable {
            inputs.add_unreadable(schedext, &mut builder);
        }
        inputs.add_remaining(&mut builder);
        for pod in fleet.pods.iter().filter(|pod| occupies_node(pod)) {
            let candidate = builder.candidates.get(&pod.daemonset);
            if let (Some(node), Some(candidate)) = (&pod.node, candidate) {
                inputs.running.entry(node).or_default().push(*candidate);
                if has_run(pod) {
                    inputs.incumbents.entry(node).or_default().push(*candidate);
                }
            }
        }
        inputs
    }

    fn add(&mut self, schedext: &SchedExt, builder: &mut InputsBuilder<'a>) {
        let mut claimant = Claimant::new(schedext);
        let is_own = |live: &&LiveDaemonSet| live.controller.as_ref() == Some(&claimant.uid);
        let is_deployed = parts(schedext)
            .filter_map(|part| builder.remaining.get(&part.key()).copied())
            .any(|live| is_own(&live));
        let templates = Templates::new(schedext, is_deployed);
        claimant.canary_rules = CanaryRules::new(schedext, &templates);
        for (part, nodes) in templates.canary_parts() {
            let only = nodes.iter().map(|node| node.as_str().into()).collect();
            self.add_part(&part, Some(only), &mut claimant, builder);
        }
        // The base comes last: it gets what no pool of its own takes.
        let parts = templates.stable_parts();
        for part in parts.iter().skip(1).chain(parts.iter().take(1)) {
            self.add_part(part, None, &mut claimant, builder);
        }
        self.claimants.push(claimant);
    }

    /// A part is no candidate if another object has the name of its DaemonSet.
    fn add_part(
        &mut self,
        part: &Part<'_>,
        only: Option<HashSet<NodeName>>,
        claimant: &mut Claimant,
        builder: &mut InputsBuilder<'a>,
    ) {
        let key = part.key();
        let id = part.id();
        if id != PartId::stable(None) && builder.names.contains(&key) {
            claimant.yields.insert(id, key);
            return;
        }
        let live = builder.remaining.get(&key).copied();
        if live.is_some_and(|live| live.controller.as_ref() != Some(&claimant.uid)) {
            return;
        }
        if let Some(live) = live {
            builder.remaining.remove(&key);
            builder.candidates.insert(&live.uid, self.candidates.len());
        }
        let placement = live.map(|live| &live.placement);
        let nodes = Nodes {
            only,
            quarantined: quarantined(part.schedext)
                .map(|one| one.node.as_str().into())
                .collect(),
        };
        claimant.candidates.push(self.candidates.len());
        self.candidates.push(Candidate::desired(
            self.claimants.len(),
            part,
            placement,
            nodes,
        ));
    }

    fn add_unreadable(&mut self, schedext: &UnreadableSchedExt, builder: &mut InputsBuilder<'a>) {
        let mut claimant = Claimant::unreadable(schedext);
        let all = builder.remaining.values().copied();
        let own = all.filter(|live| live.controller.as_ref() == Some(&schedext.uid));
        for live in own.collect::<Vec<_>>() {
            builder.remaining.remove(&live.key);
            builder.candidates.insert(&live.uid, self.candidates.len());
            claimant.candidates.push(self.candidates.len());
            self.candidates
                .push(Candidate::kept(self.claimants.len(), live));
        }
        self.claimants.push(claimant);
    }

    /// DaemonSets of pools and SchedExts that do not exist any more. A DaemonSet that no SchedExt
    /// controls is not ours.
    fn add_remaining(&mut self, builder: &mut InputsBuilder<'a>) {
        let numbered = self.claimants.iter().enumerate();
        let claimants: HashMap<Uid, usize> = numbered
            .map(|(at, claimant)| (claimant.uid.clone(), at))
            .collect();
        for live in builder.remaining.values() {
            if let Some(controller) = &live.controller {
                builder.candidates.insert(&live.uid, self.candidates.len());
                let claimant = claimants.get(controller).copied();
                self.candidates.push(Candidate::leftover(claimant, live));
            }
        }
    }

    /// Whether a pod of the candidate is on the node.
    pub(super) fn has_pod(&self, node: &Node, candidate: usize) -> bool {
        let running = self.running.get(&node.name);
        running.is_some_and(|running| running.contains(&candidate))
    }

    /// For each claimant an assignment without any node.
    pub(super) fn empty_assignments(&self) -> Vec<Assignment> {
        let part = |candidate: &usize| {
            let desired = self.candidates[*candidate].desired.as_ref()?;
            Some((desired.id.clone(), PartAssignment::default()))
        };
        let empty = |claimant: &Claimant| Assignment {
            generation: claimant.generation,
            record: claimant.record,
            parts: claimant.candidates.iter().filter_map(part).collect(),
            yields: claimant.yields.clone(),
            canaries: claimant
                .canary_rules
                .as_ref()
                .map_or_else(BTreeMap::new, CanaryRules::empty),
            ..Assignment::default()
        };
        self.claimants.iter().map(empty).collect()
    }
}
