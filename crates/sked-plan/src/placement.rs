//! Which nodes a pod template admits, without the owner label.
//!
//! Claims use it for what SchedExts select and for what live DaemonSets still admit. The answer is
//! that of the DaemonSet controller for a node without owner label. It must not depend on that
//! label, because the label is the result of the claims.

mod obstacle;
mod taint;
mod term;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, Taint, Toleration};
use sked_api::label;

use crate::node::Node;
use term::{Term, without_owner};

pub use obstacle::{Obstacle, UnmetTerms};
pub use taint::Fit;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Labels that a node must have.
    selector: BTreeMap<String, String>,
    /// One of these must match; `None` matches every node, an empty list none.
    terms: Option<Vec<Term>>,
    /// Besides those that every DaemonSet pod has.
    tolerations: Vec<Toleration>,
}

impl Placement {
    /// From the fields of a pod spec; `required` is the required part of its node affinity.
    pub fn new(
        selector: BTreeMap<String, String>,
        required: Option<&NodeSelector>,
        tolerations: Vec<Toleration>,
    ) -> Self {
        let terms = required.and_then(|required| without_owner(&required.node_selector_terms));
        Self {
            selector,
            terms,
            tolerations,
        }
    }

    /// Whether a pod of the template fits this node if the node had no owner label.
    pub fn fit(&self, node: &Node) -> Fit {
        Obstacle::fit(self.obstacle(node))
    }

    /// The same without taints that come and go by themselves: a node that is not ready for a while
    /// keeps its owner.
    pub fn lasting_fit(&self, node: &Node) -> Fit {
        Obstacle::fit(self.lasting_obstacle(node))
    }

    /// What keeps a pod of the template off this node, if anything does.
    pub fn obstacle<'a>(&'a self, node: &'a Node) -> Option<Obstacle<'a>> {
        let taint = || taint::strictest(node.taints.iter(), &self.tolerations);
        self.mismatch(node).or_else(|| taint().map(Obstacle::taint))
    }

    /// The same without taints that come and go by themselves.
    pub fn lasting_obstacle<'a>(&'a self, node: &'a Node) -> Option<Obstacle<'a>> {
        let lasting = |taint: &&Taint| !taint::is_transient(taint);
        let taint = || taint::strictest(node.taints.iter().filter(lasting), &self.tolerations);
        self.mismatch(node).or_else(|| taint().map(Obstacle::taint))
    }

    /// Called for every node and every SchedExt, so it must not allocate.
    fn mismatch<'a>(&'a self, node: &Node) -> Option<Obstacle<'a>> {
        let lacks = |(key, value): &(&String, &String)| {
            *key == label::OWNER || node.labels.get(*key) != Some(*value)
        };
        if let Some((key, value)) = self.selector.iter().find(lacks) {
            return Some(Obstacle::Label { key, value });
        }
        let terms = self.terms.as_ref()?;
        let matches = terms.iter().any(|term| term.failing(node).is_none());
        (!matches).then(|| Obstacle::affinity(terms))
    }
}

#[cfg(test)]
mod tests;
