//! Taints; selectors and terms are compared with a second implementation in `tests/properties`.

use k8s_openapi::api::core::v1::Taint;
use serde_json::json;

use super::*;

fn node(taints: &[(&str, &str, &str)]) -> Node {
    let taint = |(key, value, effect): &(&str, &str, &str)| Taint {
        key: (*key).to_owned(),
        value: Some((*value).to_owned()),
        effect: (*effect).to_owned(),
        time_added: None,
    };
    Node {
        taints: taints.iter().map(taint).collect(),
        ..crate::fixture::node("node1")
    }
}

#[test]
fn taints_and_tolerations() {
    let cases = [
        (
            json!([]),
            ("node.kubernetes.io/not-ready", "", "NoExecute"),
            Fit::Runs,
        ),
        (
            json!([]),
            ("node.kubernetes.io/not-ready", "", "NoSchedule"),
            Fit::Stays,
        ),
        (
            json!([]),
            ("node.kubernetes.io/unreachable", "", "NoExecute"),
            Fit::Runs,
        ),
        (
            json!([]),
            ("node.kubernetes.io/unschedulable", "", "NoSchedule"),
            Fit::Runs,
        ),
        (
            json!([]),
            ("node.kubernetes.io/network-unavailable", "", "NoSchedule"),
            Fit::Runs,
        ),
        (json!([]), ("a", "b", "PreferNoSchedule"), Fit::Runs),
        (json!([]), ("a", "b", "NoSchedule"), Fit::Stays),
        (json!([]), ("a", "b", "NoExecute"), Fit::Never),
        (
            json!([{"operator": "Exists"}]),
            ("a", "b", "NoExecute"),
            Fit::Runs,
        ),
        (
            json!([{"key": "a", "value": "b"}]),
            ("a", "b", "NoExecute"),
            Fit::Runs,
        ),
        (
            json!([{"key": "a", "value": "c"}]),
            ("a", "b", "NoExecute"),
            Fit::Never,
        ),
        (
            json!([{"key": "", "operator": "Exists"}]),
            ("a", "b", "NoExecute"),
            Fit::Runs,
        ),
        (
            json!([{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]),
            ("a", "b", "NoExecute"),
            Fit::Never,
        ),
        (
            json!([{"key": "level", "operator": "Gt", "value": "900"}]),
            ("level", "950", "NoSchedule"),
            Fit::Runs,
        ),
        (
            json!([{"key": "level", "operator": "Lt", "value": "900"}]),
            ("level", "950", "NoSchedule"),
            Fit::Stays,
        ),
    ];
    for (tolerations, taint, fit) in cases {
        let parsed = serde_json::from_value(tolerations.clone()).unwrap();
        let placement = Placement::new(BTreeMap::new(), None, parsed);
        assert_eq!(
            placement.fit(&node(&[taint])),
            fit,
            "{tolerations} {taint:?}"
        );
    }
    let both = node(&[("a", "", "NoSchedule"), ("b", "", "NoExecute")]);
    assert_eq!(Placement::default().fit(&both), Fit::Never);
}

/// Requirements for the owner label are evaluated as on a node without it.
#[test]
fn the_owner_label_is_never_read() {
    let terms = |rules: serde_json::Value| {
        let required = json!({"nodeSelectorTerms": [{"matchExpressions": rules}]});
        let required: NodeSelector = serde_json::from_value(required).unwrap();
        Placement::new(BTreeMap::new(), Some(&required), Vec::new())
    };
    let rule = |operator: &str| json!([{"key": label::OWNER, "operator": operator}]);
    let mut labelled = node(&[]);
    labelled
        .labels
        .insert(label::OWNER.to_owned(), "x".to_owned());
    for node in [node(&[]), labelled] {
        assert_eq!(terms(rule("DoesNotExist")).fit(&node), Fit::Runs);
        assert_eq!(terms(rule("Exists")).fit(&node), Fit::Never);
        assert_eq!(terms(json!([])).fit(&node), Fit::Never);
        let selector = [(label::OWNER.to_owned(), "x".to_owned())].into();
        assert_eq!(
            Placement::new(selector, None, Vec::new()).fit(&node),
            Fit::Never
        );
    }
}
