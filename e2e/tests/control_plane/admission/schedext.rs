//! SchedExts that are valid but for one value.

use serde_json::{Value, json};
use sked_api::crd::field_path::{ITEMS, VALUES};

/// The smallest one.
pub(crate) fn plain() -> Value {
    json!({
        "apiVersion": "sked.schedkit.io/v1",
        "kind": "SchedExt",
        "metadata": {"name": "tried"},
        "spec": {"sched": "ghcr.io/schedkit/scx_rusty:1.1.4"},
    })
}

/// The smallest one with `value` at `path`; whatever must be around it is valid.
pub(crate) fn with(path: &str, value: &Value) -> Value {
    let mut object = plain();
    let mut at_path = &mut object;
    let mut so_far = String::new();
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.trim_end_matches(['[', ']', '{', '}']);
        so_far += name;
        at_path = &mut at_path[name];
        let inward = &segment[name.len()..];
        if !inward.is_empty() {
            so_far += inward;
            let around = around(&so_far);
            at_path = match inward {
                ITEMS => {
                    *at_path = json!([around]);
                    &mut at_path[0]
                }
                VALUES => {
                    &mut at_path[if so_far.contains("resources") {
                        "cpu"
                    } else {
                        "key"
                    }]
                }
                other => panic!("no step {other}"),
            };
        } else if at_path.is_null() {
            *at_path = around(&so_far);
        }
        so_far.push('.');
    }
    match path {
        "" | "spec" => merge(at_path, value),
        _ => *at_path = value.clone(),
    }
    object
}

/// The value at `path` of an object that [`with`] made.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    let mut at_path = object;
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.trim_end_matches(['[', ']', '{', '}']);
        at_path = &at_path[name];
        at_path = match &segment[name.len()..] {
            ITEMS => &at_path[0],
            VALUES if path.contains("resources") => &at_path["cpu"],
            VALUES => &at_path["key"],
            _ => at_path,
        };
    }
    at_path
}

/// What an object at `path` must have besides the one value.
pub(crate) fn around(path: &str) -> Value {
    let known = [
        (
            "pools[]",
            json!({"name": "batch", "nodeSelector": {"pool": "batch"}}),
        ),
        ("env[]", json!({"name": "A"})),
        ("imagePullSecrets[]", json!({"name": "pull"})),
        ("tolerations[]", json!({"key": "a", "effect": "NoExecute"})),
        (
            "matchExpressions[]",
            json!({"key": "a", "operator": "In", "values": ["b"]}),
        ),
        (
            "matchFields[]",
            json!({"key": "metadata.name", "operator": "In", "values": ["node"]}),
        ),
        (
            "preferredDuringSchedulingIgnoredDuringExecution[]",
            json!({"weight": 1, "preference": {}}),
        ),
        (
            "requiredDuringSchedulingIgnoredDuringExecution",
            json!({"nodeSelectorTerms": [{}]}),
        ),
        ("[]", json!({})),
        (".affinity", json!({})),
        (".nodeAffinity", json!({})),
        (".resources", json!({})),
        (".rollout", json!({})),
    ];
    let mut known = known.into_iter();
    let found = known.find(|(end, _)| path.ends_with(end));
    found.map_or(Value::Null, |(_, value)| value)
}

fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (name, value) in change {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change.clone(),
    }
}
