//! Whether a template admits a node: a second implementation of Kubernetes' rules, so that a
//! mistake in the planner's does not go unnoticed.

use k8s_openapi::api::core::v1::{
    NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration,
};
use sked_api::label;

use crate::node::Node;

/// Whether a new pod of this template would be placed on the node if its owner label had this
/// value.
pub(super) fn admits(pod: &PodSpec, node: &Node, owner: Option<&str>) -> bool {
    let value = |key: &str| match key {
        label::OWNER => owner,
        key => node.labels.get(key).map(String::as_str),
    };
    let mut selector = pod.node_selector.iter().flatten();
    if selector.any(|(key, desired)| value(key) != Some(desired)) {
        return false;
    }
    let affinity = pod
        .affinity
        .as_ref()
        .and_then(|all| all.node_affinity.as_ref());
    let required = affinity
        .and_then(|all| {
            all.required_during_scheduling_ignored_during_execution
                .as_ref()
        })
        .is_none_or(|required| {
            let mut terms = required.node_selector_terms.iter();
            terms.any(|term| holds(term, &node.name.0, value))
        });
    let tolerations = pod.tolerations.as_deref().unwrap_or_default();
    required && !node.taints.iter().any(|taint| repels(tolerations, taint))
}

fn holds<'a>(
    term: &NodeSelectorTerm,
    name: &'a str,
    value: impl Fn(&str) -> Option<&'a str>,
) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    expressions.iter().all(|rule| fits(rule, value(&rule.key)))
        && fields
            .iter()
            .all(|rule| rule.key == "metadata.name" && fits(rule, Some(name)))
}

fn fits(rule: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = rule.values.as_deref().unwrap_or_default();
    let listed = |value: &str| values.iter().any(|one| one == value);
    let number = |text: &str| text.parse::<i64>().ok();
    let pair = || match values {
        [bound] => Some((number(value?)?, number(bound)?)),
        _ => None,
    };
    match (&*rule.operator, value) {
        ("Exists", Some(_)) | ("DoesNotExist" | "NotIn", None) => true,
        ("In", Some(value)) => listed(value),
        ("NotIn", Some(value)) => !listed(value),
        ("Gt", Some(_)) => pair().is_some_and(|(value, bound)| value > bound),
        ("Lt", Some(_)) => pair().is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

/// Whether a taint keeps new pods of a DaemonSet off the node.
fn repels(tolerations: &[Toleration], taint: &Taint) -> bool {
    let automatic = match taint.key.strip_prefix("node.kubernetes.io/") {
        Some("not-ready" | "unreachable") => taint.effect == "NoExecute",
        Some(
            "disk-pressure"
            | "memory-pressure"
            | "pid-pressure"
            | "unschedulable"
            | "network-unavailable",
        ) => taint.effect == "NoSchedule",
        _ => false,
    };
    let preferred = taint.effect == "PreferNoSchedule";
    !automatic && !preferred && !tolerations.iter().any(|one| tolerates(one, taint))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let non_empty = |text: &'_ Option<String>| text.clone().filter(|text| !text.is_empty());
    let value = taint.value.as_deref().unwrap_or_default();
    let desired = toleration.value.as_deref().unwrap_or_default();
    let numbers = value.parse::<i64>().ok().zip(desired.parse::<i64>().ok());
    non_empty(&toleration.key).is_none_or(|key| key == taint.key)
        && non_empty(&toleration.effect).is_none_or(|effect| effect == taint.effect)
        && match non_empty(&toleration.operator).as_deref() {
            Some("Exists") => true,
            Some("Equal") | None => desired == value,
            Some("Gt") => numbers.is_some_and(|(value, bound)| value > bound),
            Some("Lt") => numbers.is_some_and(|(value, bound)| value < bound),
            Some(_) => false,
        }
}
