//! What server-side apply takes for one thing: lists whose items have a name are merged by it (and
//! the API server refuses a name twice), all others belong to one writer as a whole.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::CrdError;

/// Lists, and the field that tells their items apart.
const BY_KEY: &[(&str, &str)] = &[
    ("spec.env", "name"),
    ("spec.imagePullSecrets", "name"),
    ("spec.pools", "name"),
    ("spec.pools[].env", "name"),
    ("status.conditions", "type"),
    ("status.pools", "name"),
];

/// Gives every list its kind.
pub(super) fn apply(schema: &mut JSONSchemaProps) -> Result<(), CrdError> {
    super::place::walk(schema, &mut |field| {
        if field.type_.as_deref() == Some("array") {
            field.x_kubernetes_list_type = Some("atomic".to_owned());
        }
    });
    for (path, key) in BY_KEY {
        let list = super::field(schema, "merging", path)?;
        list.x_kubernetes_list_type = Some("map".to_owned());
        list.x_kubernetes_list_map_keys = Some(vec![(*key).to_owned()]);
    }
    Ok(())
}
