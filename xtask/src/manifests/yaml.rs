//! YAML as people read it in this tree: two spaces, long sentences on one line, whole numbers
//! without a point.

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;
use serde_saphyr::ser_options;

/// Says where a file comes from, so that nobody edits it.
const HEADER: &str = "# Written by `make manifests` from crates/sked-api: edit that.\n";

/// The text of a derived file.
pub(super) fn file(content: &impl Serialize) -> anyhow::Result<String> {
    let mut content = serde_json::to_value(content)?;
    whole(&mut content);
    let options = ser_options! { prefer_block_scalars: false };
    let text = serde_saphyr::to_string_with_options(&content, options).context("writing YAML")?;
    Ok(format!("{HEADER}{text}"))
}

/// The schema's numbers are floating ones, and `1.0` reads as if a half were possible.
fn whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "limits are within 32 bits; what is not stays as it is"
            )]
            if let Some(float) = float.filter(|float| float.abs() < 1e15) {
                *value = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Object(fields) => fields.values_mut().for_each(whole),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
