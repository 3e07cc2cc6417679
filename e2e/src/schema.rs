//! Documents of schedctl against the JSON Schemas that it publishes (`crates/schedctl/schemas`):
//! every required field is there, every field is described, and each has the type that its
//! description says. The crate's own tests check the rest of the schemas' keywords.

use serde_json::Value;

use crate::program::tree;

/// Checks what `schedctl ARGS -o json` printed: an error against `error.json`, anything else
/// against the schema of the command.
#[track_caller]
pub fn check(document: &Value, args: &[&str]) {
    let schemas = tree().join("crates/schedctl/schemas");
    let file = |name: &str| schemas.join(format!("{name}.json"));
    let name = match document.get("error") {
        Some(_) => "error",
        None => {
            // A switch prints what a run prints.
            let commands = args.iter().map(|arg| arg.replace("switch", "run"));
            let mut commands = commands.filter(|command| file(command).exists());
            &commands
                .next()
                .unwrap_or_else(|| panic!("no schema for {args:?}"))
        }
    };
    let schema = std::fs::read(file(name)).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let mut faults = Vec::new();
    compare(&schema, &schema, document, name, &mut faults);
    assert!(faults.is_empty(), "{faults:#?}\n{document:#}");
}

fn compare(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        return compare(root, root.pointer(pointer).unwrap(), value, at, faults);
    }
    if let Some(options) = schema["anyOf"].as_array() {
        let fits = options.iter().any(|option| {
            let mut found = Vec::new();
            compare(root, option, value, at, &mut found);
            found.is_empty()
        });
        if !fits {
            faults.push(format!("{at} fits none of {}", schema["anyOf"]));
        }
    }
    if !has_type(&schema["type"], value) {
        faults.push(format!("{at} is no {}", schema["type"]));
    }
    if let Value::Object(fields) = value {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap()) {
                faults.push(format!("{at}.{name} is missing"));
            }
        }
        for (name, field) in fields {
            let place = format!("{at}.{name}");
            match (
                schema["properties"].get(name),
                schema.get("additionalProperties"),
            ) {
                (Some(described), _) | (None, Some(described)) if described.is_object() => {
                    compare(root, described, field, &place, faults);
                }
                (None, None) if schema.get("properties").is_some() => {
                    faults.push(format!("{place} is not described"))
                }
                _ => {}
            }
        }
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        compare(
            root,
            &schema["items"],
            item,
            &format!("{at}[{number}]"),
            faults,
        );
    }
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    }
}
