//! Who owns which node: one owner each, over all SchedExts and pools.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::name::{NodeName, ObjectKey, OwnerId, Uid};
use crate::observed::Fleet;

/// Who owns which node, and what has to be written on nodes to make it so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Each SchedExt's part, by its uid.
    pub shares: BTreeMap<Uid, Arc<Share>>,
    /// What nodes' owner labels must become.
    pub writes: Vec<LabelWrite>,
}

/// One SchedExt's part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many nodes its base (`None`) and each pool has.
    pub nodes: BTreeMap<Option<String>, usize>,
    /// Nodes that it asks for and another has.
    pub lost: Vec<Lost>,
    /// Nodes whose label must be written before its DaemonSets may be created or widened.
    pub waits_for: Vec<NodeName>,
}

/// A node that another SchedExt has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// The node.
    pub node: NodeName,
    /// Who has it.
    pub winner: ObjectKey,
}

/// A change of one node's owner label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelWrite {
    /// The node.
    pub node: NodeName,
    /// What the label says now: written only if it still does.
    pub from: Option<String>,
    /// The new owner; nobody: the label goes.
    pub to: Option<OwnerId>,
}

/// Who owns which node.
pub fn claim(_fleet: &Fleet) -> Claims {
    Claims::default()
}
