//! Computes a JSON merge patch between two documents.

use serde_json::{Map, Value};

/// Removed fields become null; lists are replaced as a whole.
pub(super) fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let mut patch: Map<_, _> = gone.map(|name| (name.clone(), Value::Null)).collect();
    for (name, value) in after {
        match before.get(name) {
            Some(old) if old == value => {}
            Some(old) => {
                patch.insert(name.clone(), difference(old, value));
            }
            None => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn removed_fields_are_null_and_unchanged_fields_are_omitted() {
        let before = json!({"a": 1, "b": {"c": 1, "d": 2}, "e": [1]});
        let after = json!({"b": {"c": 1, "f": 3}, "e": [2], "g": 4});
        let patch = json!({"a": null, "b": {"d": null, "f": 3}, "e": [2], "g": 4});
        assert_eq!(difference(&before, &after), patch);
        assert_eq!(difference(&json!(null), &after), after);
    }
}
