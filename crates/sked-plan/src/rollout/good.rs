//! `status.lastGood`: the fields of a spec that make a revision, and a spec made of them again.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeAffinity, NodeSelector, NodeSelectorTerm};
use serde_json::{Map, Value};
use sked_api::{GoodRevision, NodeRules, SchedExt, SchedExtSpec, label};

/// What runs, and where.
const FIELDS: [&str; 8] = [
    "sched",
    "args",
    "env",
    "watchdogTimeout",
    "pools",
    "nodeSelector",
    "affinity",
    "tolerations",
];

/// Those of the fields that the spec has.
pub(crate) fn fields(schedext: &SchedExt) -> Map<String, Value> {
    match serde_json::to_value(&schedext.spec) {
        Ok(Value::Object(mut spec)) => {
            spec.retain(|name, _| FIELDS.contains(&&**name));
            spec
        }
        // Plain data always serializes to an object.
        _ => Map::new(),
    }
}

/// The SchedExt as it was with that revision, on nodes that it selects then and now: who takes a
/// node out of the spec wants it back at once. Everything else is as it is now. `None` if the
/// record cannot be parsed.
pub(crate) fn restored(schedext: &SchedExt, good: &Map<String, Value>) -> Option<SchedExt> {
    let Ok(Value::Object(mut spec)) = serde_json::to_value(&schedext.spec) else {
        return None;
    };
    put_back_fields(&mut spec, good);
    let then: SchedExtSpec = serde_json::from_value(Value::Object(spec)).ok()?;
    Some(SchedExt {
        metadata: schedext.metadata.clone(),
        spec: on_common_nodes(then, &schedext.spec),
        status: schedext.status.clone(),
    })
}

/// Makes a spec that of a good revision again; everything else in it stays.
pub fn put_back(spec: &mut Map<String, Value>, good: &GoodRevision) {
    put_back_fields(spec, &good.spec);
}

fn put_back_fields(spec: &mut Map<String, Value>, good: &Map<String, Value>) {
    spec.retain(|name, _| !FIELDS.contains(&&**name));
    spec.extend(good.clone());
}

fn on_common_nodes(then: SchedExtSpec, now: &SchedExtSpec) -> SchedExtSpec {
    let pools = then.pools.into_iter().map(|mut pool| {
        let same = now.pools.iter().find(|one| one.name == pool.name);
        if let Some(same) = same {
            pool.node_selector = both(pool.node_selector, &same.node_selector);
        }
        pool
    });
    let tolerations = then.tolerations.into_iter();
    SchedExtSpec {
        pools: pools.collect(),
        node_selector: both(then.node_selector, &now.node_selector),
        affinity: both_rules(then.affinity, now.affinity.as_ref()),
        tolerations: tolerations
            .filter(|one| now.tolerations.contains(one))
            .collect(),
        ..then
    }
}

/// Where a label would have to have two values at once, the result matches no node: sked writes no
/// such owner.
fn both(
    mut then: BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    for (key, value) in now {
        if then.entry(key.clone()).or_insert_with(|| value.clone()) != value {
            then.insert(label::OWNER.to_owned(), "none".to_owned());
        }
    }
    then
}

fn both_rules(then: Option<NodeRules>, now: Option<&NodeRules>) -> Option<NodeRules> {
    let (Some(then), Some(now)) = (&then, now) else {
        return then.or_else(|| now.cloned());
    };
    if then == now {
        return Some(then.clone());
    }
    let affinity = |rules: &NodeRules| rules.node_affinity.clone().unwrap_or_default();
    let (then, now) = (affinity(then), affinity(now));
    let terms = match (
        then.required_during_scheduling_ignored_during_execution,
        now.required_during_scheduling_ignored_during_execution,
    ) {
        (Some(then), Some(now)) => Some(NodeSelector {
            node_selector_terms: product(&then.node_selector_terms, &now.node_selector_terms),
        }),
        (then, now) => then.or(now),
    };
    Some(NodeRules {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: terms,
            ..then
        }),
    })
}

/// Each term of one list with each of the other. An empty term matches no node, and so does what it
/// is combined with.
fn product(one: &[NodeSelectorTerm], other: &[NodeSelectorTerm]) -> Vec<NodeSelectorTerm> {
    let joined = |one: &Option<Vec<_>>, other: &Option<Vec<_>>| {
        let rules: Vec<_> = one.iter().chain(other).flatten().cloned().collect();
        (!rules.is_empty()).then_some(rules)
    };
    let is_empty = |term: &NodeSelectorTerm| {
        let none = |rules: &Option<Vec<_>>| rules.as_ref().is_none_or(Vec::is_empty);
        none(&term.match_expressions) && none(&term.match_fields)
    };
    let pairs = one
        .iter()
        .flat_map(|one| other.iter().map(move |other| (one, other)));
    let pairs = pairs.map(|(one, other)| {
        if is_empty(one) || is_empty(other) {
            return NodeSelectorTerm::default();
        }
        NodeSelectorTerm {
            match_expressions: joined(&one.match_expressions, &other.match_expressions),
            match_fields: joined(&one.match_fields, &other.match_fields),
        }
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;

    use super::*;
    use crate::fixture;
    use crate::part::parts;
    use crate::placement::Fit;
    use crate::revision::{revision, selection};

    fn good(schedext: &SchedExt) -> GoodRevision {
        GoodRevision {
            revision: revision(schedext),
            selection: selection(schedext),
            since: Time(jiff::Timestamp::UNIX_EPOCH),
            verified: false,
            policy: None,
            spec: fields(schedext),
        }
    }

    #[test]
    fn a_revision_is_restored_whole_and_the_rest_is_as_it_is_now() {
        let one = fixture::schedext(
            "a",
            json!({"sched": "x:1", "args": ["-v"], "watchdogTimeout": "5s", "priority": 1,
                "pools": [{"name": "p", "nodeSelector": {"p": "1"}, "sched": "y:1"}]}),
        );
        let two = fixture::schedext("a", json!({"sched": "x:2", "priority": 2}));
        let restored = restored(&two, &good(&one).spec).unwrap();
        assert_eq!(revision(&restored), revision(&one));
        assert_eq!(restored.spec.priority, 2);
        assert_eq!(restored.spec.pools, one.spec.pools);
    }

    #[test]
    fn only_nodes_of_both_selections_remain() {
        let zone = |zone: &str| {
            fixture::schedext("a", json!({"sched": "x", "nodeSelector": {"zone": zone}}))
        };
        let all = fixture::schedext("a", json!({"sched": "x"}));
        let in_zone = |one: &SchedExt, other: &SchedExt, zone: &str| {
            let restored = restored(one, &good(other).spec).unwrap();
            let mut node = fixture::node("node1");
            node.labels.insert("zone".to_owned(), zone.to_owned());
            parts(&restored).next().unwrap().placement().fit(&node) == Fit::Runs
        };
        for (one, other) in [(&all, &zone("a")), (&zone("a"), &all)] {
            assert!(in_zone(one, other, "a"));
            assert!(!in_zone(one, other, "b"));
        }
        assert!(!in_zone(&zone("a"), &zone("b"), "a"));
        assert!(!in_zone(&zone("a"), &zone("b"), "b"));
        let same = restored(&zone("a"), &good(&zone("a")).spec).unwrap();
        assert_eq!(same.spec, zone("a").spec);
    }

    #[test]
    fn a_record_that_cannot_be_parsed_is_none() {
        let one = fixture::schedext("a", json!({"sched": "x:1"}));
        let mut record = good(&one);
        record.spec.insert("args".to_owned(), json!(7));
        assert_eq!(restored(&one, &record.spec), None);
    }
}
