//! What keeps a pod of a template off a node, for people who ask why.

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, Taint};

use super::taint::Fit;
use super::term::Term;
use crate::node::Node;

/// The first thing that keeps a pod off a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Obstacle<'a> {
    /// A label that the node selector asks for.
    Label { key: &'a str, value: &'a str },
    /// No term of the node affinity matches.
    Affinity(UnmetTerms<'a>),
    /// A taint that is not tolerated, and what follows from it.
    Taint { taint: &'a Taint, fit: Fit },
}

/// The terms of a node affinity, none of which matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnmetTerms<'a>(&'a [Term]);

impl<'a> Obstacle<'a> {
    pub(super) fn affinity(terms: &'a [Term]) -> Self {
        Self::Affinity(UnmetTerms(terms))
    }

    pub(super) fn taint((taint, fit): (&'a Taint, Fit)) -> Self {
        Self::Taint { taint, fit }
    }

    /// What follows from an obstacle, or from there being none.
    pub fn fit(obstacle: Option<Self>) -> Fit {
        match obstacle {
            None => Fit::Runs,
            Some(Self::Taint { fit, .. }) => fit,
            Some(Self::Label { .. } | Self::Affinity(_)) => Fit::Never,
        }
    }

    /// Half a sentence about the node.
    pub fn describe(&self, node: &Node) -> String {
        match self {
            Self::Label { key, value } => match node.labels.get(*key) {
                Some(other) => format!("its label {key} is {other}, not {value}"),
                None => format!("it lacks the label {key}={value}"),
            },
            Self::Affinity(UnmetTerms(terms)) => {
                let unmet = terms.iter().filter_map(|term| term.failing(node));
                let unmet: Vec<String> = unmet.map(requirement).collect();
                match unmet.is_empty() {
                    true => "the node affinity matches no node".to_owned(),
                    false => format!(
                        "no term of the node affinity matches it: {}",
                        unmet.join(" or ")
                    ),
                }
            }
            Self::Taint { taint, .. } => {
                let value = taint.value.as_deref().filter(|value| !value.is_empty());
                let value = value.map(|value| format!("={value}")).unwrap_or_default();
                let (key, effect) = (&taint.key, &taint.effect);
                format!("its taint {key}{value}:{effect} is not tolerated")
            }
        }
    }
}

fn requirement(rule: &NodeSelectorRequirement) -> String {
    let values = rule.values.as_deref().unwrap_or_default();
    let listed = match values.is_empty() {
        true => String::new(),
        false => format!(" ({})", values.join(", ")),
    };
    format!("{} {}{listed}", rule.key, rule.operator)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture;
    use crate::part::parts;

    fn described(spec: serde_json::Value, node: &Node) -> Option<String> {
        let schedext = fixture::schedext("a", spec);
        let placement = parts(&schedext).next().unwrap().placement();
        placement.obstacle(node).map(|one| one.describe(node))
    }

    #[test]
    fn an_obstacle_is_named() {
        let mut node = fixture::node("node1");
        node.labels.insert("zone".to_owned(), "b".to_owned());
        let zone = json!({"sched": "x", "nodeSelector": {"zone": "a"}});
        let gpu = json!({"sched": "x", "nodeSelector": {"gpu": "yes"}});
        let terms = json!([
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "c"]}]},
            {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
        ]);
        let affinity = json!({"sched": "x", "affinity": {"nodeAffinity":
            {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
        for (spec, text) in [
            (zone, "its label zone is b, not a"),
            (gpu, "it lacks the label gpu=yes"),
            (
                affinity,
                "no term of the node affinity matches it: zone In (a, c) or gpu Exists",
            ),
        ] {
            assert_eq!(described(spec, &node).as_deref(), Some(text));
        }
        assert_eq!(described(json!({"sched": "x"}), &node), None);
        node.taints.push(Taint {
            key: "reserved".to_owned(),
            value: Some("yes".to_owned()),
            effect: "NoSchedule".to_owned(),
            time_added: None,
        });
        assert_eq!(
            described(json!({"sched": "x"}), &node).as_deref(),
            Some("its taint reserved=yes:NoSchedule is not tolerated")
        );
    }
}
