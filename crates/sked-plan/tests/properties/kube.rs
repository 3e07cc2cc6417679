//! What Kubernetes does in the simulated clusters: a third implementation of the DaemonSet
//! controller's node matching, for live DaemonSets, and writes of a label.

use serde_json::Value;
use sked_api::label;
use sked_plan::Node;
use sked_plan::claim::LabelWrite;

/// Writes a node's owner label if it still has the value that the write expects.
pub(crate) fn write_label(nodes: &mut [Node], write: &LabelWrite) {
    let Some(node) = nodes.iter_mut().find(|node| node.name == write.node) else {
        return;
    };
    if node.labels.get(label::OWNER) != write.from.as_ref() {
        return;
    }
    match write.to {
        Some(owner) => node
            .labels
            .insert(label::OWNER.to_owned(), owner.to_string()),
        None => node.labels.remove(label::OWNER),
    };
}

/// What the controller does with a pod on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Run,
    Stay,
    Leave,
}

pub(crate) fn verdict(daemonset: &Value, node: &Node) -> Verdict {
    let pod = &daemonset["spec"]["template"]["spec"];
    let label = |key: &str| node.labels.get(key).map(String::as_str);
    let selector = pod["nodeSelector"].as_object().cloned().unwrap_or_default();
    let selected = selector
        .iter()
        .all(|(key, value)| label(key) == value.as_str());
    let required = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        ["nodeSelectorTerms"];
    let required = required.as_array();
    if !selected || required.is_some_and(|terms| !terms.iter().any(|term| term_holds(term, node))) {
        return Verdict::Leave;
    }
    let tolerations = pod["tolerations"].as_array().cloned().unwrap_or_default();
    let repels = |effect: &str| {
        let mut taints = node.taints.iter().filter(|taint| taint.effect == effect);
        taints.any(|taint| {
            !tolerations.iter().any(|one| {
                let covers = |key: &str, other: &str| one[key].is_null() || one[key] == other;
                let value = taint.value.as_deref().unwrap_or_default();
                covers("key", &taint.key)
                    && covers("effect", &taint.effect)
                    && (one["operator"] == "Exists" || one["value"] == value)
            })
        })
    };
    match (repels("NoExecute"), repels("NoSchedule")) {
        (true, _) => Verdict::Leave,
        (false, true) => Verdict::Stay,
        (false, false) => Verdict::Run,
    }
}

fn term_holds(term: &Value, node: &Node) -> bool {
    let rules = |key: &str| term[key].as_array().cloned().unwrap_or_default();
    let (labels, fields) = (rules("matchExpressions"), rules("matchFields"));
    let label = |rule: &Value| {
        node.labels
            .get(rule["key"].as_str().unwrap())
            .map(String::as_str)
    };
    !(labels.is_empty() && fields.is_empty())
        && labels.iter().all(|rule| rule_holds(rule, label(rule)))
        && fields
            .iter()
            .all(|rule| rule_holds(rule, Some(&node.name.0)))
}

fn rule_holds(rule: &Value, value: Option<&str>) -> bool {
    let values = rule["values"].as_array().cloned().unwrap_or_default();
    let listed = value.is_some_and(|value| values.iter().any(|one| one == value));
    let number = value.and_then(|value| value.parse::<i64>().ok());
    let bound = || values[0].as_str().unwrap().parse::<i64>().unwrap();
    match rule["operator"].as_str().unwrap() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => number.is_some_and(|number| number > bound()),
        "Lt" => number.is_some_and(|number| number < bound()),
        other => panic!("operator {other}"),
    }
}
