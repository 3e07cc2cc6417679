//! What a command prints: JSON by `Serialize`, text by [`Document::text`].

use anstyle::{AnsiColor, Style};
use schedkit_core::sanitize;
use serde::Serialize;
use serde_json::Value;

/// Changes only if a field changes its meaning.
const SCHEMA_VERSION: &str = "1";

pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();

pub(crate) trait Document: Serialize {
    /// Ends with a line break. Text from outside has to be made printable; what is overlooked is
    /// replaced when it is printed.
    fn text(&self) -> String;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Indented.
    Pretty,
    /// One line.
    Line,
}

#[derive(Serialize)]
struct Envelope<'a, D> {
    schema_version: &'static str,
    #[serde(flatten)]
    document: &'a D,
    warnings: &'a [String],
}

pub(super) fn json(
    document: &impl Serialize,
    warnings: &[String],
    layout: Layout,
) -> Result<String, serde_json::Error> {
    let envelope = Envelope {
        schema_version: SCHEMA_VERSION,
        document,
        warnings,
    };
    let json = match layout {
        Layout::Pretty => serde_json::to_string_pretty(&envelope)?,
        Layout::Line => serde_json::to_string(&envelope)?,
    };
    Ok(sanitize::json(&json) + "\n")
}

/// The name of an enum's value in JSON, for the text form.
pub(super) fn json_name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The text without colours.
#[cfg(test)]
pub(super) fn plain_text(document: &impl Document) -> String {
    anstream::adapter::strip_str(&document.text()).to_string()
}

/// The JSON document, checked against its schema.
#[cfg(test)]
pub(super) fn checked_json(schema: &str, document: &impl Document) -> Value {
    let json = json(document, &[], Layout::Pretty).unwrap();
    let json = serde_json::from_str(&json).unwrap();
    schedctl_schemas::check(schema, &json);
    json
}
