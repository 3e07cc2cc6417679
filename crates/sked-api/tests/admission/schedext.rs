//! SchedExts that are right but for one value.

use serde_json::{Value, json};
use sked_api::crd::field_path::{ITEMS, VALUES};

/// The least one.
pub(crate) fn plain() -> Value {
    json!({
        "apiVersion": "sked.schedkit.io/v1",
        "kind": "SchedExt",
        "metadata": {"name": "tried"},
        "spec": {"sched": "ghcr.io/schedkit/scx_rusty:1.1.4"},
    })
}

/// The least one with `value` at `path`; whatever must be around it is right.
pub(crate) fn with(path: &str, value: &Value) -> Value {
    let mut object = plain();
    let mut place = &mut object;
    let mut so_far = String::new();
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.trim_end_matches(['[', ']', '{', '}']);
        so_far += name;
        place = &mut place[name];
        let inward = &segment[name.len()..];
        if !inward.is_empty() {
            so_far += inward;
            let around = around(&so_far);
            place = match inward {
                ITEMS => {
                    *place = json!([around]);
                    &mut place[0]
                }
                VALUES => {
                    &mut place[if so_far.contains("resources") {
                        "cpu"
                    } else {
                        "key"
                    }]
                }
                other => panic!("no step {other}"),
            };
        } else if place.is_null() {
            *place = around(&so_far);
        }
        so_far.push('.');
    }
    match path {
        "" | "spec" => merge(place, value),
        _ => *place = value.clone(),
    }
    object
}

/// The value at `path` of an object that [`with`] made.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    let mut place = object;
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.trim_end_matches(['[', ']', '{', '}']);
        place = &place[name];
        place = match &segment[name.len()..] {
            ITEMS => &place[0],
            VALUES if path.contains("resources") => &place["cpu"],
            VALUES => &place["key"],
            _ => place,
        };
    }
    place
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
