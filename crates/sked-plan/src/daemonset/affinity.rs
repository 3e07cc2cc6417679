//! Node affinity: nodes without owner label, and nodes whose label names this part; for a canary
//! only the latter.

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
};
use sked_api::label;

use crate::part::{Part, Stage};

pub(super) fn affinity(part: &Part<'_>) -> Affinity {
    let own = part.node_affinity();
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: terms(part),
            }),
            preferred_during_scheduling_ignored_during_execution: own.and_then(|own| {
                let preferred = &own.preferred_during_scheduling_ignored_during_execution;
                preferred.clone()
            }),
        }),
        pod_affinity: None,
        pod_anti_affinity: None,
    }
}

/// Each of the owner rules combined with each of the user's terms. An empty user term matches
/// no node and is dropped, because combined with a rule it would match nodes; if no term is left, a
/// single empty term makes the whole affinity match no node.
fn terms(part: &Part<'_>) -> Vec<NodeSelectorTerm> {
    let own = part.node_affinity();
    let own = own.and_then(|own| {
        own.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let own = own.map(|own| {
        own.node_selector_terms
            .iter()
            .filter(|term| !is_empty(term))
    });
    let own: Vec<NodeSelectorTerm> = match own {
        None => vec![NodeSelectorTerm::default()],
        Some(own) => own.cloned().collect(),
    };
    if own.is_empty() {
        return vec![NodeSelectorTerm::default()];
    }
    let named = owner_rule("In", Some(vec![part.owner().to_string()]));
    let rules = match part.stage {
        Stage::Stable => vec![owner_rule("DoesNotExist", None), named],
        Stage::Canary => vec![named],
    };
    let joined = |rule: &NodeSelectorRequirement| {
        let rule = rule.clone();
        own.iter().map(move |own| NodeSelectorTerm {
            match_expressions: Some(
                std::iter::once(rule.clone())
                    .chain(own.match_expressions.iter().flatten().cloned())
                    .collect(),
            ),
            match_fields: own.match_fields.clone(),
        })
    };
    rules.iter().flat_map(joined).collect()
}

fn is_empty(term: &NodeSelectorTerm) -> bool {
    let none = |rules: &Option<Vec<_>>| rules.as_ref().is_none_or(Vec::is_empty);
    none(&term.match_expressions) && none(&term.match_fields)
}

fn owner_rule(operator: &str, values: Option<Vec<String>>) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: label::OWNER.to_owned(),
        operator: operator.to_owned(),
        values,
    }
}
