//! One more than the limit, one value outside an enum, one name twice: wherever the schema has a
//! limit.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sked_api::crd;

use super::schedext::{around, with};
use super::server::{Server, server};

#[test]
fn one_more_than_the_limit_is_rejected() {
    let server = server();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (path, schema) in fields() {
        for value in beyond(&path, &schema) {
            tried += 1;
            wrong.extend(accepted_or_unnamed(&server, &path, &value));
        }
    }
    assert!(tried > 60, "only {tried}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_name_is_in_a_list_once() {
    let server = server();
    for path in [
        "spec.env",
        "spec.imagePullSecrets",
        "spec.pools",
        "spec.pools[].env",
    ] {
        let item = around(&format!("{path}[]"));
        let rejection = server.offer(&with(path, &json!([item, item]))).unwrap_err();
        assert_eq!(rejection.code, 422);
        assert!(
            rejection.message.contains("Duplicate value"),
            "{rejection:?}"
        );
    }
}

/// An error unless the API server rejects the value and names the field.
pub(crate) fn accepted_or_unnamed(server: &Server, path: &str, value: &Value) -> Option<String> {
    let last = path.rsplit('.').next().unwrap_or_default();
    let last = last.trim_end_matches(['[', ']', '{', '}']);
    match server.offer(&with(path, value)) {
        Err(rejection) if rejection.code == 422 && rejection.message.contains(last) => None,
        other => {
            let value: String = value.to_string().chars().take(80).collect();
            Some(format!("{path} {value}: {other:?}"))
        }
    }
}

/// Every field below `spec`, by its path.
pub(crate) fn fields() -> BTreeMap<String, Value> {
    let definition = serde_json::to_value(crd::schedext().unwrap()).unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut found = BTreeMap::new();
    collect("spec", &schema["properties"]["spec"], &mut found);
    found
}

fn collect(path: &str, schema: &Value, found: &mut BTreeMap<String, Value>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        collect(&format!("{path}.{name}"), field, found);
    }
    if schema["items"].is_object() {
        collect(&format!("{path}[]"), &schema["items"], found);
    }
    if schema["additionalProperties"].is_object() {
        collect(
            &format!("{path}{{}}"),
            &schema["additionalProperties"],
            found,
        );
    }
    found.insert(path.to_owned(), schema.clone());
}

fn beyond(path: &str, schema: &Value) -> Vec<Value> {
    let limit = |name: &str| schema[name].as_f64().map(|limit| limit as i64);
    let count = |limit: i64| usize::try_from(limit + 1).unwrap();
    let mut values = Vec::new();
    values.extend(limit("maxLength").map(|most| json!("a".repeat(count(most)))));
    values.extend(limit("minimum").map(|least| json!(least - 1)));
    values.extend(limit("maximum").map(|most| json!(most + 1)));
    values.extend(limit("minItems").map(|_| json!([])));
    values.extend(schema.get("enum").map(|_| json!("Nonsense")));
    values.extend(limit("maxProperties").map(|most| {
        let entry = |i| (format!("key{i}"), json!("1"));
        (0..count(most)).map(entry).collect()
    }));
    values.extend(limit("maxItems").map(|most| {
        let item = |i| item(&format!("{path}[]"), i);
        (0..count(most)).map(item).collect()
    }));
    values
}

/// An item that is right, with a name of its own when it has one.
fn item(path: &str, number: usize) -> Value {
    if path.ends_with("args[]") || path.ends_with("values[]") {
        return json!("a");
    }
    let mut item = around(path);
    if item.get("name").is_some() {
        item["name"] = format!("a{number}").into();
    }
    item
}
