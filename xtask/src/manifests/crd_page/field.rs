//! One field of a schema in the words of a table's cells.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Every object from `schema` down, with its path, in reading order.
pub(super) fn objects<'a>(
    path: &str,
    schema: &'a JSONSchemaProps,
) -> Vec<(String, &'a JSONSchemaProps)> {
    let mut found = Vec::new();
    if schema.properties.is_some() {
        found.push((path.to_owned(), schema));
    }
    for (name, field) in schema.properties.iter().flatten() {
        found.extend(objects(&format!("{path}.{name}"), field));
    }
    if let Some((suffix, within)) = within(schema) {
        found.extend(objects(&format!("{path}{suffix}"), within));
    }
    found
}

/// The fields of an object and whether each is required; those that are come first.
pub(super) fn parts(object: &JSONSchemaProps) -> Vec<(&str, &JSONSchemaProps, bool)> {
    let fields = object.properties.iter().flatten();
    let required = |name: &String| object.required.iter().flatten().any(|other| other == name);
    let mut parts: Vec<_> = fields
        .map(|(name, field)| (name.as_str(), field, required(name)))
        .collect();
    parts.sort_by_key(|(_, _, required)| !required);
    parts
}

/// What a list or a map holds, and how a path says so.
fn within(schema: &JSONSchemaProps) -> Option<(&'static str, &JSONSchemaProps)> {
    match (&schema.items, &schema.additional_properties) {
        (Some(JSONSchemaPropsOrArray::Schema(items)), _) => Some(("[]", items)),
        (_, Some(JSONSchemaPropsOrBool::Schema(values))) => Some(("{}", values)),
        _ => None,
    }
}

/// Its type, as people say it.
pub(super) fn kind(schema: &JSONSchemaProps) -> String {
    if let Some((suffix, within)) = within(schema) {
        let what = if suffix == "[]" { "list" } else { "map" };
        return format!("{what} of {}", kind(within));
    }
    if schema.x_kubernetes_int_or_string == Some(true) {
        return "integer or string".to_owned();
    }
    match (schema.type_.as_deref(), schema.format.as_deref()) {
        (_, Some("date-time")) => "time".to_owned(),
        (kind, _) => kind.unwrap_or_default().to_owned(),
    }
}

/// What it is when nothing is said.
pub(super) fn default(schema: &JSONSchemaProps) -> String {
    let default = schema.default.as_ref();
    default.map_or_else(String::new, |value| format!("`{}`", value.0))
}

/// Its bounds, and those of what it holds.
pub(super) fn limits(schema: &JSONSchemaProps) -> String {
    let mut said = Vec::new();
    if schema.min_items.is_some() {
        said.push("not empty".to_owned());
    }
    said.extend(schema.max_items.map(|most| format!("≤ {most} items")));
    said.extend(
        schema
            .max_properties
            .map(|most| format!("≤ {most} entries")),
    );
    said.extend(schema.max_length.map(|most| format!("≤ {most} characters")));
    if let (Some(least), Some(most)) = (schema.minimum, schema.maximum) {
        said.push(format!("{least} to {most}"));
    }
    let words = schema.enum_.iter().flatten();
    let words: Vec<_> = words.map(|word| format!("`{}`", word.0)).collect();
    said.extend((!words.is_empty()).then(|| words.join(", ")));
    let keys = schema.x_kubernetes_list_map_keys.iter().flatten();
    said.extend(keys.map(|key| format!("each `{key}` once")));
    let within = within(schema).map(|(_, within)| limits(within));
    said.extend(
        within
            .filter(|limits| !limits.is_empty())
            .map(|limits| format!("each {limits}")),
    );
    said.join("; ")
}
