//! Which nodes a pod template admits, without the owner label.
//!
//! Claims use it for what SchedExts select and for what live DaemonSets still admit. The answer is
//! that of the DaemonSet controller for a node without owner label. It must not depend on that
//! label, because the label is the result of the claims.

mod taint;
mod term;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use sked_api::label;

use crate::node::Node;
use term::{Term, without_owner};

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
        match self.selects(node) {
            true => taint::fit(node.taints.iter(), &self.tolerations),
            false => Fit::Never,
        }
    }

    /// The same without taints that come and go by themselves: a node that is not ready for a while
    /// keeps its owner.
    pub fn lasting_fit(&self, node: &Node) -> Fit {
        let lasting = node
            .taints
            .iter()
            .filter(|taint| !taint::is_transient(taint));
        match self.selects(node) {
            true => taint::fit(lasting, &self.tolerations),
            false => Fit::Never,
        }
    }

    fn selects(&self, node: &Node) -> bool {
        let labels = |(key, value): (&String, &String)| {
            key != label::OWNER && node.labels.get(key) == Some(value)
        };
        let selected = self.selector.iter().all(labels);
        let mut terms = self.terms.iter();
        selected && terms.all(|terms| terms.iter().any(|term| term.matches(node)))
    }
}

#[cfg(test)]
mod tests;
