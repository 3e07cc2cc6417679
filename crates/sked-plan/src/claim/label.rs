//! The owner label of a node: its current value and its changes.

use std::fmt;

use sked_api::label;

use crate::name::{NodeName, OwnerId};
use crate::node::Node;

/// A value that sked writes into the owner label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnerLabel {
    Owner(OwnerId),
    /// A reserved value: no scheduler of sked's may run there.
    Excluded(&'static str),
}

impl fmt::Display for OwnerLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(owner) => owner.fmt(f),
            Self::Excluded(value) => f.write_str(value),
        }
    }
}

/// A change of one node's owner label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelWrite {
    pub node: NodeName,
    /// The current value; the write must fail if it has changed since.
    pub from: Option<String>,
    /// The new value; `None` removes the label.
    pub to: Option<OwnerLabel>,
}

/// A node's owner label as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurrentLabel<'a> {
    None,
    /// An owner, which may not exist any more.
    Owner(OwnerId, &'a str),
    Reserved(&'a str),
    /// A value that sked never writes.
    Invalid(&'a str),
}

impl<'a> CurrentLabel<'a> {
    pub(super) fn of(node: &'a Node) -> Self {
        let Some(text) = node.labels.get(label::OWNER) else {
            return Self::None;
        };
        match text.parse() {
            Ok(owner) => Self::Owner(owner, text),
            Err(_) if label::RESERVED.contains(&&**text) => Self::Reserved(text),
            Err(_) => Self::Invalid(text),
        }
    }

    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::None => None,
            Self::Owner(_, text) | Self::Reserved(text) | Self::Invalid(text) => Some(text),
        }
    }

    pub(super) fn names(self, owner: OwnerId) -> bool {
        matches!(self, Self::Owner(named, _) if named == owner)
    }
}
