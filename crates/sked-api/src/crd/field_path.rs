//! Paths of fields in a schema: `[]` stands for the items of a list (`spec.pools[].env[].name`),
//! `{}` for the values of a map (`spec.nodeSelector{}`); an empty path is the whole object.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// The items of a list, at the end of a segment.
pub const ITEMS: &str = "[]";
/// The values of a map, at the end of a segment.
pub const VALUES: &str = "{}";

/// The tables of this module and the types disagree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrdError {
    #[error("the table of {table} names {path:?}, which the schema does not have")]
    NoSuchField { table: &'static str, path: String },
    #[error("the derived definition has no schema")]
    NoSchema,
}

/// The same as [`find`], for a path in a table.
pub(super) fn field<'a>(
    schema: &'a mut JSONSchemaProps,
    table: &'static str,
    path: &str,
) -> Result<&'a mut JSONSchemaProps, CrdError> {
    find(schema, path).ok_or_else(|| CrdError::NoSuchField {
        table,
        path: path.to_owned(),
    })
}

pub fn find<'a>(schema: &'a mut JSONSchemaProps, path: &str) -> Option<&'a mut JSONSchemaProps> {
    let mut field = schema;
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.trim_end_matches(['[', ']', '{', '}']);
        field = field.properties.as_mut()?.get_mut(name)?;
        let mut suffix = &segment[name.len()..];
        while !suffix.is_empty() {
            let (step, rest) = suffix.split_at_checked(ITEMS.len())?;
            field = match step {
                ITEMS => items(field)?,
                VALUES => values(field)?,
                _ => return None,
            };
            suffix = rest;
        }
    }
    Some(field)
}

/// Visits `schema` and every field in it.
pub fn walk(schema: &mut JSONSchemaProps, visit: &mut dyn FnMut(&mut JSONSchemaProps)) {
    visit(schema);
    for field in schema
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut())
    {
        walk(field, visit);
    }
    if let Some(items) = items(schema) {
        walk(items, visit);
    }
    if let Some(values) = values(schema) {
        walk(values, visit);
    }
}

fn items(list: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match list.items.as_mut()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn values(map: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match map.additional_properties.as_mut()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}
