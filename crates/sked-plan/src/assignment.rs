//! What the claims give one SchedExt: on which nodes each of its parts runs, which nodes it
//! lost to another SchedExt, and which nodes are excluded for everybody.

use std::collections::BTreeMap;
use std::sync::Arc;

use litemap::LiteMap;

use crate::eligibility::ExclusionReason;
use crate::name::{NodeName, ObjectKey, Uid};
use crate::part::PartId;

/// How many nodes a list of examples names; the count beside it says how many there are.
pub const MAX_EXAMPLES: usize = 10;

/// The nodes of one SchedExt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// The generation of the spec that the claims read.
    pub generation: i64,
    /// What its status recorded of the roll-out then; see [`crate::rollout::record_key`].
    pub record: u64,
    /// The base, each pool, and the canaries. A part is missing if another object has the name of
    /// its DaemonSet: it claims no node. Most have one part, and a `BTreeMap` reserves space for
    /// eleven.
    pub parts: LiteMap<PartId, PartAssignment>,
    /// Parts that have no DaemonSet because its name would be that of another SchedExt.
    pub yields: BTreeMap<PartId, ObjectKey>,
    /// From which nodes a canary can be chosen, by pool (`None` for the base). Filled only while a
    /// roll-out may need it, and only for parts that the new revision changes.
    pub canaries: BTreeMap<Option<String>, CanaryNodes>,
    /// Nodes that it selects and another SchedExt owns.
    pub lost: LostNodes,
    /// Nodes that it selects and that no SchedExt may use.
    pub excluded: ExcludedNodes,
    /// Why the claims of this SchedExt are not what they should be by now: sked's own check rejected
    /// them. The rest is from before, or empty.
    pub violation: Option<String>,
}

impl Assignment {
    /// On how many nodes all its parts should run.
    pub fn nodes(&self) -> usize {
        self.parts.values().map(|part| part.nodes.len()).sum()
    }
}

/// The nodes of the base or of one pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartAssignment {
    /// Those on which it should run, by name. A node is in one such list of all SchedExts at most.
    pub nodes: Vec<NodeName>,
    /// Nodes whose owner label must be written before its DaemonSet may be created or changed:
    /// another DaemonSet is or will be there, and this one as it is would not run there. The first
    /// few.
    pub waits_for: Vec<NodeName>,
}

/// The nodes of a part from which its canary can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CanaryNodes {
    /// How many nodes the new revision of the part would run on.
    pub total: usize,
    /// Those on which it may run first, in the order of their names; the first
    /// [`MAX_CANDIDATES`].
    pub candidates: Vec<NodeName>,
    /// Those that the status recorded as the canary's when the claims were computed.
    pub recorded: Vec<NodeName>,
    /// Those of them that still can be.
    pub present: Vec<NodeName>,
}

/// Keeps assignments and statuses small.
pub const MAX_CANDIDATES: usize = 1000;

/// Nodes that other SchedExts own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LostNodes {
    pub count: usize,
    /// The first few by name, each with its owner.
    pub nodes: Vec<(NodeName, ObjectKey)>,
}

/// Nodes that no SchedExt may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExcludedNodes {
    /// How many have a kernel without sched_ext.
    pub unsupported: usize,
    /// How many run a scheduler that sked did not start.
    pub foreign: usize,
    /// How many are labelled as quarantined.
    pub quarantined: usize,
    /// The first few by name for each reason.
    pub nodes: Vec<(NodeName, ExclusionReason)>,
}

impl ExcludedNodes {
    pub fn count(&self) -> usize {
        self.unsupported + self.foreign + self.quarantined
    }

    pub(crate) fn add(&mut self, node: &NodeName, reason: &ExclusionReason) {
        let count = match reason {
            ExclusionReason::Unsupported(_) => &mut self.unsupported,
            ExclusionReason::Foreign(_) => &mut self.foreign,
            ExclusionReason::Quarantined => &mut self.quarantined,
        };
        *count += 1;
        if *count <= MAX_EXAMPLES {
            self.nodes.push((node.clone(), reason.clone()));
        }
    }
}

/// The assignments of all SchedExts, by uid.
pub type Assignments = BTreeMap<Uid, Arc<Assignment>>;
