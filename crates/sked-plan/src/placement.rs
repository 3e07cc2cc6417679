//! Which nodes a template lets in, the owner label left aside.
//!
//! Claims ask it of what SchedExts want and of what live DaemonSets still say. It answers as the
//! DaemonSet controller would on a node without owner label, and never looks at that label: what
//! depended on it would change with every answer.

mod matching;
mod taint;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Toleration,
};
use sked_api::label;

use crate::observed::Node;

/// Which nodes a template lets in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Labels that a node must have.
    selector: BTreeMap<String, String>,
    /// One of these must hold; `None`: whatever the node. No term at all lets no node in.
    terms: Option<Vec<Term>>,
    /// Taints that are no obstacle, besides those that no DaemonSet minds.
    tolerations: Vec<Toleration>,
}

/// What a node must be, all of it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Term {
    labels: Vec<NodeSelectorRequirement>,
    fields: Vec<NodeSelectorRequirement>,
}

/// Whether a DaemonSet's pod belongs on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It does not, and one that is there is taken away.
    Never,
    /// A new one would not be made, but one that is there may stay: a taint `NoSchedule`.
    Stays,
    /// It does.
    Runs,
}

impl Placement {
    /// From a selector, the required terms of a node affinity, and tolerations, as pods have them.
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

    /// Whether a pod belongs on this node, if the node had no owner label.
    pub fn fit(&self, node: &Node) -> Fit {
        let labels = |(key, value): (&String, &String)| {
            key != label::OWNER && node.labels.get(key) == Some(value)
        };
        let selected = self.selector.iter().all(labels);
        let mut terms = self.terms.iter();
        if !selected || !terms.all(|terms| terms.iter().any(|term| term.matches(node))) {
            return Fit::Never;
        }
        taint::fit(&node.taints, &self.tolerations)
    }
}

/// The terms as they are on a node without owner label. A term that asks for nothing else is
/// always true then, and so are all of them together; a term that asks for an owner never is. An
/// empty term lets no node in: so Kubernetes reads it.
fn without_owner(terms: &[NodeSelectorTerm]) -> Option<Vec<Term>> {
    let mut left = Vec::with_capacity(terms.len());
    for term in terms {
        let labels = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        if labels.is_empty() && fields.is_empty() {
            continue;
        }
        let about_owner = |rule: &&NodeSelectorRequirement| rule.key == label::OWNER;
        let absent_is_fine =
            |rule: &NodeSelectorRequirement| matches!(&*rule.operator, "DoesNotExist" | "NotIn");
        if !labels.iter().filter(about_owner).all(absent_is_fine) {
            continue;
        }
        let labels = labels.iter().filter(|rule| !about_owner(rule));
        let term = Term {
            labels: labels.cloned().collect(),
            fields: fields.to_vec(),
        };
        if term == Term::default() {
            return None;
        }
        left.push(term);
    }
    Some(left)
}

#[cfg(test)]
mod tests;
