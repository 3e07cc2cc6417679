//! Who owns which node: one owner each, over all SchedExts and pools.
//!
//! ```text
//! who asks      a SchedExt asks for a node through its first pool that fits, else through its base
//! who gets it   the highest priority; among those
//!                 the incumbent (the node's label names it; without such a label: its pod is there)
//!                 else the oldest, else the first by namespace and name
//! label         written where the template of any other DaemonSet would let a pod in as well,
//!               wanted or still live; removed where no other would any more
//! ```
//!
//! Rank, against which an incumbent keeps its node, is the priority alone. Age and name settle
//! only what nobody has yet: else an older SchedExt that is widened would push a younger one off
//! nodes where it has worked for months. Between the parts of one SchedExt there is no
//! incumbent: its author said which part a node is for.
//!
//! Templates let a pod in where there is no label. So what counts as a door is what a SchedExt
//! asks for *and* what its live DaemonSet still says: a rival that is gone or has narrowed keeps
//! the label in place until its DaemonSet has followed.
//!
//! A node that is barred (its kernel has no sched_ext, or runs a scheduler of somebody else's) has
//! no owner, and nobody is in conflict there: its label says why, as long as anybody's template
//! would come in. While its kernel is not known, a reserved label stays as it is. Nodes that are not
//! ready or about to go count like any other, as they do for the DaemonSet controller.

mod asker;
mod contest;
mod door;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use asker::Field;
use contest::{Contest, Label};

use crate::name::{NodeName, ObjectKey, OwnerId, Uid};
use crate::observed::{Fleet, Node};
use crate::standing::{Bar, Standing};

/// How many nodes a list of examples names; the count beside it tells how many there are.
pub const EXAMPLES: usize = 10;

/// Who owns which node, and what has to be written on nodes to make it so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Each SchedExt's part, by its uid. Those that are being deleted have none.
    pub shares: BTreeMap<Uid, Arc<Share>>,
    /// What nodes' owner labels must become, by node.
    pub writes: Vec<LabelWrite>,
}

/// One SchedExt's part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The generation of the spec that was looked at.
    pub generation: i64,
    /// What its base (`None`) and each pool has. A part whose DaemonSet's name somebody else has
    /// is not here: it asks for no node.
    pub parts: BTreeMap<Option<String>, PartShare>,
    /// Pools whose DaemonSet would have the name of another SchedExt, which goes first.
    pub yields: BTreeMap<String, ObjectKey>,
    /// Nodes that it asks for and another has.
    pub lost: Lost,
    /// Nodes that it asks for and that are good for nobody.
    pub barred: Barred,
}

/// What a base or a pool has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartShare {
    /// On how many nodes it should run.
    pub nodes: usize,
    /// Nodes whose label must be written before its DaemonSet may be created or changed: a rival
    /// is or will be there, and its DaemonSet as it is would not run there. The first few.
    pub waits_for: Vec<NodeName>,
}

/// Nodes that other SchedExts have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub count: usize,
    /// The first few by name, each with who has it.
    pub nodes: Vec<(NodeName, ObjectKey)>,
}

/// Nodes that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Barred {
    /// How many have a kernel without sched_ext.
    pub unsupported: usize,
    /// How many run a scheduler that sked did not start.
    pub foreign: usize,
    /// How many had a scheduler taken off after failures.
    pub quarantined: usize,
    /// The first few by name, each with the reason.
    pub nodes: Vec<(NodeName, Bar)>,
}

impl Barred {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.unsupported + self.foreign + self.quarantined
    }

    fn add(&mut self, node: &NodeName, bar: &Bar) {
        match bar {
            Bar::Unsupported(_) => self.unsupported += 1,
            Bar::Foreign(_) => self.foreign += 1,
            Bar::Quarantined => self.quarantined += 1,
        }
        if self.nodes.len() < EXAMPLES {
            self.nodes.push((node.clone(), bar.clone()));
        }
    }
}

/// What an owner label says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Whose the node is.
    Owner(OwnerId),
    /// A reserved word: nobody's.
    Barred(&'static str),
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(owner) => owner.fmt(f),
            Self::Barred(word) => f.write_str(word),
        }
    }
}

/// A change of one node's owner label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelWrite {
    /// The node.
    pub node: NodeName,
    /// What the label says now: written only if it still does.
    pub from: Option<String>,
    /// What it is to say; nothing: the label goes.
    pub to: Option<Mark>,
}

/// Who owns which node.
pub fn claim(fleet: &Fleet) -> Claims {
    let field = Field::new(fleet);
    let mut shares = field.empty_shares();
    let mut writes = Vec::new();
    let mut nodes: Vec<&Node> = fleet.nodes.iter().map(|node| &**node).collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let mut contest = Contest::default();
    for node in nodes {
        let label = Label::of(node);
        contest.hold(&field, node, label);
        match bar(fleet, node, label) {
            Some(bar) => {
                writes.extend(contest.write_bar(node, label, &bar));
                contest.tell_bar(&field, node, label, &bar, &mut shares);
            }
            None => {
                writes.extend(contest.write(&field, node, label));
                contest.tell(&field, node, label, &mut shares);
            }
        }
    }
    let shares = field.askers.iter().zip(shares);
    Claims {
        shares: shares
            .map(|(asker, share)| (asker.uid.clone(), Arc::new(share)))
            .collect(),
        writes,
    }
}

/// Why a node is good for nobody, if it is. What the kernel says counts; while it is not known,
/// what the label says. A quarantine is not the kernel's to end.
fn bar(fleet: &Fleet, node: &Node, label: Label<'_>) -> Option<Bar> {
    let said = match label {
        Label::Reserved(word) => Some(word),
        Label::None | Label::Owner(..) | Label::Nonsense(_) => None,
    };
    match (fleet.standing.get(&node.name), said) {
        (Some(Standing::Barred(bar)), _) => Some(bar.clone()),
        (_, Some("quarantined")) => Some(Bar::Quarantined),
        (Some(Standing::Free), _) => None,
        (None, said) => said.and_then(Bar::of_word),
    }
}

#[cfg(test)]
mod tests;
