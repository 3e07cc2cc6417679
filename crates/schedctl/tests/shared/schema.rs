//! JSON documents held against the schemas of `schemas/`, for the tests in `src/` and those in
//! `tests/` alike.
//!
//! Knows the keywords that our schemas use and stumbles over any other, so that none is passed
//! over in silence; the crates that know all of JSON Schema bring two dozen others, some under
//! licences that `deny.toml` does not list. In one thing it is stricter: a schema forbids no
//! fields, because new ones may come, but a field that is printed and not described is a schema
//! that was forgotten.

use std::path::Path;

use serde_json::Value;

/// Complains when the document is not what the schema says, or says more.
pub(crate) fn check(name: &str, document: &Value) {
    let schema = read(name);
    let mut faults = Vec::new();
    let judge = Judge { root: &schema };
    judge.value(&schema, document, name, &mut faults);
    assert!(faults.is_empty(), "{faults:#?}\n{document:#}");
}

/// A schema as it is committed.
pub(crate) fn read(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

struct Judge<'a> {
    root: &'a Value,
}

impl Judge<'_> {
    fn value(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        self.keywords(schema, value, at, faults);
        let open = schema.get("additionalProperties").is_some();
        let described = schema.get("properties").filter(|_| !open);
        if let (Some(described), Value::Object(fields)) = (described, value) {
            let strangers = fields.keys().filter(|name| described.get(name).is_none());
            faults.extend(strangers.map(|name| format!("{at}.{name} is not described")));
        }
    }

    fn keywords(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        for (keyword, said) in schema.as_object().unwrap() {
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" | "format" => {}
                "$ref" => self.value(self.definition(said), value, at, faults),
                "type" if !is_of(said, value) => faults.push(format!("{at} is no {said}")),
                "const" if said != value => faults.push(format!("{at} is not {said}")),
                "enum" if !said.as_array().unwrap().contains(value) => {
                    faults.push(format!("{at} is none of {said}"));
                }
                "type" | "const" | "enum" => {}
                "required" => required(said, value, at, faults),
                "properties" => self.fields(said, value, at, faults),
                "additionalProperties" => self.others(said, value, at, faults),
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(said, item, &format!("{at}[{number}]"), faults);
                    }
                }
                "anyOf" => self.any(said, value, at, faults),
                unknown => panic!("{at}: this check knows no {unknown:?}"),
            }
        }
    }

    fn fields(&self, said: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        for (name, schema) in said.as_object().unwrap() {
            if let Some(field) = value.get(name) {
                self.value(schema, field, &format!("{at}.{name}"), faults);
            }
        }
    }

    fn others(&self, said: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        for (name, field) in value.as_object().into_iter().flatten() {
            self.value(said, field, &format!("{at}.{name}"), faults);
        }
    }

    /// A branch describes only what it is about.
    fn any(&self, said: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let mut all = Vec::new();
        for schema in said.as_array().unwrap() {
            let mut these = Vec::new();
            self.keywords(schema, value, at, &mut these);
            if these.is_empty() {
                return;
            }
            all.extend(these);
        }
        faults.extend(all);
    }

    fn definition(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().unwrap().trim_start_matches('#');
        let found = self.root.pointer(pointer);
        found.unwrap_or_else(|| panic!("no {pointer}"))
    }
}

fn required(said: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let names = said.as_array().unwrap().iter().filter_map(Value::as_str);
    let missing = names.filter(|name| value.is_object() && value.get(name).is_none());
    faults.extend(missing.map(|name| format!("{at}.{name} is missing")));
}

fn is_of(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        unknown => panic!("this check knows no type {unknown:?}"),
    };
    match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    }
}
