//! Documents of schedctl against the JSON Schemas that it publishes.

use serde_json::Value;

use crate::program::tree;

/// Checks what `schedctl ARGS -o json` printed: an error against `error.json`, anything else
/// against the schema of the command.
#[track_caller]
pub fn check(document: &Value, args: &[&str]) {
    let schemas = tree().join("crates/schedctl/schemas");
    let name = match document.get("error") {
        Some(_) => "error".to_owned(),
        None => {
            // A switch prints what a run prints.
            let mut commands = args.iter().map(|arg| arg.replace("switch", "run"));
            let described = commands.find(|name| schemas.join(format!("{name}.json")).exists());
            described.unwrap_or_else(|| panic!("no schema for {args:?}"))
        }
    };
    schedctl_schemas::check(&name, document);
}
