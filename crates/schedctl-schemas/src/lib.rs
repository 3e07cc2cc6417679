//! Checks JSON documents against `crates/schedctl/schemas`. For tests only: unit tests, the CLI tests
//! and the end-to-end tests use it.
//!
//! It knows the keywords that these schemas use and panics at any other. Crates that know all of
//! JSON Schema have two dozen dependencies, some under licences that `deny.toml` does not list. It is
//! stricter in one respect: a document must not have a field that its schema does not describe.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "only tests call it, and a panic fails the test"
)]

use std::path::Path;

use serde_json::Value;

/// Panics if the document does not match the schema, or has a field that is not described.
pub fn check(name: &str, document: &Value) {
    let schema = read(name);
    let mut errors = Vec::new();
    let checker = Checker { root: &schema };
    checker.value(&schema, document, name, &mut errors);
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
}

/// Reads `NAME.json`.
pub fn read(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schedctl/schemas");
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    fn value(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        self.keywords(schema, value, at, errors);
        let open = schema.get("additionalProperties").is_some();
        let described = schema.get("properties").filter(|_| !open);
        if let (Some(described), Value::Object(fields)) = (described, value) {
            let unknown = fields.keys().filter(|name| described.get(name).is_none());
            errors.extend(unknown.map(|name| format!("{at}.{name} is not described")));
        }
    }

    fn keywords(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().unwrap() {
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" | "format" => {}
                "$ref" => self.value(self.definition(rule), value, at, errors),
                "type" if !is_of(rule, value) => errors.push(format!("{at} is not of type {rule}")),
                "const" if rule != value => errors.push(format!("{at} is not {rule}")),
                "enum" if !rule.as_array().unwrap().contains(value) => {
                    errors.push(format!("{at} is none of {rule}"));
                }
                "type" | "const" | "enum" => {}
                "required" => required(rule, value, at, errors),
                "properties" => self.fields(rule, value, at, errors),
                "additionalProperties" => self.others(rule, value, at, errors),
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(rule, item, &format!("{at}[{number}]"), errors);
                    }
                }
                "anyOf" => self.any(rule, value, at, errors),
                unknown => panic!("{at}: unknown keyword {unknown:?}"),
            }
        }
    }

    fn fields(&self, rule: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (name, schema) in rule.as_object().unwrap() {
            if let Some(field) = value.get(name) {
                self.value(schema, field, &format!("{at}.{name}"), errors);
            }
        }
    }

    fn others(&self, rule: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (name, field) in value.as_object().into_iter().flatten() {
            self.value(rule, field, &format!("{at}.{name}"), errors);
        }
    }

    /// Fields that a branch does not describe are allowed.
    fn any(&self, rule: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        let mut all = Vec::new();
        for schema in rule.as_array().unwrap() {
            let mut these = Vec::new();
            self.keywords(schema, value, at, &mut these);
            if these.is_empty() {
                return;
            }
            all.extend(these);
        }
        errors.extend(all);
    }

    fn definition(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().unwrap().trim_start_matches('#');
        let found = self.root.pointer(pointer);
        found.unwrap_or_else(|| panic!("no {pointer}"))
    }
}

fn required(rule: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    let names = rule.as_array().unwrap().iter().filter_map(Value::as_str);
    let missing = names.filter(|name| value.is_object() && value.get(name).is_none());
    errors.extend(missing.map(|name| format!("{at}.{name} is missing")));
}

fn is_of(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        unknown => panic!("unknown type {unknown:?}"),
    };
    match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    }
}
