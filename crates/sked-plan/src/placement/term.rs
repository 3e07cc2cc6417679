//! One term of a node affinity, evaluated as Kubernetes does.

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};
use sked_api::label;

use crate::node::Node;

/// All of its requirements must match.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Term {
    labels: Vec<NodeSelectorRequirement>,
    fields: Vec<NodeSelectorRequirement>,
}

/// The terms as they are on a node without owner label. A term with no other requirement always
/// matches then, and so does the whole list (`None`); a term that requires an owner never does. An
/// empty term matches no node, as in Kubernetes.
pub(super) fn without_owner(terms: &[NodeSelectorTerm]) -> Option<Vec<Term>> {
    let mut kept = Vec::with_capacity(terms.len());
    for term in terms {
        let labels = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        if labels.is_empty() && fields.is_empty() {
            continue;
        }
        let about_owner = |rule: &&NodeSelectorRequirement| rule.key == label::OWNER;
        let absent_matches =
            |rule: &NodeSelectorRequirement| matches!(&*rule.operator, "DoesNotExist" | "NotIn");
        if !labels.iter().filter(about_owner).all(absent_matches) {
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
        kept.push(term);
    }
    Some(kept)
}

impl Term {
    /// The first requirement that the node does not meet; `None` if it matches. Called for every
    /// node and every SchedExt, so it must not allocate.
    pub(super) fn failing(&self, node: &Node) -> Option<&NodeSelectorRequirement> {
        let label = |rule: &&NodeSelectorRequirement| {
            !holds(rule, node.labels.get(&rule.key).map(String::as_str))
        };
        // The node's name is the only field that Kubernetes supports here.
        let field = |rule: &&NodeSelectorRequirement| {
            rule.key != "metadata.name" || !holds(rule, Some(&node.name.0))
        };
        let mut labels = self.labels.iter();
        labels
            .find(label)
            .or_else(|| self.fields.iter().find(field))
    }
}

/// Whether a value, or its absence, satisfies the requirement. An unknown operator matches no node.
fn holds(rule: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let listed = |value: &str| rule.values.iter().flatten().any(|one| one == value);
    match &*rule.operator {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(rule, value, |value, bound| value > bound),
        "Lt" => compare(rule, value, |value, bound| value < bound),
        _ => false,
    }
}

fn compare(
    rule: &NodeSelectorRequirement,
    value: Option<&str>,
    holds: fn(i64, i64) -> bool,
) -> bool {
    let Some([bound]) = rule.values.as_deref() else {
        return false;
    };
    match (value.map(str::parse), bound.parse()) {
        (Some(Ok(value)), Ok(bound)) => holds(value, bound),
        _ => false,
    }
}
