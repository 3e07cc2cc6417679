//! List types for server-side apply: lists of named items are merged by name (and the API server
//! rejects a name that occurs twice), every other list belongs to one writer as a whole.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::field_path::{CrdError, field, walk};

/// Lists, and the field that identifies their items.
const BY_KEY: &[(&str, &str)] = &[
    ("spec.env", "name"),
    ("spec.imagePullSecrets", "name"),
    ("spec.pools", "name"),
    ("spec.pools[].env", "name"),
    ("status.conditions", "type"),
    ("status.pools", "name"),
];

pub(super) fn apply(schema: &mut JSONSchemaProps) -> Result<(), CrdError> {
    walk(schema, &mut |field| {
        if field.type_.as_deref() == Some("array") {
            field.x_kubernetes_list_type = Some("atomic".to_owned());
        }
    });
    for (path, key) in BY_KEY {
        let list = field(schema, "merging", path)?;
        list.x_kubernetes_list_type = Some("map".to_owned());
        list.x_kubernetes_list_map_keys = Some(vec![(*key).to_owned()]);
    }
    Ok(())
}
