//! The rules that a plan or a set of claims can break.

use crate::name::{NodeName, ObjectKey, Uid};

/// Each violation is a bug in sked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    #[error("claim nodes: {node} would run {first} and {second}")]
    TwoOwners {
        node: NodeName,
        first: ObjectKey,
        second: ObjectKey,
    },
    /// A reserved label would be overwritten, or the node does not exist.
    #[error("claim nodes: the label of {node} must not be written")]
    ForbiddenLabelWrite { node: NodeName },
    /// Two writes to one node, or a write that expects another value than the label has.
    #[error("claim nodes: the write to {node} does not match its current label")]
    InconsistentLabelWrite { node: NodeName },
    #[error("claim nodes: the assignment of {uid} has more nodes than there are")]
    TooManyNodes { uid: Uid },
    #[error("plan DaemonSets: {key} is not ours to write")]
    NotOurs { key: ObjectKey },
    #[error("plan DaemonSets: {key} is needed and would be deleted")]
    StillNeeded { key: ObjectKey },
    #[error("plan DaemonSets: {key} would be written before the nodes have their owner labels")]
    TooEarly { key: ObjectKey },
    #[error("plan DaemonSets: a SchedExt that is being deleted must not cause writes")]
    Deleting,
    #[error("plan DaemonSets: {key} has a wrong {what}")]
    Contract { key: ObjectKey, what: &'static str },
}
