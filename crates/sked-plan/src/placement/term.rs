//! One term of a node affinity against one node, as Kubernetes reads it.

use k8s_openapi::api::core::v1::NodeSelectorRequirement;

use super::Term;
use crate::observed::Node;

impl Term {
    /// Whether all of it holds. Called for every node and every SchedExt: nothing is copied.
    pub(super) fn matches(&self, node: &Node) -> bool {
        let label = |rule: &NodeSelectorRequirement| {
            holds(rule, node.labels.get(&rule.key).map(String::as_str))
        };
        // A node's name is the only field that Kubernetes knows here.
        let field = |rule: &NodeSelectorRequirement| {
            rule.key == "metadata.name" && holds(rule, Some(&node.name.0))
        };
        self.labels.iter().all(label) && self.fields.iter().all(field)
    }
}

/// Whether a value, or its absence, is what the rule asks for. A rule that nobody understands
/// lets no node in.
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
