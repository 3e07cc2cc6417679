//! From which nodes a SchedExt can choose its canary.

use std::collections::{BTreeMap, HashSet};

use sked_api::{RolloutPhase, SchedExt};

use crate::assignment::{CanaryNodes, MAX_CANDIDATES};
use crate::name::NodeName;
use crate::node::Node;
use crate::part::{Part, parts};
use crate::placement::{Fit, Placement};
use crate::revision::revision;
use crate::rollout::{self, Templates, quarantined};

/// The parts of the new revision, with what decides whether a node can be one of their canary.
pub(super) struct CanaryRules {
    /// The pools, then the base: the first that selects a node is the node's part.
    parts: Vec<CanaryPart>,
    /// `spec.rollout.canary.nodeSelector`.
    selector: BTreeMap<String, String>,
    quarantined: HashSet<NodeName>,
    /// Where the last good revision may run, if only the selection of nodes has changed: the canary
    /// is one of the new nodes.
    known: Option<Vec<Placement>>,
    /// Which nodes the status records, for each pool.
    recorded: BTreeMap<Option<String>, Vec<NodeName>>,
}

struct CanaryPart {
    pool: Option<String>,
    placement: Placement,
    /// Whether the new revision changes it.
    is_changed: bool,
}

impl CanaryRules {
    /// `None` if no canary has to be chosen.
    pub(super) fn new(schedext: &SchedExt, templates: &Templates<'_>) -> Option<Self> {
        let canary = schedext.spec.rollout.as_ref()?.canary.as_ref()?;
        let phase = templates.phase();
        if phase.is_some_and(|phase| phase != RolloutPhase::Canary) {
            return None;
        }
        let good = rollout::last_good(schedext);
        let target = revision(schedext);
        let known = good.as_ref().filter(|good| revision(good) == target);
        let part = |part: Part<'_>| CanaryPart {
            pool: part.pool_name().map(str::to_owned),
            placement: part.placement(),
            is_changed: known.is_some() || is_changed(&part, good.as_ref()),
        };
        let base_last = parts(schedext).skip(1).chain(parts(schedext).take(1));
        let recorded = templates.canary_parts().map(|(part, nodes)| {
            let nodes = nodes.iter().map(|node| node.as_str().into());
            (part.pool_name().map(str::to_owned), nodes.collect())
        });
        Some(Self {
            parts: base_last.map(part).collect(),
            selector: canary.node_selector.clone(),
            quarantined: quarantined(schedext)
                .map(|one| one.node.as_str().into())
                .collect(),
            known: known.map(|good| parts(good).map(|part| part.placement()).collect()),
            recorded: recorded.collect(),
        })
    }

    /// For each pool (`None` for the base) that gets a canary, no node yet.
    pub(super) fn empty(&self) -> BTreeMap<Option<String>, CanaryNodes> {
        let changed = self.parts.iter().filter(|part| part.is_changed);
        let empty = changed.map(|part| {
            let nodes = CanaryNodes {
                recorded: self.recorded.get(&part.pool).cloned().unwrap_or_default(),
                ..CanaryNodes::default()
            };
            (part.pool.clone(), nodes)
        });
        empty.collect()
    }

    /// Adds a node that the SchedExt has or can get.
    pub(super) fn record(&self, node: &Node, canaries: &mut BTreeMap<Option<String>, CanaryNodes>) {
        let mut parts = self.parts.iter();
        let Some(part) = parts.find(|part| part.placement.lasting_fit(node) == Fit::Runs) else {
            return;
        };
        let Some(nodes) = canaries.get_mut(&part.pool) else {
            return;
        };
        let mut known = self.known.iter().flatten();
        let is_known = known.any(|placement| placement.lasting_fit(node) != Fit::Never);
        let is_recorded = nodes.recorded.contains(&node.name);
        if self.quarantined.contains(&node.name) || (is_known && !is_recorded) {
            return;
        }
        nodes.total += 1;
        if is_recorded {
            nodes.present.push(node.name.clone());
        } else if self.may_be_chosen(part, node) && nodes.candidates.len() < MAX_CANDIDATES {
            nodes.candidates.push(node.name.clone());
        }
    }

    /// A node with a taint that will go, such as one that is not ready, is not chosen.
    fn may_be_chosen(&self, part: &CanaryPart, node: &Node) -> bool {
        let mut labels = self.selector.iter();
        labels.all(|(key, value)| node.labels.get(key) == Some(value))
            && part.placement.fit(node) == Fit::Runs
            && !node.taints.iter().any(|taint| taint.effect == "NoExecute")
    }
}

/// Whether the part would run something else than it does with the last good revision.
fn is_changed(part: &Part<'_>, good: Option<&SchedExt>) -> bool {
    let Some(good) = good else {
        return true;
    };
    let mut parts = parts(good);
    let same = parts.find(|one| one.pool_name() == part.pool_name());
    same.is_none_or(|one| one.revision() != part.revision())
}
