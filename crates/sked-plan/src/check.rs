//! An independent judge of what the planner decided, by rules of its own.
//!
//! Tests call it for everything that they make up, and the manager before it writes: what breaks
//! a rule is not written. It shares no code with the planner; where it must know which nodes a
//! template lets in, it reads the template that would be written.

mod claims;
mod steps;
mod template;

use crate::name::{NodeName, ObjectKey, Uid};

pub use claims::check_claims;
pub use steps::check_plan;

/// A rule that is broken. Each is a bug of sked's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Two DaemonSets would run on one node.
    #[error("claim nodes: {node} would run {first} and {second}")]
    TwoOwners {
        /// The node.
        node: NodeName,
        /// One DaemonSet.
        first: ObjectKey,
        /// The other.
        second: ObjectKey,
    },
    /// A reserved label would be overwritten, or an unknown node written.
    #[error("claim nodes: the label of {node} is not to be written")]
    NotToBeWritten {
        /// The node.
        node: NodeName,
    },
    /// Two writes to one node, or one that goes by a label that is not there.
    #[error("claim nodes: the write to {node} is not about its label as it is")]
    Muddled {
        /// The node.
        node: NodeName,
    },
    /// More nodes than there are.
    #[error("claim nodes: the share of {uid} has more nodes than there are")]
    TooMany {
        /// Whose.
        uid: Uid,
    },
    /// A DaemonSet that is not ours would be written.
    #[error("plan DaemonSets: {key} is not ours to write")]
    NotOurs {
        /// Which.
        key: ObjectKey,
    },
    /// A DaemonSet that is wanted would be deleted.
    #[error("plan DaemonSets: {key} is wanted and would be deleted")]
    Wanted {
        /// Which.
        key: ObjectKey,
    },
    /// A DaemonSet would be made before nodes say who owns them.
    #[error("plan DaemonSets: {key} would be made too early")]
    TooEarly {
        /// Which.
        key: ObjectKey,
    },
    /// A SchedExt that is being deleted, and something would still be done for it.
    #[error("plan DaemonSets: something would be done for a SchedExt that is being deleted")]
    Deleting,
    /// A DaemonSet does not keep the contract.
    #[error("plan DaemonSets: {key} has a wrong {what}")]
    Contract {
        /// Which.
        key: ObjectKey,
        /// What about it.
        what: &'static str,
    },
}

#[cfg(test)]
mod tests;
